import type { InboxStats } from "../../inbox/inbox-stats.ts";
import type { WorkingInbox } from "../../inbox/port.ts";
import type { Stats } from "../face.ts";
import { countOf, toProblem, type Problem } from "./problem.ts";

export interface WorkingState {
  /** Undefined where the inbox has no working half. */
  readonly inbox: WorkingInbox | undefined;
  readonly stats: InboxStats;
  readonly role: Stats["role"];
  readonly closing: boolean;
  readonly oldestWaitingMs: number;
  /** Handlers past their grace, and whether so many that nothing new is begun. */
  readonly stuck: number;
  readonly jammed: boolean;
  /** How often each name came that nobody handles. */
  readonly unhandledNames: ReadonlyMap<string, number>;
}

/** Whoever waits longer than this, milliseconds, waits too long. */
const LAG_MS = 5 * 60 * 1_000;

/** What keeps events from their handlers. */
export function workingProblems(state: WorkingState): readonly Problem[] {
  const { stats, stuck, jammed } = state;
  const problems: Problem[] = [...waitingProblems(state)];
  if (stuck > 0 && !jammed) problems.push(toProblem("handlers-stuck", { got: `Now: ${countOf(stuck, "handler")}.` }));
  if (stats.blockedLanes > 0)
    problems.push(toProblem("lanes-blocked", { got: `Now: ${countOf(stats.blockedLanes, "lane")}.` }));
  if (stats.dead > 0) problems.push(toProblem("dead-letters", { got: `Now: ${countOf(stats.dead, "job")}.` }));
  return [...problems, ...unhandledProblems(state)];
}

function waitingProblems({ inbox, stats, role, closing, oldestWaitingMs }: WorkingState): readonly Problem[] {
  const late = oldestWaitingMs > LAG_MS;
  const idle = role === "receiving" && !closing;
  // Where others can work on it too, they get their time before it is said that they do not.
  if (idle && stats.waiting + stats.unexpanded > 0 && (late || inbox?.capabilities.shared === false)) {
    const got = `Now: ${countOf(stats.waiting, "job")}, and ${stats.unexpanded} not expanded yet.`;
    return [toProblem("nobody-works", { got })];
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
