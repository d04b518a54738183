import { memoryInbox, type Receiver } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { asWriting, type AskedUnsubscribe, type WritingInbox } from "../../src/inbox/port/inbox.ts";
import { createUnsubscribeRateLimit } from "../../src/ingest/unsubscribe-rate-limit.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { changes, expectBare, mounted, type Setup } from "../support/mounted.ts";

const HOUR_MS = 3_600_000;

async function rateLimited(setup: Setup = {}) {
  const clock = fakeClock();
  const prepare = (own: Receiver): void =>
    void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("a bug in the gate"));
  const own = await mounted({ clock, prepare, ...setup });
  const statusOf = async (subscription: number, target = "/"): Promise<number> =>
    (await own.deliver(changes({ subscription }), { target })).status;
  return { ...own, clock, statusOf };
}

describe("the rate limit on unsubscribing", () => {
  test("allows ten different subscriptions; the eleventh delivery is stored with 200, and logged as an error", async () => {
    const { statusOf, log, receiver } = await rateLimited();
    for (let subscription = 1; subscription <= 10; subscription += 1) expect(await statusOf(subscription)).toBe(422);
    expect(await statusOf(11)).toBe(200);
    expect(receiver.stats()).toMatchObject({ stored: 1, answered: { 200: 1, 422: 10 } });
    expect(log.of("unsubscribe-limit-reached")).toMatchObject([
      {
        level: "error",
        facts: { subscription: 11, reason: "a bug in the gate" },
        message: expect.stringMatching(/^the gate .*`maxUnsubscribesPerHour`: the delivery is stored$/),
      },
    ]);
  });

  test("does not count the same subscription again, not even when the limit is reached", async () => {
    const { statusOf } = await rateLimited({ gate: { maxUnsubscribesPerHour: 2 } });
    for (const subscription of [1, 1, 1, 2, 2, 1]) expect(await statusOf(subscription)).toBe(422);
    expect(await statusOf(3)).toBe(200);
    for (const subscription of [1, 2]) expect(await statusOf(subscription)).toBe(422);
  });

  test("counts one number of two sources as two", async () => {
    const { statusOf } = await rateLimited({
      gate: { maxUnsubscribesPerHour: 1 },
      mount: { source: (req) => req.url?.slice(1) },
    });
    expect(await statusOf(1, "/a")).toBe(422);
    expect(await statusOf(1, "/b")).toBe(200);
  });

  test("allows as many within any 60 minutes, whenever they begin", async () => {
    const { statusOf, clock } = await rateLimited();
    const allowedAt: number[] = [];
    for (let minute = 0; minute < 180; minute += 1) {
      for (const other of [1, 2]) if ((await statusOf(3 * minute + other)) === 422) allowedAt.push(minute);
      await clock.advance(HOUR_MS / 60);
    }
    for (let from = 0; from < 120; from += 1)
      expect(allowedAt.filter((at) => at >= from && at < from + 60).length).toBeLessThanOrEqual(10);
    expect(allowedAt).toHaveLength(30);
  });

  test("allows the next one an hour after the one that it replaces", async () => {
    const { statusOf, clock } = await rateLimited({ gate: { maxUnsubscribesPerHour: 2 } });
    expect(await statusOf(1)).toBe(422);
    await clock.advance(HOUR_MS / 2);
    expect(await statusOf(2)).toBe(422);
    await clock.advance(HOUR_MS / 2 - 1);
    expect(await statusOf(3)).toBe(200);
    await clock.advance(1);
    expect([await statusOf(3), await statusOf(4)]).toEqual([422, 200]);
    await clock.advance(HOUR_MS / 2);
    expect([await statusOf(4), await statusOf(5)]).toEqual([422, 200]);
  });

  test("is not touched by a wall clock of the machine that flaps", async () => {
    const wallClock = vi.spyOn(Date, "now");
    onTestFinished(() => wallClock.mockRestore());
    const limit = createUnsubscribeRateLimit(10, systemClock, {});
    let allowed = 0;
    for (let turn = 0; turn < 52; turn += 1) {
      wallClock.mockReturnValue(1_800_000_000_000 + (turn % 2) * 2 * HOUR_MS);
      for (let one = 0; one < 10; one += 1) if (await limit.allows(turn * 10 + one, undefined)) allowed += 1;
    }
    expect([allowed, limit.reachedLately]).toEqual([10, true]);
  });

  test("allows no more than an hour's worth, however long it was unused", async () => {
    const { statusOf, clock } = await rateLimited({ gate: { maxUnsubscribesPerHour: 2 } });
    await clock.advance(24 * HOUR_MS);
    for (const subscription of [1, 2]) expect(await statusOf(subscription)).toBe(422);
    expect(await statusOf(3)).toBe(200);
  });

  test("forgets an allowed subscription after an hour: it counts again, and waits with the others", async () => {
    const { statusOf, clock } = await rateLimited({ gate: { maxUnsubscribesPerHour: 1 } });
    expect(await statusOf(1)).toBe(422);
    await clock.advance(HOUR_MS - 1);
    expect(await statusOf(1)).toBe(422);
    await clock.advance(1);
    expect([await statusOf(2), await statusOf(1)]).toEqual([422, 200]);
  });

  test("takes a custom clock that flaps by its latest time", async () => {
    const { statusOf, clock } = await rateLimited({ gate: { maxUnsubscribesPerHour: 1 } });
    let allowed = 0;
    for (let turn = 0; turn < 20; turn += 1) {
      if ((await statusOf(turn)) === 422) allowed += 1;
      clock.jump(turn % 2 === 0 ? 2 * HOUR_MS : -2 * HOUR_MS);
    }
    expect(allowed).toBe(2);
  });

  test("set to 0 allows no decision at all", async () => {
    const { statusOf, log } = await rateLimited({ gate: { maxUnsubscribesPerHour: 0 } });
    expect(await statusOf(1)).toBe(200);
    expect(await statusOf(1)).toBe(200);
    expect(log.of("unsubscribe-limit-reached")[0]).toMatchObject({ level: "error", facts: { subscription: 1 } });
  });

  test("is not touched by decisions that do not hold", async () => {
    const { statusOf } = await rateLimited({
      gate: { maxUnsubscribesPerHour: 1 },
      prepare: (own) =>
        void own.unsubscribeWhen(({ subscription }, unsubscribe) =>
          subscription < 100 ? (true as never) : unsubscribe("gone"),
        ),
    });
    for (let subscription = 1; subscription <= 20; subscription += 1) expect(await statusOf(subscription)).toBe(200);
    expect(await statusOf(100)).toBe(422);
  });

  test("is shared with ctx.unsubscribe, which rejects when it is reached", async () => {
    const errors: unknown[] = [];
    const { deliver, receiver, statusOf } = await rateLimited({
      gate: { maxUnsubscribesPerHour: 3 },
      prepare: (own) =>
        void own
          .unsubscribeWhen(({ subscription }, unsubscribe) => (subscription < 100 ? unsubscribe("gone") : undefined))
          .on("email", async (_, ctx) => {
            await ctx.unsubscribe("not ours").catch((error: unknown) => errors.push(error));
          }),
    });
    await receiver.start();
    expect(await statusOf(1)).toBe(422);
    for (const subscription of [101, 102, 103]) {
      expectBare(await deliver(changes({ subscription })), 200);
      await receiver.idle();
    }
    expect(errors).toMatchObject([{ code: "unsubscribe-limit-reached" }]);
    expect(await statusOf(2)).toBe(200);
    expect([await statusOf(101), await statusOf(102), await statusOf(103)]).toEqual([422, 422, 200]);
  });

  test("does not limit receiver.unsubscribe, which is an explicit call", async () => {
    const { receiver, statusOf } = await rateLimited({ gate: { maxUnsubscribesPerHour: 0 } });
    for (let subscription = 1; subscription <= 30; subscription += 1) await receiver.unsubscribe(subscription, "gone");
    expect([await statusOf(1), await statusOf(30), await statusOf(31)]).toEqual([422, 422, 200]);
  });
});

describe("the rate limit of an inbox that counts for all processes", () => {
  async function counting(allowUnsubscribe: (asked: AskedUnsubscribe) => unknown, setup: Setup = {}) {
    const own = asWriting(memoryInbox());
    const inbox = { ...own, allowUnsubscribe: allowUnsubscribe as WritingInbox["allowUnsubscribe"] };
    return rateLimited({ inbox, ...setup });
  }

  test("decides alone, and is told the limit", async () => {
    const asked: AskedUnsubscribe[] = [];
    const allow = async (one: AskedUnsubscribe) => asked.push(one) > 0;
    const { statusOf } = await counting(allow, {
      gate: { maxUnsubscribesPerHour: 1 },
      mount: { source: () => "a" },
    });
    expect([await statusOf(1), await statusOf(2)]).toEqual([422, 422]);
    expect(asked).toEqual([
      { subscription: 1, source: "a", maxPerHour: 1 },
      { subscription: 2, source: "a", maxPerHour: 1 },
    ]);
  });

  test("is asked once a second after it refused, because a bug in a gate asks at every delivery", async () => {
    let asked = 0;
    const { statusOf, clock, receiver } = await counting(async () => (asked += 1) > 1);
    expect([await statusOf(1), await statusOf(2)]).toEqual([200, 200]);
    expect(asked).toBe(1);
    expect((await receiver.health()).problems).toContainEqual(
      expect.objectContaining({ code: "unsubscribe-limit-reached" }),
    );
    await clock.advance(1_000);
    expect([await statusOf(1), await statusOf(2)]).toEqual([422, 422]);
  });

  test.each([
    ["rejects", () => Promise.reject(new Error("no row"))],
    [
      "throws",
      () => {
        throw new Error("no row");
      },
    ],
  ])("stores the delivery when it %s", async (_, allow) => {
    const { statusOf, log, receiver } = await counting(allow);
    expect(await statusOf(1)).toBe(200);
    expect(receiver.stats()).toMatchObject({ stored: 1, answered: { 200: 1 } });
    expect(log.of("unsubscribe-limit-unknown")).toMatchObject([{ level: "error", facts: { subscription: 1 } }]);
  });

  test("stores the delivery when it does not answer in the gate's time", async () => {
    let isAsked = false;
    const { deliver, log, clock } = await counting(() => {
      isAsked = true;
      return new Promise(() => {});
    });
    const answered = deliver(changes({ subscription: 1 }));
    await eventually(() => expect(isAsked).toBe(true));
    await clock.advance(60_000);
    expectBare(await answered, 200);
    expect(log.of("unsubscribe-limit-unknown")).toMatchObject([{ level: "error", facts: { subscription: 1 } }]);
  });

  test.each([[undefined], [null], ["yes"], [1], [{ allowed: true }]])("takes %j for a refusal", async (answer) => {
    const { statusOf } = await counting(async () => answer);
    expect(await statusOf(1)).toBe(200);
  });

  test("makes ctx.unsubscribe reject with its error, and write nothing", async () => {
    const errors: unknown[] = [];
    const { statusOf, receiver } = await counting(() => Promise.reject(new Error("no row")), {
      prepare: (own) =>
        void own.on("email", async (_, ctx) => {
          await ctx.unsubscribe("not ours").catch((error: unknown) => errors.push(error));
        }),
    });
    await receiver.start();
    expect(await statusOf(1)).toBe(200);
    await receiver.idle();
    expect(errors).toMatchObject([{ message: "no row" }]);
    expect(await statusOf(1)).toBe(200);
  });
});

describe("the rate limit says that it was reached", () => {
  function limited() {
    const clock = fakeClock();
    return { clock, limit: createUnsubscribeRateLimit(1, clock, {}) };
  }

  test("for an hour after it last refused a subscription, and not before", async () => {
    const { clock, limit } = limited();
    expect(limit.reachedLately).toBe(false);
    expect([await limit.allows(1, undefined), limit.reachedLately]).toEqual([true, false]);
    expect([await limit.allows(2, undefined), limit.reachedLately]).toEqual([false, true]);
    await clock.advance(HOUR_MS - 1);
    expect(limit.reachedLately).toBe(true);
    await clock.advance(1);
    expect(limit.reachedLately).toBe(false);
  });
});
