import type { ClaimedJob, JobOutcome } from "../inbox/port/claims.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { fixOfFrozenWrite } from "./frozen-write.ts";
import { toJobOf } from "./job-view.ts";
import type { DispatchDeps } from "./deps.ts";
import { isBroughtForward, toJobError, type CallResult } from "./retry-policy.ts";

/** The jobs of a call with their events, oldest first. */
export interface CallJobs {
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly SingleEvent[];
}

/** How a call ended, and what became of its jobs. */
export interface CallReport extends CallJobs {
  readonly result: CallResult;
  readonly outcomes: readonly JobOutcome[];
  readonly durationMs: number;
}

export function reportStart({ jobs, events }: CallJobs, { observers }: Pick<DispatchDeps, "observers">): void {
  eachOf(jobs, events, (job, event) => observers.notify("started", () => ({ job: toJobOf(job, event) })));
}

/** Counts, logs and tells what was settled: never what a lost claim tried to settle. */
export function reportEnd(
  { jobs, events, result, outcomes, durationMs }: CallReport,
  { observers, counters, clock, log }: Pick<DispatchDeps, "observers" | "counters" | "clock" | "log">,
): void {
  if (outcomes.every(({ to }) => to === "release")) return;
  const settledAt = clock.now();
  counters.merged += jobs.length - 1;
  if (result.ok) {
    counters.succeeded += jobs.length;
    eachOf(jobs, events, (job, event) =>
      observers.notify("succeeded", () => ({ job: toJobOf(job, event, { state: "done", settledAt }), durationMs })),
    );
    return;
  }
  const { error: thrown } = result;
  const error = toJobError(thrown, settledAt);
  // It asked for more time: nothing has failed.
  const asked = outcomes.every((outcome) => outcome.to === "retry" && !outcome.counted);
  const facts = {
    jobId: jobs.at(-1)?.id,
    event: events.at(-1)?.type,
    attempt: jobs[0]?.attempt,
    merged: jobs.length,
    outcome: outcomes[0]?.to,
  };
  if (asked && outcomes.some((outcome) => isBroughtForward(thrown, outcome))) {
    log.warn(
      { ...facts, code: "retry-later-beyond" },
      "a handler asked for a time beyond `retryForMs`: the job is tried when that ends",
    );
  } else if (asked) {
    log.debug(facts, "a handler asked to be tried again later");
  } else {
    counters.failed += jobs.length;
    const fix = fixOfFrozenWrite(thrown);
    log.warn({ ...facts, err: thrown, ...(fix !== undefined && { fix }) }, "a handler failed");
  }
  eachOf(jobs, events, (job, event, index) => {
    const outcome = outcomes[index];
    if (!asked) observers.notify("failed", () => ({ job: toJobOf(job, event, { error }), error: thrown, durationMs }));
    if (outcome?.to === "retry") {
      counters.retried += 1;
      observers.notify("retried", () => ({
        job: toJobOf(job, event, { state: "waiting", error, runAt: outcome.at }),
        error: thrown,
      }));
    } else if (outcome?.to === "dead") {
      counters.dead += 1;
      observers.notify("dead", () => ({
        job: toJobOf(job, event, { state: "dead", error, settledAt }),
        error: thrown,
      }));
    }
  });
}

function eachOf(
  jobs: readonly ClaimedJob[],
  events: readonly SingleEvent[],
  tell: (job: ClaimedJob, event: SingleEvent, index: number) => void,
): void {
  for (const [index, job] of jobs.entries()) {
    const event = events[index];
    if (event !== undefined) tell(job, event, index);
  }
}
