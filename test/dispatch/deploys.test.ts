import { memoryInbox, RetryLater } from "hookline";
import { describe, expect, test } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { bookingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, recordingHandler, rig, type RigOptions } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** One inbox that several receivers work on, one after another, as after deploys. */
function deploys() {
  const shared = { inbox: memoryInbox(), clock: fakeClock() };
  return (options: RigOptions = {}) => rig({ ...shared, ...options });
}

describe("a job that outlives a deploy", () => {
  test("keeps its merge key: what merged under one handler merges under the next", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failingHandler().handler);
    await before.receiver.start();
    await before.send(emails("a", "a"));
    await before.receiver.idle();
    await before.receiver.close();
    const after = deploy();
    const { calls, handler } = heldHandler();
    after.receiver.on("*", handler);
    await after.receiver.start();
    await after.send(emails("a"));
    await after.pass(10_000);
    expect(calls.map(({ ctx }) => ctx.merged)).toEqual([2]);
    calls[0]?.end();
    await after.pass();
    expect(calls.map(({ ctx }) => ctx.merged)).toEqual([2, 1]);
  });

  test("keeps its lane although the function that gave it gives another one now", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failingHandler().handler, { lane: () => "one", merge: false });
    await before.receiver.start();
    await before.send(emails("a", "b"));
    await before.receiver.idle();
    await before.receiver.close();
    const after = deploy();
    const { calls, handler } = heldHandler();
    after.receiver.on("email", handler, { lane: ({ id }) => id });
    await after.receiver.start();
    await after.pass(10_000);
    expect(calls).toHaveLength(1);
  });

  test.each([
    ["attempts", { attempts: 2 }],
    ["retryForMs", { retryForMs: 1 }],
  ])("whose `%s` a deploy lowered gets its attempt, and only its failure ends it", async (_, options) => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failingHandler().handler);
    await before.receiver.start();
    await before.send(emails("a"));
    await before.pass(60_000);
    await before.receiver.close();
    expect(before.inbox.stats().waiting).toBe(1);
    const after = deploy(options);
    const { calls, handler, last } = heldHandler();
    after.receiver.on("email", handler);
    await after.receiver.start();
    await after.pass(600_000);
    expect(calls.map(({ ctx }) => ctx.lastAttempt)).toEqual([true]);
    last().fail();
    await after.pass();
    expect(after.inbox.stats()).toMatchObject({ dead: 1, waiting: 0 });
  });

  test("that asked for more time keeps its time, whoever works by then", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failingHandler(new RetryLater({ afterSeconds: 600 })).handler);
    await before.receiver.start();
    await before.send(emails("a"));
    await before.pass(300_000);
    await before.receiver.close();
    const after = deploy();
    const { seen, handler } = recordingHandler();
    after.receiver.on("email", handler);
    await after.receiver.start();
    await after.pass(299_999);
    expect(seen).toEqual([]);
    await after.pass(1);
    expect(seen).toEqual(["a"]);
  });
});

describe("a change that was skipped", () => {
  test("is done with: a handler of a later deploy does not get it", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email.created", () => {});
    await before.receiver.start();
    await before.send(emails("a"));
    await before.receiver.close();
    const after = deploy();
    const { seen, handler } = recordingHandler();
    after.receiver.on("email.updated", handler);
    await after.receiver.start();
    await after.receiver.idle();
    expect(seen).toEqual([]);
  });
});

describe("a process that stood by", () => {
  test("gives unhandled jobs to the consumers that handle them when it takes over, beside what came meanwhile", async () => {
    const begun = deferred<() => void>();
    const store = memoryInbox();
    const clock = fakeClock();
    const before = rig({ inbox: store, clock });
    before.receiver.on("email", () => {});
    await before.receiver.start();
    await before.send(bookingBody("e-1", "e-2"));
    await before.receiver.idle();
    await before.receiver.close();
    const inbox = stubInbox(() => ({
      ...before.inbox,
      work: async (worker) => {
        await before.inbox.work({ ...worker, begin() {} });
        begun.resolve(() => worker.begin());
      },
    }));
    const after = rig({ inbox, clock });
    const seen: string[] = [];
    after.receiver.on("booking", (event) => seen.push(event.eventId), { lane: "account" });
    await after.receiver.start();
    await after.send(bookingBody("e-3"));
    await turns();
    expect([seen, after.receiver.stats().role]).toEqual([[], "standby"]);
    (await begun.promise)();
    await after.receiver.idle();
    expect(seen.toSorted()).toEqual(["e-1", "e-2", "e-3"]);
  });
});
