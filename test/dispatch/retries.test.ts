import { beforeEach, describe, expect, test, vi } from "vitest";
import { emails, failingHandler, recordingHandler, rig } from "../support/rig.ts";

const DAY_MS = 86_400_000;

beforeEach(() => {
  // The certain half of the jitter alone: 500 ms, 1 s, 2 s, ...
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  return () => random.mockRestore();
});

describe("a job that fails", () => {
  test("is tried again after 1 s, 2 s, 4 s ... at most 10 min, with equal jitter, for 24 h after its first attempt; then it is dead", async () => {
    const { receiver, send, pass, clock, inbox } = rig();
    const times: number[] = [];
    receiver.on("email", () => {
      times.push(clock.now());
      throw new Error("no");
    });
    await receiver.start();
    await send();
    await pass(2 * DAY_MS);
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(gaps.slice(0, 12).map((gap) => gap / 1_000)).toEqual([0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    expect(new Set(gaps.slice(10))).toEqual(new Set([300_000]));
    const lasted = (times.at(-1) ?? 0) - (times[0] ?? 0);
    expect(lasted).toBeGreaterThanOrEqual(DAY_MS);
    expect(lasted).toBeLessThan(DAY_MS + 300_000);
    expect(inbox.stats()).toMatchObject({ dead: 1, waiting: 0 });
    expect(receiver.stats()).toMatchObject({ failed: times.length, retried: times.length - 1, dead: 1, succeeded: 0 });
  });

  test("ends well as soon as its handler does", async () => {
    const { receiver, send, pass } = rig();
    const attempts: [number, boolean][] = [];
    receiver.on("email", (_event, ctx) => {
      attempts.push([ctx.attempt, ctx.lastAttempt]);
      if (ctx.attempt < 4) throw new Error("no");
    });
    await receiver.start();
    await send();
    await pass(60_000);
    expect(attempts).toEqual([
      [1, false],
      [2, false],
      [3, false],
      [4, false],
    ]);
    expect(receiver.stats()).toMatchObject({ failed: 3, retried: 3, succeeded: 1, dead: 0 });
  });

  test("is limited further by `attempts`, and knows its last one", async () => {
    const { receiver, send, pass } = rig({ attempts: 9 });
    const attempts: [number, boolean][] = [];
    receiver.on(
      "email",
      (_event, ctx) => {
        attempts.push([ctx.attempt, ctx.lastAttempt]);
        throw new Error("no");
      },
      { attempts: 3 },
    );
    await receiver.start();
    await send();
    await pass(DAY_MS);
    expect(attempts).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
  });

  test("is limited by the receiver's `attempts` where its handler says nothing", async () => {
    const { receiver, send, pass } = rig({ attempts: 2 });
    const { seen, handler } = failingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(DAY_MS);
    expect(seen).toHaveLength(2);
  });

  test("blocks its lane until it is settled, and no other", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 3 });
    const { seen, handler } = recordingHandler((event) => {
      if ("id" in event && event.id === "a" && (event as { first?: boolean }).first === true) throw new Error("no");
    });
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    const bad = { id: "a", changeType: "updated", first: true };
    const good = (id: string) => ({ id, changeType: "updated" });
    const body = (...payloads: object[]) =>
      JSON.stringify({ subscription: 1, accountId: 2, resource: "/email/messages", payloads });
    await send(body(bad, good("a"), good("b"), good("c")));
    await pass();
    expect([seen, inbox.stats().blockedLanes]).toEqual([["a", "b", "c"], 1]);
    await pass(1_000);
    expect(seen).toEqual(["a", "b", "c", "a"]);
    await pass(1_000);
    expect(seen).toEqual(["a", "b", "c", "a", "a", "a"]);
    expect(receiver.stats()).toMatchObject({ failed: 3, dead: 1, succeeded: 3 });
  });

  test("never re-runs its siblings: entries of one delivery fail alone", async () => {
    const { receiver, send, pass } = rig();
    const { seen, handler } = recordingHandler((event) => {
      if ("id" in event && event.id === "b" && seen.filter((id) => id === "b").length < 3) throw new Error("no");
    });
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b", "c"));
    await pass(60_000);
    expect(seen).toEqual(["a", "b", "c", "b", "b"]);
  });

  test("that waited out a week of downtime gets its attempt: only a failure decides", async () => {
    const { receiver, send, pass, clock, inbox } = rig();
    const { seen, handler } = failingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass();
    await receiver.close();
    clock.jump(7 * DAY_MS);
    const later = rig({ inbox, clock });
    later.receiver.on("email", handler);
    await later.receiver.start();
    await later.pass();
    expect(seen).toHaveLength(2);
    expect(later.receiver.stats()).toMatchObject({ failed: 1, dead: 1 });
  });

  test("whose handler throws undefined, at once or later, fails like any other", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 1 });
    receiver.on("email.updated", () => Promise.reject(undefined));
    receiver.on("email.created", () => {
      throw undefined;
    });
    await receiver.start();
    await send();
    await send(
      JSON.stringify({
        subscription: 1,
        accountId: 2,
        resource: "/email/messages",
        payloads: [{ id: "x", changeType: "created" }],
      }),
    );
    await pass();
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(jobs.map(({ state, error }) => [state, error?.message])).toEqual([
      ["dead", "undefined was thrown: undefined"],
      ["dead", "undefined was thrown: undefined"],
    ]);
  });

  test("is due at once when the wall clock jumped back, and not frozen", async () => {
    const { receiver, send, pass, clock } = rig();
    const { seen, handler } = failingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    clock.jump(-3_600_000);
    await pass(500);
    expect(seen).toHaveLength(2);
  });
});

describe("a second consumer", () => {
  test("has its own retries and its own dead letters", async () => {
    const { receiver, send, pass, inbox } = rig();
    const [one, other] = [recordingHandler(), failingHandler()];
    receiver.on("email", one.handler);
    receiver.on("email", other.handler, { consumer: "search", attempts: 3 });
    await receiver.start();
    await send(emails("a"));
    await pass(60_000);
    expect([one.seen.length, other.seen.length]).toEqual([1, 3]);
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(jobs).toMatchObject([{ state: "dead", consumer: "search", attempts: 3 }]);
  });
});

test("hours of retries of many jobs pass in order of their times", async () => {
  const { receiver, send, pass } = rig({ concurrency: 2 });
  const { seen, handler } = failingHandler();
  receiver.on("email", handler, { retryForMs: 3 * 3_600_000 });
  await receiver.start();
  await send(emails(...Array.from({ length: 50 }, (_, index) => `m-${index}`)));
  await pass(DAY_MS);
  const counts = new Map<string, number>();
  for (const id of seen) counts.set(id, (counts.get(id) ?? 0) + 1);
  expect(counts.size).toBe(50);
  expect(new Set(counts.values()).size).toBe(1);
  expect(receiver.stats().dead).toBe(50);
});
