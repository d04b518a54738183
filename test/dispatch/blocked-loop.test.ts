import { createReceiver, memoryInbox, type ReceiverOptions } from "hookline";
import { describe, expect, onTestFinished, test } from "vitest";
import { turns, until } from "../support/event-loop.ts";
import { signedRequest } from "../support/make-delivery.ts";
import { emails, idOf } from "../support/rig.ts";

const LIMITS = { timeoutMs: 2, graceMs: 2, attempts: 1 };

/** A receiver on the machine's own clock: how a loop that stands still meets its timers cannot be played. */
function working(options: Partial<ReceiverOptions> = {}) {
  const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: false, ...LIMITS, ...options });
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  return {
    receiver,
    async send(...ids: readonly string[]) {
      await receiver.receive(signedRequest(emails(...ids), { secret: "s", at: new Date() }));
    },
  };
}

/** Holds the loop for longer than time limit and grace together. */
function block(): void {
  const end = Date.now() + 10 * (LIMITS.timeoutMs + LIMITS.graceMs);
  while (Date.now() < end);
}

describe("a handler that blocks the loop", () => {
  test("beyond its time limit and ends well has done its job", async () => {
    const { receiver, send } = working();
    const aborted: boolean[] = [];
    receiver.on("email", (_event, ctx) => {
      block();
      aborted.push(ctx.signal.aborted);
    });
    await receiver.start();
    await send("a", "b");
    await receiver.idle();
    expect(aborted).toEqual([false, false]);
    expect(receiver.stats()).toMatchObject({ succeeded: 2, failed: 0, dead: 0 });
  });

  test("and then waits is aborted as soon as the loop turns; its late success is one", async () => {
    const { receiver, send } = working();
    const reasons: unknown[] = [];
    receiver.on("email", async (_event, ctx) => {
      block();
      await until(() => ctx.signal.aborted);
      reasons.push(ctx.signal.reason);
      await turns();
    });
    await receiver.start();
    await send("a");
    await receiver.idle();
    expect(reasons).toMatchObject([{ code: "handler-timeout" }]);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
  });

  test("costs its neighbours their time, not their jobs, and never their lanes", async () => {
    const { receiver, send } = working({ concurrency: 3 });
    const running = new Set<string>();
    const overlaps: string[] = [];
    receiver.on(
      "email",
      async (event) => {
        if (running.has(idOf(event))) overlaps.push(idOf(event));
        running.add(idOf(event));
        if (idOf(event) === "blocks") block();
        await turns(3);
        running.delete(idOf(event));
      },
      { merge: false },
    );
    await receiver.start();
    await send("a", "blocks", "a", "b", "blocks", "a", "b");
    await receiver.idle();
    expect(overlaps).toEqual([]);
    expect(receiver.stats()).toMatchObject({ succeeded: 7, failed: 0, retried: 0, dead: 0 });
  });

  test("gives every slot back: as many run at once afterwards as before", async () => {
    const { receiver, send } = working({ concurrency: 2, maxStuck: 0 });
    let running = 0;
    let most = 0;
    receiver.on("email", async (event) => {
      if (idOf(event) === "blocks") {
        block();
        await turns(3);
        return;
      }
      running += 1;
      most = Math.max(most, running);
      await turns(1);
      running -= 1;
    });
    await receiver.start();
    await send("blocks");
    await receiver.idle();
    await send("a", "b", "c", "d");
    await receiver.idle();
    expect([most, receiver.stats().succeeded]).toEqual([2, 5]);
  });
});
