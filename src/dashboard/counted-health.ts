import type { Health } from "../index.ts";
import { toProblem, type ProblemCode } from "../receiver/health/problem-catalog.ts";

/** What is known of an inbox by one who only looks at it. */
export interface InboxCounts {
  readonly isWorkedOn: boolean;
  readonly waiting: number;
  readonly unexpanded: number;
  readonly blockedLanes: number;
  readonly dead: number;
  readonly unhandled: number;
  readonly oldestWaitingAt: Date | undefined;
}

/** Health by counts alone: what a process knows of itself, such as its refusals, is not seen from outside. */
export function toCountedHealth(counts: InboxCounts, now: number): Health {
  const { isWorkedOn, waiting, unexpanded, blockedLanes, dead, unhandled, oldestWaitingAt } = counts;
  const waits = waiting + unexpanded;
  const found: readonly (readonly [code: ProblemCode, count: number, noun: string])[] = [
    ["no-worker", isWorkedOn ? 0 : waits, "waiting"],
    ["lanes-blocked", blockedLanes, "blocked"],
    ["dead-letters", dead, "dead"],
    ["unhandled", unhandled, "unhandled"],
  ];
  return {
    live: true,
    ready: true,
    problems: found
      .filter(([, count]) => count > 0)
      .map(([code, count, noun]) => toProblem(code, { detail: `Now ${noun}: ${count.toLocaleString("en")}.` })),
    waiting: waits,
    oldestWaitingMs: Math.max(now - (oldestWaitingAt?.getTime() ?? now), 0),
    blockedLanes,
    dead,
    unhandled,
    stuck: 0,
  };
}

/** Where the inbox cannot be read at all. */
export function unreadableHealth(): Health {
  const none = { waiting: 0, oldestWaitingMs: 0, blockedLanes: 0, dead: 0, unhandled: 0, stuck: 0 };
  return { live: true, ready: false, problems: [toProblem("inbox-stats-failed")], ...none };
}
