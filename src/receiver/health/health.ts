import type { Clock } from "../../clock.ts";
import type { InboxStats } from "../../inbox/port/inbox-stats.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { Logger } from "../../logger.ts";
import type { UnsubscribeRateLimit } from "../../ingest/unsubscribe-rate-limit.ts";
import type { KnownSubscriptions } from "./known-subscriptions.ts";
import type { Health } from "../receiver-types.ts";
import type { FreezeWarning } from "../serverless/freeze-warning.ts";
import type { Opening } from "../open-inbox.ts";
import { diskProblems } from "./disk-problems.ts";
import { countOf, toProblem, type Problem } from "./problem.ts";
import { whyNotReady, type ReceivingState } from "./receiving-problems.ts";
import { refusedProblems } from "./refusal-problems.ts";
import { subscriptionProblems } from "./subscription-problems.ts";
import { workingProblems } from "./working-problems.ts";
import type { ReceiverStates } from "../receiver-states.ts";
import type { RecentRefusals } from "./recent-refusals.ts";
import type { StorageDoubt } from "./storage-doubt.ts";
import type { Work } from "../worker.ts";

export interface HealthParts extends ReceivingState {
  readonly opening: Opening;
  /** Undefined where the inbox has no working half. */
  readonly working: WorkingInbox | undefined;
  readonly work: Pick<Work, "stuck" | "jammed">;
  readonly states: Pick<ReceiverStates, "current" | "isClosing">;
  readonly startFailure: () => { readonly error: unknown } | undefined;
  readonly brake: Pick<UnsubscribeRateLimit, "held">;
  readonly recent: RecentRefusals;
  readonly doubt: Pick<StorageDoubt, "stands">;
  readonly subscriptions: Pick<KnownSubscriptions, "list">;
  readonly unhandledNames: ReadonlyMap<string, number>;
  readonly freezing: Pick<FreezeWarning, "problems">;
  readonly clock: Clock;
  /** Throttled: a probe asks every few seconds. */
  readonly log: Logger;
}

/** What `receiver.health()` says. Costs nothing while nobody asks. */
export function createHealth(parts: HealthParts): () => Promise<Health> {
  const {
    opening,
    states,
    startFailure,
    working,
    work,
    brake,
    recent,
    doubt,
    subscriptions,
    freezing,
    unhandledNames,
    clock,
    log,
  } = parts;

  /** One turn is enough for an inbox in memory; a slower one is found open at the next call. */
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

  /** What the inbox knows, as far as it says so. */
  function ask(): { readonly stats: InboxStats; readonly problems: readonly Problem[] } {
    try {
      return { stats: working?.stats() ?? NOTHING, problems: subscriptionProblems(subscriptions.list()) };
    } catch (error) {
      log.error({ err: error, code: "inbox-stats-failed" }, "the inbox does not say how much it holds");
      return { stats: NOTHING, problems: [toProblem("inbox-silent")] };
    }
  }

  return async () => {
    await open();
    const notReady = whyNotReady(parts);
    const { stats, problems: told } = ask();
    const [stuck, jammed] = [work.stuck(), work.jammed()];
    const oldestWaitingMs = Math.max(clock.now() - (stats.oldestWaitingAt ?? clock.now()), 0);
    const freeDiskBytes = stats.disk?.freeBytes;
    const state = { stats, stuck, jammed, oldestWaitingMs, inbox: working, unhandledNames };
    return {
      live: !jammed && notReady.every(({ code }) => code !== "inbox-hopeless"),
      ready: notReady.length === 0 && !doubt.stands,
      problems: [
        ...(jammed ? [toProblem("handlers-jammed", { got: `Now stuck: ${countOf(stuck, "handler")}.` })] : []),
        ...notReady,
        ...refusedProblems(recent, new Set(notReady.map(({ code }) => code))),
        ...(brake.held ? [toProblem("brake-empty")] : []),
        ...told,
        ...diskProblems(stats.disk, clock.now()),
        ...freezing.problems(),
        ...workingProblems({ ...state, state: states.current, startFailure: startFailure() }),
      ],
      waiting: stats.waiting + stats.unexpanded,
      oldestWaitingMs,
      blockedLanes: stats.blockedLanes,
      dead: stats.dead,
      unhandled: stats.unhandled,
      stuck,
      ...(freeDiskBytes === undefined ? {} : { freeDiskBytes }),
    };
  };
}

const NOTHING: InboxStats = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  blockedLanes: 0,
  oldestWaitingAt: undefined,
};
