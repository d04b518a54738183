import { describe, expect, test, vi } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { changes, expectBare, mounted } from "../support/mounted.ts";
import { stubInbox, unopenableInbox } from "../support/stub-inboxes.ts";

const DAY_MS = 86_400_000;

/** Two applications on one server, each with its own path. */
const bySource = { mount: { source: (req: { url?: string | undefined }) => req.url?.slice(1) || undefined } };

describe("receiver.unsubscribe", () => {
  test("answers the subscription's deliveries 422 from then on, and no other's", async () => {
    const { deliver, receiver, log } = await mounted();
    expectBare(await deliver(), 200);
    await receiver.unsubscribe(1001, "account deleted");
    expectBare(await deliver(), 422);
    expectBare(await deliver(changes({ accountId: 7, resource: "/contacts" })), 422);
    expectBare(await deliver(changes({ subscription: 1002 })), 200);
    expect(receiver.stats()).toMatchObject({ answered: { 200: 2, 422: 2 }, stored: 2 });
    expect(log.of("unsubscribed")).toMatchObject([{ facts: { subscription: 1001, reason: "account deleted" } }]);
  });

  test("without a source is for every source", async () => {
    const { deliver, receiver } = await mounted(bySource);
    await receiver.unsubscribe(1001, "gone");
    for (const target of ["/a", "/b", "/"]) expectBare(await deliver(changes(), { target }), 422);
  });

  test("with a source is for that one alone", async () => {
    const { deliver, receiver } = await mounted(bySource);
    await receiver.unsubscribe(1001, "gone", { source: "a" });
    expectBare(await deliver(changes(), { target: "/a" }), 422);
    expectBare(await deliver(changes(), { target: "/b" }), 200);
    expectBare(await deliver(changes(), { target: "/" }), 200);
  });

  test("meets a subscription that is numeric text on the wire", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(changes().replace("1001", '"1001"')), 422);
  });

  test("meets what cannot be typed, as long as the envelope can be read", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(changes({ resource: "/voicemails" })), 422);
    expectBare(await deliver(changes({ payloads: "none" })), 422);
  });

  test("stores what may not be of that subscription", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver('{"subscription":1001}'), 200);
    expectBare(await deliver(""), 200);
  });

  test("works before start(), and opens the inbox for it", async () => {
    const open = vi.fn();
    const inbox = stubInbox((own) => ({
      open: (host) => {
        open();
        return own.open(host);
      },
    }));
    const { receiver } = await mounted({ inbox });
    expect(open).not.toHaveBeenCalled();
    await receiver.unsubscribe(1001, "gone");
    await receiver.unsubscribe(1002, "gone");
    expect(open).toHaveBeenCalledTimes(1);
  });

  test("notifies observers, with the reason", async () => {
    const notified: unknown[] = [];
    const { receiver } = await mounted();
    receiver.observe({ unsubscribed: (moment) => void notified.push(moment) });
    await receiver.unsubscribe(1001, "account deleted");
    expect(notified).toEqual([{ subscription: 1001, reason: "account deleted" }]);
  });

  test("does not stop jobs that were stored before", async () => {
    const seen: string[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.on("email", (event) => void seen.push(event.id)),
    });
    expectBare(await deliver(), 200);
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(), 422);
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["m-1"]);
  });

  test("takes the subscription as the service gives it: as text", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe("1001", "gone");
    expectBare(await deliver(), 422);
    await receiver.resubscribe("1001");
    expectBare(await deliver(), 200);
  });

  test.each([
    [Number.NaN, "NaN"],
    [1.5, "1.5"],
    [Infinity, "Infinity"],
    [2 ** 53, "9007199254740992"],
    ["", '""'],
    ["0x3e9", '"0x3e9"'],
    [" 1001", '" 1001"'],
    ["9007199254740993", '"9007199254740993"'],
    ["1".repeat(5_000_000), `"${"1".repeat(100)}"`],
    [undefined, "undefined"],
    [null, "null"],
    [{ id: 1001 }, "an object"],
  ])("refuses what is no subscription: %#", async (wrong, got) => {
    const { deliver, receiver } = await mounted();
    for (const refused of [receiver.unsubscribe(wrong as number, "gone"), receiver.resubscribe(wrong as number)])
      await expect(refused).rejects.toMatchObject({
        code: "subscription-invalid",
        message: expect.stringContaining(`got ${got} as the subscription`),
      });
    expectBare(await deliver(), 200);
  });

  test("refuses a source that is no text: it would reach the storage", async () => {
    const { deliver, receiver } = await mounted();
    for (const source of [Promise.resolve("a"), ["a"], 5, null] as unknown as string[])
      for (const refused of [receiver.unsubscribe(1001, "gone", { source }), receiver.resubscribe(1001, { source })])
        await expect(refused).rejects.toMatchObject({
          code: "option-invalid",
          message: expect.stringContaining("source"),
        });
    await expect(receiver.unsubscribe(1001, "gone", { sources: "a" } as object)).rejects.toThrow(
      'Did you mean "source"?',
    );
    expectBare(await deliver(), 200);
  });

  test.each([undefined, null, 5, {}, new Error("gone"), ["gone"], Promise.resolve("gone")])(
    "refuses a reason that is no text: %#",
    async (reason) => {
      const { deliver, receiver } = await mounted();
      await expect(receiver.unsubscribe(1001, reason as string)).rejects.toMatchObject({
        code: "option-invalid",
        message: expect.stringContaining("reason, expected a text"),
      });
      expectBare(await deliver(), 200);
    },
  );

  test("stores 1,000 characters of a reason, and no half of a surrogate pair", async () => {
    const { deliver, receiver, log } = await mounted();
    const reasons: string[] = [];
    receiver.observe({ unsubscribed: (told) => void reasons.push(told.reason) });
    await receiver.unsubscribe(1001, "x".repeat(1_000));
    await receiver.unsubscribe(1002, `${"x".repeat(998)}\u{1F4EC}${"y".repeat(5_000_000)}`);
    expect(reasons).toEqual(["x".repeat(1_000), `${"x".repeat(998)}\u2026`]);
    expectBare(await deliver(changes({ subscription: 1002 })), 422);
    expect(log.text().length).toBeLessThan(10_000);
  });

  test("rejects where the inbox cannot take it: nothing is 422 that is not noted", async () => {
    const inbox = stubInbox((own) => ({
      tombstones: { ...own.tombstones, isEmpty: true, put: () => Promise.reject(new Error("the disk is gone")) },
    }));
    const { deliver, receiver } = await mounted({ inbox });
    await expect(receiver.unsubscribe(1001, "gone")).rejects.toThrow("the disk is gone");
    expectBare(await deliver(), 200);
    const shut = await mounted({ inbox: unopenableInbox() });
    await expect(shut.receiver.unsubscribe(1001, "gone")).rejects.toThrow("no such volume");
  });
});

describe("receiver.resubscribe", () => {
  test("lifts a tombstone", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    await receiver.unsubscribe(1002, "gone");
    await receiver.resubscribe(1001);
    expectBare(await deliver(), 200);
    expectBare(await deliver(changes({ subscription: 1002 })), 422);
  });

  test("with a source lifts that source's alone", async () => {
    const { deliver, receiver } = await mounted(bySource);
    await receiver.unsubscribe(1001, "gone", { source: "a" });
    await receiver.unsubscribe(1001, "gone", { source: "b" });
    await receiver.resubscribe(1001, { source: "a" });
    expectBare(await deliver(changes(), { target: "/a" }), 200);
    expectBare(await deliver(changes(), { target: "/b" }), 422);
  });

  test("with a source is refused under a tombstone of every source: 422 would go on", async () => {
    const { deliver, receiver, log } = await mounted(bySource);
    await receiver.unsubscribe(1001, "gone");
    await receiver.unsubscribe(1001, "moved", { source: "a" });
    await expect(receiver.resubscribe(1001, { source: "a" })).rejects.toMatchObject({
      name: "UsageError",
      code: "tombstone-of-every-source",
      message: expect.stringContaining('it stays unwanted for "a"'),
      fix: expect.stringContaining("Call resubscribe(1001)"),
    });
    expect(log.of("resubscribed")).toEqual([]);
    await receiver.unsubscribe(1002, "moved", { source: "a" });
    await receiver.resubscribe(1002, { source: "a" });
    expectBare(await deliver(changes({ subscription: 1002 }), { target: "/a" }), 200);
    await receiver.resubscribe(1001);
    expectBare(await deliver(changes(), { target: "/a" }), 200);
  });

  test("without a source lifts every source's", async () => {
    const { deliver, receiver } = await mounted(bySource);
    await receiver.unsubscribe(1001, "gone", { source: "a" });
    await receiver.unsubscribe(1001, "gone");
    await receiver.resubscribe(1001);
    for (const target of ["/a", "/b"]) expectBare(await deliver(changes(), { target }), 200);
  });

  test("of an unknown subscription changes nothing", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.resubscribe(1001);
    expectBare(await deliver(), 200);
  });
});

describe("ctx.unsubscribe", () => {
  test("writes the tombstone before its first 422, and it stays although the handler then throws", async () => {
    const order: string[] = [];
    const inbox = stubInbox((own) => ({
      tombstones: Object.create(own.tombstones, {
        put: {
          value: async (stone: Parameters<typeof own.tombstones.put>[0]) => {
            await own.tombstones.put(stone);
            order.push("written");
          },
        },
      }) as typeof own.tombstones,
    }));
    const { deliver, receiver } = await mounted({
      inbox,
      attempts: 1,
      prepare: (own) =>
        void own.on("email", async (_, ctx) => {
          await ctx.unsubscribe("account deleted");
          order.push("resolved");
          throw new Error("and then this");
        }),
    });
    await receiver.start();
    expectBare(await deliver(), 200);
    await receiver.idle();
    expect(order).toEqual(["written", "resolved"]);
    expectBare(await deliver(), 422);
    expect(receiver.stats()).toMatchObject({ failed: 1, dead: 1 });
  });

  test("is for the event's source", async () => {
    const { deliver, receiver } = await mounted({
      ...bySource,
      prepare: (own) => void own.on("email", (_, ctx) => ctx.unsubscribe("gone")),
    });
    await receiver.start();
    expectBare(await deliver(changes(), { target: "/a" }), 200);
    await receiver.idle();
    expectBare(await deliver(changes(), { target: "/a" }), 422);
    expectBare(await deliver(changes(), { target: "/b" }), 200);
  });

  test("on a mount without a source leaves other applications' subscriptions with the same number", async () => {
    const { deliver, receiver } = await mounted({
      ...bySource,
      prepare: (own) => void own.on("email", (_, ctx) => ctx.source ?? ctx.unsubscribe("gone")),
    });
    await receiver.start();
    expectBare(await deliver(changes(), { target: "/" }), 200);
    await receiver.idle();
    expectBare(await deliver(changes(), { target: "/" }), 422);
    expectBare(await deliver(changes(), { target: "/a" }), 200);
    await receiver.resubscribe(1001, { source: "" });
    expectBare(await deliver(changes(), { target: "/" }), 200);
  });

  test("rejects for an event that names no subscription", async () => {
    const errors: unknown[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) =>
        void own.on(
          "unknown",
          async (_, ctx) => void errors.push(await ctx.unsubscribe("gone").catch((e: unknown) => e)),
        ),
    });
    await receiver.start();
    expectBare(await deliver("no JSON"), 200);
    await receiver.idle();
    expect(errors).toMatchObject([{ code: "subscription-invalid" }]);
  });
});

describe("a tombstone", () => {
  test("is lifted 30 days after its last hit, not after its first", async () => {
    const clock = fakeClock();
    const { deliver, receiver } = await mounted({ clock });
    await receiver.unsubscribe(1001, "gone");
    await clock.advance(20 * DAY_MS);
    expectBare(await deliver(), 422);
    await clock.advance(30 * DAY_MS - 1);
    expectBare(await deliver(), 422);
    await clock.advance(30 * DAY_MS);
    expectBare(await deliver(), 200);
    expectBare(await deliver(), 200);
  });

  test("without any hit is lifted after 30 days too", async () => {
    const clock = fakeClock();
    const { deliver, receiver } = await mounted({ clock });
    await receiver.unsubscribe(1001, "gone");
    await clock.advance(30 * DAY_MS);
    expectBare(await deliver(), 200);
  });

  test("of all sources counts a hit of any", async () => {
    const clock = fakeClock();
    const { deliver, receiver } = await mounted({ clock, ...bySource });
    await receiver.unsubscribe(1001, "gone");
    for (const target of ["/a", "/b", "/a"]) {
      await clock.advance(29 * DAY_MS);
      expectBare(await deliver(changes(), { target }), 422);
    }
  });

  test("is not hit by what is not signed", async () => {
    const clock = fakeClock();
    const { deliver, receiver } = await mounted({ clock });
    await receiver.unsubscribe(1001, "gone");
    await clock.advance(29 * DAY_MS);
    expectBare(await deliver(changes(), { secret: "another secret" }), 401);
    await clock.advance(DAY_MS);
    expectBare(await deliver(), 200);
  });
});
