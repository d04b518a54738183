import { ClosedError } from "../errors.ts";
import { createBatcher } from "../inbox/batcher.ts";
import { createFifo } from "../inbox/fifo.ts";
import type { Claim, JobOutcome, Settlement, WorkingInbox } from "../inbox/port.ts";
import { createBacklog, type BacklogOptions } from "./backlog.ts";
import { createPace } from "./pace.ts";
import type { WorkParts } from "./parts.ts";
import { createRunner } from "./runner.ts";
import { ABORT_BEFORE_END_MS, within } from "../within.ts";

/** Most jobs that one call may settle. */
const MERGE_MAX = 1_000;
/** After a failure of the inbox itself. */
const TRY_AGAIN_MS = 1_000;

/** Works on an inbox: expands, claims, runs, settles. */
export interface Dispatcher {
  /** This process has the worker's place. */
  begin(): void;
  /** There may be something to claim. Cheap: many calls in one turn are one look. */
  wake(): void;
  /** There may be something to expand: a newer delivery must not be expanded before it. */
  fallBehind(): void;
  /** Claims that ended without this process settling them. */
  lost(claims: readonly Claim[]): void;
  /** From `begin` to `stop`. */
  working(): boolean;
  /** Nothing due and nothing running. */
  idle(): Promise<void>;
  /** No new claims; see `receiver.close`. */
  stop(drainMs: number): Promise<{ readonly done: number; readonly released: number; readonly stuck: number }>;
  /** Resolves when the handlers that outlived `stop` have ended and are settled. */
  ended(): Promise<void>;
}

export function createDispatcher(
  inbox: WorkingInbox,
  parts: WorkParts,
  expanded: BacklogOptions["expanded"],
): Dispatcher {
  const { clock, log, counters, concurrency, queue } = parts;
  const pace = createPace(2 * concurrency);
  const runner = createRunner(parts, { settle, rested: tellQuiet });
  const backlog = createBacklog(parts, { inbox, stopped: () => !working, expanded, wake });
  const settler = createBatcher<Settlement, boolean | Error>({
    commit: (settlements) => inbox.settle(settlements),
    sizeOf: () => 0,
    failed: (error) => (error instanceof Error ? error : new Error(String(error))),
  });
  /** Claimed, and not in p-queue yet. */
  const ahead = createFifo<Claim>();
  /** In p-queue, and not begun yet. */
  const queued = new Set<Claim>();
  /** Who waits for a rest, and what counts as one. */
  let resting: { readonly when: () => boolean; readonly resolve: () => void }[] = [];
  let working = false;
  let looking = false;
  let lookAgain = false;
  let behind = true;
  let exhausted = false; // the last claim found less than it had room for
  let timer: { clear(): void } | undefined;

  /** Until the inbox takes it: a settle that failed is not certain, and its lane stays closed. */
  async function settle(settlement: Settlement): Promise<boolean> {
    for (;;) {
      const result = await settler.add(settlement);
      wake();
      if (typeof result === "boolean") return result;
      log.error(
        { err: result, code: "settle-failed" },
        "the inbox did not take what became of a job: it is tried again",
      );
      await new Promise<void>((resolve) => void clock.setTimer(resolve, TRY_AGAIN_MS));
    }
  }

  function wake(): void {
    exhausted = false;
    lookAgain = true;
    if (working && !looking) void look();
  }

  async function look(): Promise<void> {
    looking = true;
    try {
      while (lookAgain && working) {
        lookAgain = false;
        if (behind) {
          await backlog.expand();
          behind = inbox.stats().unexpanded > 0;
        }
        await claim();
      }
    } catch (error) {
      log.error({ err: error, code: "inbox-failed" }, "the inbox failed: it is tried again");
      lookAt(TRY_AGAIN_MS);
    } finally {
      looking = false;
    }
    tellQuiet();
  }

  async function claim(): Promise<void> {
    const room = runner.jammed() ? 0 : pace.ahead(clock.now()) - ahead.size - queue.size - queue.pending;
    if (room <= 0) return;
    const { claims, nextDueAt } = await inbox.claim({ max: room, mergeMax: MERGE_MAX });
    for (const one of claims) ahead.push(one);
    exhausted = claims.length < room && !lookAgain;
    lookAt(nextDueAt === undefined ? undefined : nextDueAt - clock.now());
    if (working) feed();
    else for (const one of claims) void giveBack(one);
  }

  /** p-queue holds twice the concurrency at most: the rest of what is claimed waits where it can be given back. */
  function feed(): void {
    while (working && queue.size + queue.pending < 2 * concurrency) {
      const next = ahead.shift();
      if (next === undefined) break;
      queued.add(next);
      void queue.add(() => new Promise<void>((free) => begin(next, free)));
    }
  }

  function begin(claimed: Claim, free: () => void): void {
    if (!queued.delete(claimed)) {
      free();
      return;
    }
    pace.started(clock.now());
    runner.start(claimed, () => {
      free();
      feed();
    });
  }

  async function giveBack(claimed: Claim): Promise<void> {
    await settle({ claim: claimed, outcomes: claimed.jobs.map((): JobOutcome => ({ to: "release" })) });
  }

  function lookAt(inMs: number | undefined): void {
    timer?.clear();
    timer = inMs === undefined || !working ? undefined : clock.setTimer(wake, Math.max(inMs, 0));
  }

  const ended = (): boolean => runner.running() === 0 && runner.settling() === 0;
  const idle = (): boolean =>
    !working || (!looking && !lookAgain && exhausted && ahead.size === 0 && queued.size === 0 && ended());

  function tellQuiet(): void {
    const due = resting.filter(({ when }) => when());
    if (due.length === 0) return;
    resting = resting.filter((one) => !due.includes(one));
    for (const { resolve } of due) resolve();
  }

  function rest(when: () => boolean): Promise<void> {
    return when() ? Promise.resolve() : new Promise((resolve) => resting.push({ when, resolve }));
  }

  async function sweep(): Promise<void> {
    try {
      await backlog.reopen();
    } catch (error) {
      log.error(
        { err: error, code: "inbox-failed" },
        "unhandled jobs could not be looked at: they wait for the next start",
      );
    }
    looking = false;
    wake();
  }

  return {
    begin() {
      working = true;
      looking = true; // nothing is expanded or claimed before the sweep
      void sweep();
    },
    wake,
    fallBehind() {
      behind = true;
      wake();
    },
    lost(claims) {
      for (const claimed of claims)
        runner.abort(claimed, new ClosedError("claim-lost", "The job was taken away from its handler."));
    },
    working: () => working,
    async idle() {
      if (!idle()) wake();
      await rest(idle);
    },
    async stop(drainMs) {
      const doneBefore = counters.succeeded;
      working = false;
      lookAt(undefined);
      const unstarted = [...ahead, ...queued];
      ahead.keep(() => false);
      queued.clear();
      const given = Promise.all(unstarted.map(giveBack));
      await within(drainMs - ABORT_BEFORE_END_MS, rest(ended), { clock, late: undefined });
      if (runner.running() > 0) runner.abortAll(new ClosedError("closed", "The receiver is closing."));
      await within(Math.min(drainMs, ABORT_BEFORE_END_MS), Promise.all([given, rest(ended)]), {
        clock,
        late: undefined,
      });
      tellQuiet();
      const released = unstarted.reduce((count, { jobs }) => count + jobs.length, 0) + runner.released();
      return { done: counters.succeeded - doneBefore, released, stuck: runner.running() };
    },
    ended: () => rest(ended),
  };
}
