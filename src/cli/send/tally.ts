import type { Failure } from "../answers/request-failure.ts";
import type { Outcome } from "./post.ts";

/** What became of many requests. */
export interface Tally {
  /** All that were begun and ended, also those that were given up. */
  readonly sent: number;
  /** By status. */
  readonly answers: ReadonlyMap<number, { readonly count: number; readonly location: string | undefined }>;
  /** By code. */
  readonly failures: ReadonlyMap<string, Failure & { readonly count: number }>;
  /** Those without an answer when the run was stopped. */
  readonly stopped: number;
  /** Of the answers, milliseconds, in order. */
  readonly latencies: readonly number[];
}

/** Counts outcomes as they come. */
export interface Counter {
  add(outcome: Outcome): void;
  /** How many were begun and ended so far, and how many of those not with 200. */
  so(): { readonly sent: number; readonly bad: number };
  total(): Tally;
}

export function createCounter(): Counter {
  const answers = new Map<number, { count: number; readonly location: string | undefined }>();
  const failures = new Map<string, Failure & { count: number }>();
  const latencies: number[] = [];
  let sent = 0;
  let stopped = 0;
  return {
    add(outcome) {
      sent += 1;
      if ("stopped" in outcome) {
        stopped += 1;
      } else if ("failure" in outcome) {
        const { failure } = outcome;
        const known = failures.get(failure.code);
        if (known === undefined) failures.set(failure.code, { ...failure, count: 1 });
        else known.count += 1;
      } else {
        const { status, location, ms } = outcome;
        latencies.push(ms);
        const known = answers.get(status);
        if (known === undefined) answers.set(status, { count: 1, location });
        else known.count += 1;
      }
    },
    so: () => ({ sent, bad: sent - (answers.get(200)?.count ?? 0) }),
    total: () => ({ sent, answers, failures, stopped, latencies: latencies.toSorted((a, b) => a - b) }),
  };
}
