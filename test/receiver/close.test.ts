import type { Job } from "hookline";
import { describe, expect, test } from "vitest";
import { turns, watch } from "../support/event-loop.ts";
import { emails, heldHandler, idOf, rig, type RigOptions } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** A receiver whose handlers wait for the test. */
async function busy(ids: readonly string[], options: RigOptions = {}) {
  const held = heldHandler();
  const made = rig({ concurrency: 2, ...options });
  made.receiver.on("email", held.handler);
  await made.receiver.start();
  await made.send(emails(...ids));
  await turns();
  return { ...made, ...held };
}

describe("Symbol.asyncDispose", () => {
  test("waits for what runs, as close() does", async () => {
    const { receiver, last } = await busy(["a"]);
    const disposed = watch(receiver[Symbol.asyncDispose]());
    await turns();
    expect(disposed.ended).toBe(false);
    last().end();
    await turns();
    expect(disposed).toMatchObject({ ended: true, value: undefined });
    expect(receiver.stats().succeeded).toBe(1);
  });

  test("does not throw for a handler that never ends", async () => {
    const { receiver, pass } = await busy(["a"]);
    const disposed = watch(receiver[Symbol.asyncDispose]());
    await pass(10_000);
    expect(disposed).toMatchObject({ ended: true, value: undefined });
  });
});

describe("close()", () => {
  test.each([Number.NaN, -1, 1.5, Infinity, 2 ** 31, "5000", null])(
    "refuses a budget of %s, and closes nothing: deliveries are still taken",
    async (drainMs) => {
      const { receiver, send } = rig();
      await expect(receiver.close({ drainMs: drainMs as number })).rejects.toMatchObject({
        code: "option-invalid",
        message: expect.stringContaining("close got drainMs"),
      });
      await send();
      expect(await receiver.close({ drainMs: 2 ** 31 - 1 })).toEqual({ done: 0, released: 0, stuck: 0 });
    },
  );

  test("refuses a budget by another name", async () => {
    const { receiver } = rig();
    await expect(receiver.close({ drain: 5 } as object)).rejects.toThrow('Did you mean "drainMs"?');
  });

  test("adds up: every job that ran or was claimed is done, released or stuck", async () => {
    const { receiver, calls, pass, inbox } = await busy(["a", "b", "c", "d", "e", "f", "g", "h"], { concurrency: 3 });
    const claimed = inbox.stats().running;
    const closed = watch(receiver.close());
    calls[0]?.end();
    await pass(5_000);
    expect(calls.map(({ ctx }) => ctx.signal.aborted)).toEqual([false, true, true]);
    calls[1]?.fail(calls[1].ctx.signal.reason);
    await pass(5_000);
    expect(closed.value).toEqual({ done: 1, released: claimed - 2, stuck: 1 });
    expect(inbox.stats()).toMatchObject({ running: 1, waiting: 6 });
  });

  test("counts merged jobs each, done, released and stuck", async () => {
    const { receiver, calls, pass, send } = await busy(["x", "y"], { concurrency: 5 });
    await send(emails("a", "a", "b", "b", "b", "c", "c", "c", "c"));
    await turns();
    const closed = watch(receiver.close());
    for (const index of [0, 1, 2]) calls[index]?.end();
    await pass(5_000);
    calls[3]?.fail();
    await pass(5_000);
    expect(calls.map(({ event }) => idOf(event))).toEqual(["x", "y", "a", "b", "c"]);
    expect(closed.value).toEqual({ done: 4, released: 3, stuck: 4 });
  });

  test("counts as stuck those that were stuck before it, and waits no longer for them than for others", async () => {
    const { receiver, calls, pass } = await busy(["a", "b", "c"], { timeoutMs: 1_000, graceMs: 500 });
    await pass(1_500);
    expect(calls).toHaveLength(3);
    const closed = watch(receiver.close());
    calls[2]?.end();
    await pass(10_000);
    expect(closed.value).toEqual({ done: 1, released: 0, stuck: 2 });
    calls[0]?.end();
    await pass();
    expect(receiver.stats().succeeded).toBe(2);
  });

  test("ends before its time is over when what runs has ended", async () => {
    const { receiver, last, pass } = await busy(["a"]);
    const closed = watch(receiver.close({ drainMs: 20_000 }));
    await pass(1_000);
    last().end();
    await pass();
    expect(closed.value).toEqual({ done: 1, released: 0, stuck: 0 });
  });

  test("makes no job dead that fails after the abort, not even at its last attempt; no listener hears of it", async () => {
    const { receiver, last, pass, inbox } = await busy(["a"], { attempts: 1 });
    const heard: Job[] = [];
    receiver.onDead((job) => heard.push(job));
    const closed = watch(receiver.close());
    await pass(10_000);
    expect(closed.value).toMatchObject({ stuck: 1 });
    last().fail();
    await pass();
    expect([heard, inbox.stats()]).toMatchObject([[], { dead: 0, waiting: 1 }]);
  });

  test("waits for a listener of onDead, and for the settle behind it", async () => {
    const { receiver, last, inbox, pass } = await busy(["a"], { attempts: 1 });
    let marked = (): void => {};
    receiver.onDead(() => new Promise<void>((resolve) => (marked = resolve)));
    last().fail();
    const closed = watch(receiver.close());
    await pass(1_000);
    expect(closed.ended).toBe(false);
    marked();
    await pass();
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
    expect(inbox.stats().dead).toBe(1);
  });

  test("never throws, whatever the inbox does", async () => {
    const inbox = stubInbox(() => ({
      settle: () => Promise.reject(new Error("full disk")),
      close: () => {
        throw new Error("no volume");
      },
    }));
    const { receiver, last, pass } = await busy(["a"], { inbox });
    const closed = watch(receiver.close());
    last().end();
    await pass(11_000);
    expect(closed).toMatchObject({ ended: true, value: { done: 0, released: 0 } });
  });

  test("of a standby releases nothing, and it never works afterwards", async () => {
    let begin = (): void => {};
    const inbox = stubInbox((own) => ({
      work: async (worker) => {
        await own.work({ ...worker, begin() {} });
        begin = () => worker.begin();
      },
    }));
    const { receiver, calls } = await busy(["a"], { inbox });
    expect(receiver.stats().role).toBe("standby");
    expect(await receiver.close()).toEqual({ done: 0, released: 0, stuck: 0 });
    begin();
    await turns();
    expect([calls.length, receiver.stats().role]).toEqual([0, "receiving"]);
  });

  test("called while a start waits that was called twice makes both reject", async () => {
    const { receiver } = rig();
    const started = [watch(receiver.start()), watch(receiver.start())];
    await receiver.close();
    await turns();
    expect(started).toMatchObject([{ error: { code: "closed" } }, { error: { code: "closed" } }]);
  });
});
