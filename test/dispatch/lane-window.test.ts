import fc from "fast-check";
import { GiveUp, RetryLater, type AnyEvent, type Context } from "hookline";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, idOf, rig, type RigOptions } from "../support/rig.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** The certain half of the longest wait between two attempts. */
const GAP_MS = 300_000;

beforeEach(() => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  return () => random.mockRestore();
});

/** Some opens of one mail: one lane, and nothing merges. */
function opens(first: number, last: number): string {
  return trackingBody(...Array.from({ length: last - first + 1 }, (_, index) => tracked(first + index)));
}

/** A receiver whose handler of tracking fails unless it is told otherwise, with what it was called for and when. */
async function tracking(does: (id: string) => unknown = fail, options: RigOptions = {}) {
  const on = rig(options);
  const calls: { readonly id: string; readonly at: number; readonly last: boolean }[] = [];
  on.receiver.on("tracking", (event: AnyEvent, ctx: Context) => {
    calls.push({ id: idOf(event), at: on.clock.now(), last: ctx.lastAttempt });
    return does(idOf(event));
  });
  await on.receiver.start();
  const deadIds = async (): Promise<number[]> =>
    (await on.inbox.jobs.find({ states: ["dead"], limit: 100 })).jobs.map(({ event }) =>
      Number(idOf(event as AnyEvent)),
    );
  return { ...on, calls, deadIds, callsOf: (id: number) => calls.filter((call) => call.id === String(id)) };
}

function fail(): never {
  throw new Error("no");
}

describe("a lane whose jobs all fail", () => {
  test("is blocked for one window, and one attempt for each job that waited: 20 of one mail die on one day", async () => {
    const { send, pass, calls, callsOf, inbox } = await tracking();
    await send(opens(1, 20));
    await pass(DAY_MS + 2 * GAP_MS);
    expect(inbox.stats()).toMatchObject({ dead: 20, waiting: 0 });
    expect(callsOf(1).length).toBeGreaterThan(100);
    for (let id = 2; id <= 20; id += 1) expect(callsOf(id)).toMatchObject([{ last: true }]);
    expect(calls.map(({ id }) => Number(id))).toEqual(calls.map(({ id }) => Number(id)).toSorted((a, b) => a - b));
  });

  test("gives what arrives afterwards a window of its own, also while those before it are dying", async () => {
    let late: Promise<void> | undefined;
    const { send, pass, callsOf, deadIds } = await tracking((id) => {
      if (id === "2") late = send(opens(4, 5));
      fail();
    });
    await send(opens(1, 3));
    await pass(DAY_MS + 2 * GAP_MS);
    await late;
    expect(await deadIds()).toEqual([1, 2, 3]);
    const [first] = callsOf(4);
    expect(first).toMatchObject({ last: false });
    await pass(DAY_MS - 3 * GAP_MS);
    expect(await deadIds()).toEqual([1, 2, 3]);
    await pass(4 * GAP_MS);
    expect(await deadIds()).toEqual([1, 2, 3, 4, 5]);
    expect([callsOf(4).length > 100, callsOf(5).length]).toEqual([true, 1]);
  });

  test("has its whole window again once one of its jobs is done", async () => {
    const { send, pass, callsOf, deadIds } = await tracking((id) => id === "3" || fail());
    await send(opens(1, 5));
    await pass(DAY_MS + 2 * GAP_MS);
    expect(await deadIds()).toEqual([1, 2]);
    expect([callsOf(2), callsOf(3)]).toMatchObject([[{ last: true }], [{ last: true }]]);
    expect(callsOf(4)[0]).toMatchObject({ last: false });
    await pass(DAY_MS + 2 * GAP_MS);
    expect(await deadIds()).toEqual([1, 2, 4, 5]);
    expect([callsOf(4).length > 100, callsOf(5).length]).toEqual([true, 1]);
  });

  test.each([
    ["GiveUp", new GiveUp("enough"), Infinity],
    ["`attempts`", new Error("no"), 1],
  ])("keeps its windows where one dies of %s", async (_, error, attempts) => {
    const later = new RetryLater({ afterMs: 10 * HOUR_MS });
    const { send, pass, calls, deadIds } = await tracking(
      (id) => {
        throw id === "2" || calls.length <= 2 ? later : error;
      },
      { attempts },
    );
    await send(opens(1, 2));
    await pass(2 * DAY_MS);
    expect(await deadIds()).toEqual([1, 2]);
    const [first = 0, ...others] = calls.filter(({ id }) => id === "2").map(({ at }) => at);
    expect(others.map((at) => at - first)).toEqual([10 * HOUR_MS, 20 * HOUR_MS, DAY_MS]);
  });

  test("keeps them where a job dies of GiveUp after all of its time", async () => {
    const started = { at: 0 };
    const { send, pass, clock, callsOf } = await tracking((id) => {
      if (id === "1" && clock.now() - started.at >= DAY_MS) throw new GiveUp("enough");
      if (id === "1") fail();
    });
    started.at = clock.now();
    await send(opens(1, 2));
    await pass(DAY_MS + 2 * GAP_MS);
    expect(callsOf(2)).toMatchObject([{ last: false }]);
  });

  test("leaves other lanes alone", async () => {
    const { send, pass, callsOf } = await tracking();
    await send(opens(1, 2));
    await pass(DAY_MS - HOUR_MS);
    await send(trackingBody(tracked(9, { trackingId: 99 })));
    await pass(HOUR_MS + 2 * GAP_MS);
    expect([callsOf(2).length, callsOf(9).every(({ last }) => !last)]).toEqual([1, true]);
  });

  test("of one consumer leaves the same lane of another alone", async () => {
    const on = rig();
    const last: boolean[] = [];
    on.receiver.on("tracking", fail, { retryForMs: HOUR_MS });
    on.receiver.on("tracking", (_event, ctx) => void last.push(ctx.lastAttempt), { consumer: "other" });
    await on.receiver.start();
    await on.send(opens(1, 2));
    await on.pass(DAY_MS);
    expect(last).toEqual([false, false]);
  });
});

test("whoever was merged with a job that dies of its window has one attempt more, whatever time it asks for", async () => {
  const on = rig();
  const calls: { readonly merged: number; readonly at: number; readonly last: boolean }[] = [];
  on.receiver.on("email", (_event, ctx) => {
    calls.push({ merged: ctx.merged, at: on.clock.now(), last: ctx.lastAttempt });
    fail();
  });
  await on.receiver.start();
  await on.send(emails("m"));
  await on.pass(DAY_MS - HOUR_MS);
  await on.send(emails("m"));
  await on.pass(HOUR_MS + 2 * GAP_MS);
  expect(on.inbox.stats()).toMatchObject({ dead: 2, waiting: 0 });
  expect(calls.slice(-2)).toMatchObject([
    { merged: 2, last: false },
    { merged: 1, last: true },
  ]);
});

test("whatever comes, fails and asks for more time, nothing waits longer for its end than one window", async () => {
  const outcome = fc.oneof(fc.constant(undefined), fc.integer({ min: 600_000, max: 2 * HOUR_MS }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(HOUR_MS), { minLength: 1, maxLength: 8 }),
      fc.array(outcome, { minLength: 1, maxLength: 20 }),
      fc.boolean(),
      async (gaps, outcomes, merge) => {
        const on = rig({ retryForMs: HOUR_MS });
        const died: number[] = [];
        let calls = 0;
        on.receiver.on(
          "email",
          () => {
            const afterMs = outcomes[(calls += 1) % outcomes.length];
            throw afterMs === undefined ? new Error("no") : new RetryLater({ afterMs });
          },
          { merge },
        );
        on.receiver.onDead((job) => void died.push(on.clock.now() - job.receivedAt.getTime()));
        await on.receiver.start();
        for (const gap of gaps) {
          await on.send(emails("m"));
          await on.pass(gap);
        }
        await on.pass(HOUR_MS + 4 * GAP_MS);
        expect(died).toHaveLength(gaps.length);
        expect(Math.max(...died)).toBeLessThanOrEqual(HOUR_MS + 4 * GAP_MS);
        await on.receiver.close({ drainMs: 0 });
      },
    ),
    { numRuns: 30 },
  );
});
