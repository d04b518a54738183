import type { Context } from "hookline";
import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, idOf, recordingHandler, rig, type Rig } from "../support/rig.ts";

/** The jobs that are dead, in order. */
async function deadIds({ inbox }: Rig): Promise<string[]> {
  return (await inbox.jobs.find({ states: ["dead"], limit: 10 })).jobs.map(({ id }) => id);
}

/** Notes its calls; fails while it is told to, and waits where it is told to. */
function mendable() {
  const state = { broken: true, waits: false, ends: [] as (() => void)[], seen: [] as string[], ctxs: [] as Context[] };
  const handler = (event: Parameters<typeof idOf>[0], ctx: Context): unknown => {
    state.seen.push(`${idOf(event)}${ctx.replayOf === undefined ? "" : " again"} ${ctx.merged}`);
    state.ctxs.push(ctx);
    if (state.broken) throw new Error("no");
    return state.waits ? new Promise<void>((resolve) => state.ends.push(resolve)) : undefined;
  };
  return Object.assign(state, { handler });
}

describe("a replay", () => {
  test("is a new job at the tail of its lane, with the job that it replays", async () => {
    const made = rig({ attempts: 1 });
    const { receiver, send, inbox } = made;
    const mended = mendable();
    receiver.on("email", mended.handler, { lane: "account" });
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    const [dead] = await deadIds(made);
    mended.broken = false;
    mended.waits = true;
    await send(emails("b", "c"));
    await turns();
    expect(await inbox.jobs.replay({ states: ["dead"] })).toBe(1);
    expect(inbox.stats().dead).toBe(0);
    while (mended.ends.length < 3) {
      mended.ends.at(-1)?.();
      await turns();
    }
    expect(mended.seen).toEqual(["a 1", "b 1", "c 1", "a again 1"]);
    const [first, , , last] = mended.ctxs;
    expect(last).toMatchObject({ replayOf: dead, attempt: 1 });
    expect(last?.jobId).not.toBe(dead);
    expect(last?.idempotencyKey).not.toBe(first?.idempotencyKey);
    expect(await last?.delivery()).toEqual(await first?.delivery());
  });

  test("merges with replays only, never with what is fresh", async () => {
    const made = rig({ attempts: 1 });
    const { receiver, send, inbox } = made;
    const mended = mendable();
    receiver.on("email", mended.handler);
    await receiver.start();
    for (let times = 0; times < 2; times += 1) {
      await send(emails("a"));
      await receiver.idle();
    }
    const dead = await deadIds(made);
    mended.broken = false;
    mended.waits = true;
    mended.seen.length = 0;
    await send(emails("a")); // holds the lane
    await turns();
    await send(emails("a"));
    expect(await inbox.jobs.replay({ ids: dead })).toBe(2);
    await send(emails("a"));
    for (let ended = 0; ended < 4; ended += 1) {
      mended.ends[ended]?.();
      await turns();
    }
    expect(mended.seen).toEqual(["a 1", "a 1", "a again 2", "a 1"]);
    // What names a merged call is its newest job's.
    expect(mended.ctxs.find(({ merged }) => merged === 2)?.replayOf).toBe(dead[1]);
  });

  test("goes past the dedupe window: a tracking event that was seen runs again", async () => {
    const { receiver, send, inbox } = rig({ attempts: 1 });
    const mended = mendable();
    receiver.on("tracking", mended.handler);
    await receiver.start();
    await send(trackingBody(tracked(1)));
    await receiver.idle();
    mended.broken = false;
    expect(await inbox.jobs.replay({ states: ["dead"] })).toBe(1);
    await receiver.idle();
    expect(mended.seen).toEqual(["1 1", "1 again 1"]);
    await send(trackingBody(tracked(1)));
    await receiver.idle();
    expect([mended.seen.length, receiver.stats().duplicates]).toEqual([2, 1]);
  });

  test("has its attempts for itself", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 2 });
    const attempts: [number, boolean][] = [];
    const { handler } = recordingHandler((_event, ctx) => {
      attempts.push([ctx.attempt, ctx.lastAttempt]);
      throw new Error("no");
    });
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass(1_000);
    await inbox.jobs.replay({ states: ["dead"] });
    await pass(1_000);
    expect(attempts).toEqual([
      [1, false],
      [2, true],
      [1, false],
      [2, true],
    ]);
  });
});
