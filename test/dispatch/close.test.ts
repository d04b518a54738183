import { GiveUp, RetryLater } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import {
  emails,
  failingHandler,
  heldHandler,
  idOf,
  recordingHandler,
  rig,
  type Rig,
  type RigOptions,
} from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** A receiver with handlers under way, as many as there are slots. */
async function busy(ids: readonly string[], options: RigOptions = {}) {
  const held = heldHandler();
  const made: Rig = rig({ concurrency: 2, ...options });
  made.receiver.on("email", held.handler);
  await made.receiver.start();
  await made.send(emails(...ids));
  await turns();
  return { ...made, ...held };
}

test("idle() is told to all who wait for it, and again to who asks once more", async () => {
  const { receiver, calls, send } = await busy(["a"]);
  const first = [watch(receiver.idle()), watch(receiver.idle())];
  await turns();
  expect(first.map(({ ended }) => ended)).toEqual([false, false]);
  calls[0]?.end();
  await turns();
  expect(first.map(({ ended }) => ended)).toEqual([true, true]);
  await send(emails("b"));
  await turns();
  const second = watch(receiver.idle());
  await turns();
  expect(second.ended).toBe(false);
  calls[1]?.end();
  await turns();
  expect(second.ended).toBe(true);
});

describe("close()", () => {
  test("of what never started resolves at once", async () => {
    const { receiver } = rig();
    expect(await receiver.close()).toEqual({ done: 0, released: 0, stuck: 0 });
    expect(receiver.stats().role).toBe("receiving");
  });

  test("counts what was done meanwhile, not what was done before", async () => {
    const { receiver, calls, send } = await busy(["a"]);
    calls[0]?.end();
    await receiver.idle();
    await send(emails("b"));
    await turns();
    const closed = watch(receiver.close());
    calls[1]?.end();
    await turns();
    expect(closed.value).toMatchObject({ done: 1, stuck: 0 });
  });

  test("begins nothing new, waits for what runs, and gives the rest back", async () => {
    const { receiver, calls, inbox } = await busy(["a", "b", "c", "d", "e"]);
    const closed = watch(receiver.close());
    await turns();
    expect(closed.value).toBeUndefined();
    for (const call of calls) call.end();
    await turns();
    expect(calls).toHaveLength(2);
    expect(closed.value).toMatchObject({ done: 2, stuck: 0 });
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(jobs.map(({ state, attempts }) => [state, attempts])).toEqual([
      ["waiting", 0],
      ["waiting", 0],
      ["waiting", 0],
    ]);
  });

  test("counts as released what was claimed and never started", async () => {
    const { receiver, calls, inbox } = await busy(["a", "b", "c", "d", "e"]);
    const claimed = inbox.stats().running;
    const closed = watch(receiver.close());
    for (const call of calls) call.end();
    await turns();
    expect(closed.value).toEqual({ done: 2, released: claimed - 2, stuck: 0 });
  });

  test("answers new deliveries 503 meanwhile and afterwards", async () => {
    const { receiver, offer, last } = await busy(["a"]);
    const closed = receiver.close();
    expect(await offer()).toMatchObject({ status: 503 });
    last().end();
    await closed;
    expect(await offer()).toMatchObject({ status: 503 });
  });

  test("waits for a delivery that is being stored; it is stored unexpanded", async () => {
    const keeping = deferred();
    const inbox = stubInbox((own) => ({
      store: async (deliveries) => {
        await keeping.promise;
        return own.store(deliveries);
      },
    }));
    const made = rig({ inbox });
    made.receiver.on("email", failingHandler().handler);
    await made.receiver.start();
    const answer = watch(made.offer());
    await turns();
    const closed = watch(made.receiver.close());
    await turns();
    expect([answer.value, closed.value]).toEqual([undefined, undefined]);
    keeping.resolve();
    await turns();
    expect(answer.value).toMatchObject({ status: 200 });
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
  });

  test("aborts the signals 5 s before the end of `drainMs`", async () => {
    const { receiver, last, pass } = await busy(["a"]);
    const closed = watch(receiver.close({ drainMs: 20_000 }));
    await pass(14_999);
    expect(last().ctx.signal.aborted).toBe(false);
    await pass(1);
    expect(last().ctx.signal.reason).toMatchObject({ code: "closed" });
    last().end();
    await pass();
    expect(closed.value).toEqual({ done: 1, released: 0, stuck: 0 });
  });

  test.each([0, 1_000, 5_000])("aborts them at once when `drainMs` is %i", async (drainMs) => {
    const { receiver, last, pass } = await busy(["a"]);
    const closed = watch(receiver.close({ drainMs }));
    await pass(0);
    expect(last().ctx.signal.aborted).toBe(true);
    await pass(drainMs);
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 1 });
  });

  test("has 10 s by default", async () => {
    const { receiver, last, pass } = await busy(["a"]);
    const closed = watch(receiver.close());
    await pass(5_000);
    expect(last().ctx.signal.aborted).toBe(true);
    await pass(4_999);
    expect(closed.value).toBeUndefined();
    await pass(1);
    expect(closed.value).toMatchObject({ stuck: 1 });
  });

  test("releases what fails after the abort, without burning an attempt", async () => {
    const { receiver, last, pass, inbox } = await busy(["a"]);
    const closed = watch(receiver.close());
    await pass(5_000);
    last().fail(last().ctx.signal.reason);
    await pass();
    expect(closed.value).toEqual({ done: 0, released: 1, stuck: 0 });
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(jobs).toMatchObject([{ state: "waiting", attempts: 0, error: undefined }]);
    expect(receiver.stats()).toMatchObject({ failed: 0, retried: 0 });
  });

  test("counts what fails before the abort like any other failure", async () => {
    const { receiver, last, pass, inbox } = await busy(["a"]);
    const closed = watch(receiver.close());
    await pass(4_000);
    last().fail();
    await pass();
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(jobs).toMatchObject([{ state: "waiting", attempts: 1 }]);
  });

  test("counts as stuck, in jobs, what does not end; it keeps its claim, and a late end still counts", async () => {
    const { receiver, calls, pass, inbox } = await busy(["a", "b"]);
    const closed = watch(receiver.close());
    await pass(10_000);
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 2 });
    expect(inbox.stats().running).toBe(2);
    calls[0]?.end();
    calls[1]?.fail();
    await pass();
    expect(inbox.stats()).toMatchObject({ running: 0, waiting: 1 });
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("closes the inbox after the last handler, however late that ends", async () => {
    let closedInbox = 0;
    const inbox = stubInbox((own) => ({ close: async () => ((closedInbox += 1), own.close()) }));
    const { receiver, last, pass } = await busy(["a"], { inbox });
    await Promise.all([receiver.close(), pass(10_000)]);
    expect(closedInbox).toBe(0);
    last().end();
    await pass();
    expect(closedInbox).toBe(1);
  });

  test("called again is the same close", async () => {
    const { receiver, last } = await busy(["a"]);
    const [first, second] = [receiver.close(), receiver.close({ drainMs: 0 })];
    last().end();
    expect(await second).toEqual(await first);
    expect(await receiver.close()).toEqual({ done: 1, released: 0, stuck: 0 });
  });

  test("stops the retries: nothing is claimed any more", async () => {
    const { receiver, send, pass } = rig();
    const { seen, handler } = failingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass();
    await receiver.close();
    await pass(86_400_000);
    expect(seen).toHaveLength(1);
  });

  test("lets idle() resolve", async () => {
    const { receiver, last } = await busy(["a"]);
    const idle = watch(receiver.idle().then(() => "idle"));
    const closed = receiver.close();
    last().end();
    await closed;
    await turns();
    expect(idle.value).toBe("idle");
  });

  test("gives back what a claim brings that was under way", async () => {
    const claiming = deferred();
    const asked: string[] = [];
    const inbox = stubInbox((own) => ({
      claim: async (limits) => {
        const claimed = await own.claim(limits);
        if (claimed.claims.length > 0) await claiming.promise;
        return claimed;
      },
      close: async () => {
        asked.push(`close with ${own.stats().running} running`);
        await own.close();
      },
    }));
    const made = rig({ inbox });
    const { seen, handler } = recordingHandler();
    made.receiver.on("email", handler);
    await made.receiver.start();
    await made.send(emails("a", "b"));
    await turns();
    const closed = watch(made.receiver.close());
    await turns();
    claiming.resolve();
    await made.pass();
    expect(closed.value).toEqual({ done: 0, released: 2, stuck: 0 });
    expect([seen, asked]).toEqual([[], ["close with 0 running"]]);
    const { jobs } = await made.inbox.jobs.find({ limit: 10 });
    expect(jobs.map(({ state, attempts }) => [state, attempts])).toEqual([
      ["waiting", 0],
      ["waiting", 0],
    ]);
  });

  test("counts each job once, those that receiver.handle runs too", async () => {
    const { receiver, calls } = await busy(["a"]);
    const handled = receiver.handle(toStored("d-1", makeDelivery(emails("b"))));
    await turns();
    const closed = watch(receiver.close());
    calls[1]?.end();
    await handled;
    await turns();
    expect(closed.value).toBeUndefined();
    calls[0]?.end();
    await turns();
    expect(closed.value).toEqual({ done: 2, released: 0, stuck: 0 });
  });

  test("waits for what receiver.handle runs, aborts it 5 s before the end, and counts it as stuck", async () => {
    const { receiver, calls, handler, pass } = { ...heldHandler(), ...rig() };
    receiver.on("email", handler);
    void receiver.handle(toStored("d-1", makeDelivery(emails("a", "b"))));
    await turns();
    const closed = watch(receiver.close());
    await pass(5_000);
    expect(calls.map(({ ctx }) => ctx.signal.aborted)).toEqual([true]);
    await pass(5_000);
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 1 });
  });

  test.each([
    ["GiveUp", new GiveUp("gone"), { dead: 1, waiting: 0, blockedLanes: 0 }],
    ["RetryLater", new RetryLater({ afterMs: 60_000 }), { dead: 0, waiting: 1, blockedLanes: 1 }],
    ["any other error", new Error("aborted"), { dead: 0, waiting: 1, blockedLanes: 0 }],
  ])("lets %s of a handler that was stuck count as what it is", async (_, error, stats) => {
    const { receiver, send, inbox, pass, last, handler } = { ...heldHandler(), ...rig() };
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await turns();
    void receiver.close();
    await pass(10_000);
    last().fail(error);
    await pass();
    expect(inbox.stats()).toMatchObject(stats);
  });

  test("counts a job as stuck while a listener of onDead is waited for: for a second", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 1, timeoutMs: 0 });
    receiver.on("email", failingHandler().handler).onDead(() => new Promise(() => {}));
    await receiver.start();
    await send(emails("a"));
    await turns();
    const closed = watch(receiver.close({ drainMs: 0 }));
    await pass();
    expect([closed.value, inbox.stats().dead]).toEqual([{ done: 0, released: 0, stuck: 1 }, 0]);
    await pass(1_000);
    expect(inbox.stats().dead).toBe(1);
  });
});

test("`await using` closes at the end of the block", async () => {
  const { receiver } = rig();
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  {
    await using own = receiver;
    await own.start();
  }
  await expect(receiver.start()).rejects.toMatchObject({ code: "closed" });
  expect(calls.map(({ event }) => idOf(event))).toEqual([]);
});
