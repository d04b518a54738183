import { LOOK_AGAIN_MS } from "../clock.ts";
import { ClosedError } from "../errors.ts";
import type { Claim } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { ABORT_BEFORE_END_MS, withTimeout } from "../timeout.ts";
import { createCompletions } from "./calls/completions.ts";
import { TRY_AGAIN_MS, type DispatchDeps } from "./dispatch-deps.ts";
import { nextTurn } from "./event-loop.ts";
import { createBacklog, type BacklogOptions } from "./expand.ts";
import { createFlowRules, type AccountDelay } from "./claims/flow-rules.ts";
import { createPrefetcher, type Prefetched } from "./claims/prefetch.ts";
import { createJobRunner } from "./calls/run-job.ts";
import { createSettleQueue } from "./settle-queue.ts";
import { createUnhandledSweep } from "./unhandled-sweep.ts";

/** The loop yields to I/O after so many claims: more would serve a busy lane faster, and make all others wait. */
const CLAIMS_A_TURN = 4;

/** Works on an inbox: expands deliveries, claims jobs, runs their handlers, settles. */
export interface Dispatcher {
  /** This process became the worker. */
  begin(): void;
  /** Another process is the worker; `begin` may come again. Nothing is expanded or claimed until then. @param cause the inbox cannot let it go on: that is a standstill */
  end(cause?: Error): void;
  /** There may be something to claim. Cheap: many calls in one turn are one round of the loop. */
  wake(): void;
  /** There may be an unexpanded delivery: it must be expanded before any newer one. */
  wakeToExpand(): void;
  /** Unhandled jobs may have a handler now, and are this process's to look at. */
  reopen(): void;
  /** These claims ended without this process settling them. */
  lost(claims: readonly Claim[]): void;
  /** What is claimed and has not started. */
  prefetched(): Prefetched;
  /** Accounts of which nothing starts for a time, because a handler asked for it. */
  delays(): readonly AccountDelay[];
  /** Whether a new delivery may be expanded as it is stored: this process is the worker. */
  mayExpand(): boolean;
  /** Resolves when nothing is due, nothing runs, and the sweep of unhandled jobs has ended. */
  idle(): Promise<void>;
  isIdle(): boolean;
  /** No new claims; see `receiver.close`. */
  stop(drainMs: number): Promise<{ readonly done: number; readonly released: number; readonly stuck: number }>;
  /** Resolves when the handlers that outlived `stop` have ended and are settled. */
  ended(): Promise<void>;
}

export function createDispatcher(
  inbox: WorkingInbox,
  deps: DispatchDeps,
  expanded: BacklogOptions["expanded"],
): Dispatcher {
  const { clock, faultLog, watch } = deps;
  const idleWaiters = createIdleWaiters();
  const settle = createSettleQueue(inbox, {
    clock,
    log: faultLog,
    watch,
    answered(report) {
      exhausted = false; // before `idle` asks whether this was the last job
      report();
      wake();
    },
    settled: (...how) => claims.settled(...how),
    unsettled: (claim) => claims.unsettled(claim),
    buried: (...given) => runner.buried(...given),
  });
  const { transactional, pauses } = inbox;
  const flow = createFlowRules({ ...deps, perAccount: deps.handlers.perAccount, pauses }, () => wake());
  const runner = createJobRunner(deps, {
    settle,
    delay(...account) {
      flow.delay(...account);
      wake();
    },
    completions: transactional && createCompletions(transactional, { clock, log: faultLog, watch }),
    deferred: () => wake(),
    ended: idleWaiters.check,
    overdue: (claim) => claims.overdue(claim),
    unsettled: (claim) => claims.unsettled(claim),
  });
  const claims = createPrefetcher(inbox, deps, {
    runner,
    settle,
    flow,
    working: () => working,
    wake,
    ended: idleWaiters.check,
  });
  const backlog = createBacklog(deps, { inbox, expanded, leftUnhandled: () => sweep.begin() });
  const sweep = createUnhandledSweep(inbox, deps, { isExhausted: () => exhausted, wake, ended: idleWaiters.check });
  let working = false;
  let stopped = false;
  /** Counts how often this process became the worker. */
  let tenure = 0;
  let looping = false;
  let loopAgain = false;
  let claimedThisTurn = 0;
  let behind = true; // deliveries wait unexpanded
  let exhausted = false; // the last claim found less than it had room for
  let expanding = false;
  let hasMissed = false; // deliveries may have come while some were expanded, or more wait
  let wasLate = false; // the last claim found nothing, though something was due
  let timer: { clear(): void } | undefined;
  /** After a failure. */
  let again: { clear(): void } | undefined;

  /*
   * How a stored delivery reaches its handlers. `expand` and `loop` are the only places that expand and claim; all else wakes them.
   *
   * Expand: deliveries that were stored without jobs (by another process, or before `start()`) become jobs: the oldest first, page by
   *   page, beside the loop: handlers of the first page run while the rest waits. A delivery that this process stores has its jobs already.
   * Sweep: when this process becomes the worker, unhandled jobs that have a handler by now become waiting jobs, at the tail of their
   *   lanes. Where many work, the inbox says when. That goes on beside the loop, a page a commit: the next page follows when fewer jobs
   *   wait than a page has, or when none of them may start now and they fill less than half of the memory; else after a second, unless
   *   deliveries wait for room. So neither the start nor a fresh job waits for it, and no lane that is blocked holds it up.
   * Claim: the inbox gives the heads of free lanes that are due, each with the jobs behind it that merge with it.
   * Prefetch: running and waiting to start are twice `concurrency` claims, or, where handlers are fast, as many as started within 50 ms;
   *   at most 512, or `concurrency` where that is more.
   * Slots: `concurrency` tasks of p-queue. Each starts the next claim as its call ends; after 10 ms of calls, in the next turn of the loop.
   * Run: the runner merges the events and calls the handler inside its middleware, within its time limit. A handler that ignores the
   *   abort for `graceMs` gives up its slot and keeps its lane.
   * Settle: done, retry, dead, unhandled or release. What ends in one turn shares a commit; one that fails is tried again each second.
   * Idle: a claim that finds less than it asked for ends the loop. `idle()` resolves when nothing runs, settles or is swept either.
   *
   * Poison isolation: a job over which the process died twice is a suspect, and runs with nothing but suspects beside it. Suspects and
   *   all others take turns of 30 s. At the end of the others' turn, prefetched claims go back and running calls get 30 s to end, while
   *   nothing is claimed. If they have ended, a group of suspects runs; if not, the others get another turn, and more patience after it.
   *
   * The loop wakes when this process becomes the worker, the sweep has reopened a page, the inbox or the receiver stores or changes
   *   something, a settle is answered, a call ends that is settled later, a stuck handler gives up its slot, or the last one that kept
   *   its slot ends; and by timers: the next job is due, one second after the inbox failed, or gave nothing though something is due, a turn
   *   of poison isolation ends. Wake-ups during a round add up to one more round.
   *
   * Standstill: `watch` gives each call of the inbox a time limit, and reports what is due and does not move.
   */
  async function loop(): Promise<void> {
    looping = true;
    try {
      while (loopAgain && working) {
        loopAgain = false;
        if (behind && expanding) hasMissed = true;
        else if (behind && again === undefined) await withTimeout(TRY_AGAIN_MS, expand(), { clock, late: undefined });
        await claimMore();
        if (claimedThisTurn < CLAIMS_A_TURN) continue;
        claimedThisTurn = 0;
        await nextTurn();
      }
    } catch (error) {
      failed("claim", error);
    } finally {
      looping = false;
    }
    idleWaiters.check();
  }

  async function claimMore(): Promise<void> {
    const found = await claims.claim();
    claimedThisTurn += found.count;
    const dueInMs = (found.nextDueAt ?? Number.NaN) - clock.now();
    // What is due and is not given is asked for once more at once, and then now and then.
    const isLate = dueInMs <= 0 && found.count === 0;
    loopAgain ||= found.again || (isLate && !wasLate);
    exhausted = found.exhausted && !loopAgain;
    if (!Number.isNaN(dueInMs)) wakeIn(isLate ? TRY_AGAIN_MS : dueInMs);
    wasLate = isLate;
    sweep.check();
  }

  /** The loop waits for it, but not for an inbox that hangs: deliveries that cannot be expanded keep no job from running. */
  async function expand(): Promise<void> {
    expanding = true;
    try {
      if (await backlog.expand(ofTenure())) hasMissed = true;
      else behind &&= backlog.isLeft({ works: () => working, askAgain: wake });
    } catch (error) {
      failed("expand", error);
    } finally {
      expanding = false;
    }
    if (hasMissed) wake();
    hasMissed = false;
    idleWaiters.check();
  }

  function failed(step: "claim" | "expand", error: unknown): void {
    if (!working) return;
    faultLog.error({ err: error, code: "inbox-failed" }, "the inbox failed: it is tried again");
    watch.failed(step, error);
    again ??= clock.setTimer(() => {
      again = undefined;
      wake();
    }, TRY_AGAIN_MS);
  }

  function wake(): void {
    exhausted = false;
    loopAgain = true;
    if (working && !looping) void loop();
  }

  function wakeIn(ms: number): void {
    timer?.clear();
    timer = working ? clock.setTimer(wake, Math.min(Math.max(ms, 0), LOOK_AGAIN_MS)) : undefined;
  }

  /** @returns whether the tenure that began some work is over, for use between two steps of it */
  function ofTenure(): () => boolean {
    const mine = tenure;
    return () => !working || tenure !== mine;
  }

  const hasEnded = (): boolean =>
    !looping && !expanding && !sweep.running() && claims.releasing() + runner.running() + runner.settling() === 0;
  const isIdle = (): boolean =>
    working ? !loopAgain && exhausted && hasEnded() && claims.prefetched().jobs === 0 : stopped || hasEnded();

  function pause(): void {
    working = false;
    sweep.end();
    timer?.clear();
    again?.clear();
    again = undefined;
    claims.stop();
  }

  return {
    begin() {
      if (stopped || working) return;
      working = true;
      tenure += 1;
      behind = true;
      watch.works(true);
      claims.start();
      wake();
      if (inbox.capabilities.workers === "one") sweep.begin();
    },
    reopen: () => void (working && sweep.begin()),
    end(cause) {
      if (stopped) return;
      pause();
      watch.works(cause !== undefined);
      if (cause !== undefined) watch.failed("claim", cause);
      idleWaiters.check();
    },
    wake,
    wakeToExpand() {
      behind = true;
      wake();
    },
    lost: claims.lost,
    prefetched: claims.prefetched,
    delays: flow.delays,
    mayExpand: () => working,
    isIdle,
    async idle() {
      if (!isIdle()) wake();
      await idleWaiters.when(isIdle);
    },
    async stop(drainMs) {
      const released = (): number => claims.released() + runner.released();
      const [doneBefore, releasedBefore] = [runner.done(), released()];
      stopped = true;
      pause();
      watch.works(false);
      const end = (ms: number): Promise<void> =>
        withTimeout(ms, idleWaiters.when(hasEnded), { clock, late: undefined });
      await end(drainMs - ABORT_BEFORE_END_MS);
      if (!hasEnded()) runner.abortAll(new ClosedError("closed", "The receiver is closing."));
      await end(Math.min(drainMs, ABORT_BEFORE_END_MS));
      idleWaiters.check();
      return {
        done: runner.done() - doneBefore,
        released: released() - releasedBefore,
        stuck: runner.running() + runner.settling(),
      };
    },
    ended: () => idleWaiters.when(hasEnded),
  };
}

/** Resolves waiters when their predicate holds: at once, or when a later `check` finds that it does. */
function createIdleWaiters() {
  let waiting: { readonly holds: () => boolean; readonly resolve: () => void }[] = [];

  return {
    when: async (holds: () => boolean): Promise<void> => {
      if (!holds()) await new Promise<void>((resolve) => waiting.push({ holds, resolve }));
    },
    check() {
      const over = waiting.filter(({ holds }) => holds());
      if (over.length === 0) return;
      waiting = waiting.filter((one) => !over.includes(one));
      for (const { resolve } of over) resolve();
    },
  };
}
