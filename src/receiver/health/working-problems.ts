import type { InboxStats } from "../../inbox/port/inbox-stats.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { ReceiverState } from "../receiver-states.ts";
import { countOf, detailOf, toProblem, type Problem } from "./problem.ts";

export interface WorkingState {
  /** Undefined where the inbox has no working half. */
  readonly inbox: WorkingInbox | undefined;
  readonly stats: InboxStats;
  readonly state: ReceiverState;
  /** Why the last `start()` rejected. */
  readonly startFailure: { readonly error: unknown } | undefined;
  readonly oldestWaitingMs: number;
  /** Handlers past their grace, and whether so many that nothing new is begun. */
  readonly stuck: number;
  readonly jammed: boolean;
  /** How often each name came that nobody handles. */
  readonly unhandledNames: ReadonlyMap<string, number>;
}

/** Whoever waits longer than this, milliseconds, waits too long. */
const LAG_MS = 5 * 60 * 1_000;
/** A deploy's new worker needs no longer than this to begin, milliseconds. */
const TAKE_OVER_MS = 10_000;
/** In these this process does not work, and does not stand by either. */
const IDLE: ReadonlySet<ReceiverState> = new Set(["idle", "opening", "unavailable", "receiving"]);

/** What keeps events from their handlers. */
export function workingProblems(state: WorkingState): readonly Problem[] {
  const { stats, stuck, jammed } = state;
  const problems: Problem[] = [...startProblems(state), ...waitingProblems(state)];
  if (stuck > 0 && !jammed) problems.push(toProblem("handlers-stuck", { got: `Now: ${countOf(stuck, "handler")}.` }));
  if (stats.blockedLanes > 0)
    problems.push(toProblem("lanes-blocked", { got: `Now: ${countOf(stats.blockedLanes, "lane")}.` }));
  if (stats.dead > 0) problems.push(toProblem("dead-letters", { got: `Now: ${countOf(stats.dead, "job")}.` }));
  return [...problems, ...unhandledProblems(state)];
}

function startProblems({ state, startFailure }: WorkingState): readonly Problem[] {
  if (startFailure === undefined || !IDLE.has(state)) return [];
  return [toProblem("start-failed", detailOf(startFailure.error))];
}

function waitingProblems({ inbox, stats, state, oldestWaitingMs }: WorkingState): readonly Problem[] {
  const late = oldestWaitingMs > LAG_MS;
  if (IDLE.has(state) && stats.waiting + stats.unexpanded > 0) {
    // Where others can work on it too, they get their time before it is said that they do not.
    const graceMs = inbox?.capabilities.shared === false ? -1 : stats.isWorkedOn === false ? TAKE_OVER_MS : LAG_MS;
    const got = `Now: ${countOf(stats.waiting, "job")}, and ${stats.unexpanded} not expanded yet.`;
    if (oldestWaitingMs > graceMs) return [toProblem("nobody-works", { got })];
  }
  return late ? [toProblem("lag", { got: `It waits for ${Math.floor(oldestWaitingMs / 1_000)} s.` })] : [];
}

function unhandledProblems({ inbox, stats, unhandledNames }: WorkingState): readonly Problem[] {
  // A queue of the user's keeps none: what nobody handled is known by its name alone.
  if (inbox === undefined ? unhandledNames.size === 0 : stats.unhandled === 0) return [];
  const waiting = inbox === undefined ? "" : `Now waiting: ${countOf(stats.unhandled, "job")}. `;
  const names = [...unhandledNames].map(([name, count]) => `${name} (${count})`).join(", ");
  const seen = names === "" ? "" : `Since the start of this process: ${names}.`;
  return [toProblem("unhandled", { got: `${waiting}${seen}`.trimEnd() })];
}
