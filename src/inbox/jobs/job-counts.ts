import { MOST_GROUPS, type JobGroup, type JobQuery, type JobState, type JobSummary } from "../port/jobs.ts";

/** Groups that are counted, the largest ones: the names of errors may all differ. */
export const MOST_COUNTED = 10_000;

/** A group as a table has it; "" for what is absent. */
export interface CountedGroup {
  readonly type: string;
  readonly consumer: string;
  readonly error: string;
  readonly count: number;
  readonly newestAt: number;
}

/** The states of a query that counts of dead and unhandled jobs by type, consumer and error answer; undefined for any other. */
export function countedStates(query: JobQuery): readonly JobState[] | undefined {
  const { states, accountId, subscription, receivedAfter, receivedBefore } = query;
  const others = [accountId, subscription, receivedAfter, receivedBefore].some((value) => value !== undefined);
  return others || states?.every((state) => state === "dead" || state === "unhandled") !== true ? undefined : states;
}

/**
 * The answer of `summary`: at most 100 groups of those that were counted.
 * @param rows the largest first
 */
export function toSummary(rows: readonly CountedGroup[]): JobSummary {
  const groups = rows.slice(0, MOST_GROUPS).map(toGroup);
  return { groups, count: rows.reduce((sum, { count }) => sum + count, 0), isCut: rows.length > MOST_GROUPS };
}

function toGroup({ type, consumer, error, count, newestAt }: CountedGroup): JobGroup {
  const names = { ...(consumer !== "" && { consumer }), type, ...(error !== "" && { error }) };
  return { ...names, count, newestAt: new Date(newestAt) };
}
