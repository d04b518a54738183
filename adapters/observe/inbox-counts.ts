import type { Health } from "../../src/index.ts";
import type { Internals } from "../../src/receiver/internals.ts";

const OPEN = new Set(["receiving", "starting", "standby", "working"]);

/** Health with its counts of the inbox; undefined where there is no inbox to count, it is not open, or it cannot count. */
export function countsOfInbox(
  health: Health,
  { workers, state }: Pick<Internals, "workers" | "state">,
): Health | undefined {
  const counts =
    workers !== undefined && OPEN.has(state()) && health.problems.every(({ code }) => code !== "inbox-stats-failed");
  return counts ? health : undefined;
}
