import { passed, type Clock } from "../../clock.ts";
import type { HandlerCalls } from "../../dispatch/calls/handler-calls.ts";
import type { AccountDelay } from "../../dispatch/claims/flow-rules.ts";
import type { Prefetched } from "../../dispatch/claims/prefetch.ts";
import type { InboxWatch } from "../../inbox/standstill-watch.ts";
import { listOf, toPause } from "../../inbox/pauses.ts";
import type { InboxStats, WorkingInbox } from "../../inbox/port/inbox.ts";
import type { UnsubscribeRateLimit } from "../../ingest/unsubscribe-rate-limit.ts";
import type { Logger } from "../../logger.ts";
import { catchRejection } from "../../thrown.ts";
import type { ReceiverStates } from "../lifecycle.ts";
import type { Opening } from "../open-inbox.ts";
import type { Health } from "../receiver-types.ts";
import type { FreezeWarning } from "../serverless.ts";
import {
  checkAccounts,
  checkDisk,
  checkFlow,
  checkReady,
  checkRefusals,
  checkSubscriptions,
  checkWork,
  countOf,
  type ReceivingState,
} from "./checks.ts";
import { toProblem, type Problem } from "./problem-catalog.ts";
import type { RecentRefusals } from "./recent-refusals.ts";
import { checkStandstill, needsRestart } from "./standstill-problem.ts";
import type { SubscriptionErrors } from "./subscription-errors.ts";
import type { UnauthorizedAccounts } from "./unauthorized-accounts.ts";

export interface HealthDeps extends ReceivingState {
  readonly opening: Opening;
  /** Undefined where the inbox has no working half. */
  readonly working: WorkingInbox | undefined;
  readonly prefetched: () => Prefetched;
  readonly delays: () => readonly AccountDelay[];
  readonly handlerCalls: Pick<HandlerCalls, "stuck" | "jammed">;
  readonly watch: Pick<InboxWatch, "standstill">;
  readonly states: Pick<ReceiverStates, "current" | "isClosing">;
  readonly startFailure: () => { readonly error: unknown } | undefined;
  readonly rateLimit: Pick<UnsubscribeRateLimit, "reachedLately">;
  readonly refusals: RecentRefusals;
  readonly subscriptions: Pick<SubscriptionErrors, "list">;
  readonly accounts: Pick<UnauthorizedAccounts, "list">;
  readonly unhandledNames: ReadonlyMap<string, number>;
  readonly freezeWarning: Pick<FreezeWarning, "problems">;
  /** Of what stands on the receiver, such as `watchSubscriptions`. */
  readonly problemSources: ReadonlySet<() => readonly Problem[]>;
  readonly clock: Clock;
  /** Throttled: probes call every few seconds. */
  readonly log: Logger;
}

/** `receiver.health()`. Costs nothing between calls. */
export function createHealth(deps: HealthDeps): () => Promise<Health> {
  const { opening, states, working, handlerCalls, refusals, clock, log } = deps;

  /** Opens the inbox; returns after one turn of the loop. An inbox in memory is open by then, a slower one at the next call. */
  async function open(): Promise<void> {
    if (states.isClosing || opening.isOpen()) return;
    if (states.current !== "opening") {
      opening.opened().catch((error: unknown) => {
        if (!states.isClosing)
          log.error({ err: error, code: "inbox-open-failed" }, "the inbox cannot be opened: deliveries get 503");
      });
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  function readInbox(): { readonly stats: InboxStats; readonly problems: readonly Problem[] } {
    try {
      const stats = withPrefetched(working?.stats() ?? EMPTY_STATS, deps.prefetched());
      const unread = stats.failure === undefined ? [] : failed(stats.failure, "some of the inbox cannot be read");
      return { stats, problems: [...unread, ...checkSubscriptions(deps.subscriptions.list())] };
    } catch (error) {
      return { stats: EMPTY_STATS, problems: failed(error, "the inbox cannot count its jobs") };
    }
  }

  function failed(error: unknown, what: string): readonly Problem[] {
    catchRejection(error);
    log.error({ err: error, code: "inbox-stats-failed" }, what);
    return [toProblem("inbox-stats-failed")];
  }

  /** Whatever an inbox of somebody else's gives: a probe gets an answer. */
  function tryCheck(check: () => readonly Problem[]): readonly Problem[] {
    try {
      return check();
    } catch (error) {
      return failed(error, "what the inbox says of pauses, gaps or its disk cannot be read");
    }
  }

  const oldest = createOldestAge(clock);

  return async () => {
    await open();
    const notReady = checkReady(deps);
    const { stats, problems: inboxProblems } = readInbox();
    const { stuck, jammed } = handlerCalls;
    const standstill = states.isClosing ? undefined : (deps.watch.standstill() ?? stats.standstill);
    const oldestWaitingMs = oldest.ageOf(stats.oldestWaitingAt);
    const freeDiskBytes = stats.disk?.freeBytes;
    return {
      live:
        !jammed && !needsRestart(standstill, notReady) && notReady.every(({ code }) => code !== "inbox-reopen-failing"),
      ready: notReady.length === 0 && !refusals.isStorageInDoubt,
      problems: [
        ...(jammed ? [toProblem("stuck-limit-reached", { detail: `Now stuck: ${countOf(stuck, "handler")}.` })] : []),
        ...checkStandstill(standstill),
        ...notReady,
        ...checkRefusals(refusals, new Set(notReady.map(({ code }) => code))),
        ...(deps.rateLimit.reachedLately ? [toProblem("unsubscribe-limit-reached")] : []),
        ...inboxProblems,
        ...checkAccounts(deps.accounts.list()),
        ...tryCheck(() => checkFlow(listOf(working?.pauses).flatMap(toPause), deps.delays())),
        ...[...deps.problemSources].flatMap(tryCheck),
        ...tryCheck(() => checkDisk(stats.disk, clock.now())),
        ...deps.freezeWarning.problems(),
        ...checkWork({
          inbox: working,
          stats,
          state: states.current,
          startFailure: deps.startFailure(),
          oldestWaitingMs,
          stuck,
          jammed,
          unhandledNames: deps.unhandledNames,
        }),
      ],
      waiting: stats.waiting + stats.unexpanded,
      oldestWaitingMs,
      pausedWaiting: stats.pausedWaiting ?? 0,
      blockedLanes: stats.blockedLanes,
      dead: stats.dead,
      unhandled: stats.unhandled,
      stuck,
      ...(freeDiskBytes === undefined ? {} : { freeDiskBytes }),
    };
  };
}

/** How long the oldest one waits, milliseconds: at least as long as these looks have seen it, so that a wall clock that was set back hides nothing. */
function createOldestAge(clock: Clock): { ageOf(at: number | undefined): number } {
  let last: number | undefined;
  let seenSince = 0;
  return {
    ageOf(at) {
      const now = passed(clock);
      if (at !== last) seenSince = now;
      last = at;
      return at === undefined ? 0 : Math.max(clock.now() - at, now - seenSince, 0);
    },
  };
}

/** What is claimed and has not started runs for the inbox. Behind a handler that never ends it would wait unseen. */
function withPrefetched(stats: InboxStats, { jobs, oldestReceivedAt }: Prefetched): InboxStats {
  const oldest = Math.min(stats.oldestWaitingAt ?? Infinity, oldestReceivedAt ?? Infinity);
  return {
    ...stats,
    waiting: stats.waiting + jobs,
    oldestWaitingAt: oldest === Infinity ? undefined : oldest,
  };
}

const EMPTY_STATS: InboxStats = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  blockedLanes: 0,
  oldestWaitingAt: undefined,
};
