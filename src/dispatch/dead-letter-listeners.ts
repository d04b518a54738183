import type { JobOutcome } from "../inbox/port/claims.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import type { CallJobs } from "./job-reporter.ts";
import { toJobOf } from "./job-view.ts";
import { startCall } from "./run-handler.ts";

type ListenerDeps = Pick<DispatchDeps, "onDead" | "log" | "clock"> & {
  /** The handler's. Where it is 0, a listener is limited to {@link LISTENER_MS} all the same: the job waits for it. */
  readonly timeoutMs: number;
};

type Listener = DispatchDeps["onDead"][number];

const LISTENER_MS = 30_000;

/**
 * Calls the listeners of each job of a call that is about to be marked dead, one after another. One that throws, or takes longer than
 * `timeoutMs`, does not keep the jobs from being marked.
 */
export async function callDeadLetterListeners(
  { jobs, events }: CallJobs,
  outcomes: readonly JobOutcome[],
  deps: ListenerDeps,
): Promise<void> {
  // Not waited for again: with a thousand jobs in a call that would take hours.
  const late = new Set<Listener>();
  for (const [index, outcome] of outcomes.entries()) {
    const [job, event] = [jobs[index], events[index]];
    if (outcome.to !== "dead" || job === undefined || event === undefined) continue;
    const { error } = outcome;
    const toDeadJob = (): Job => toJobOf(job, event, { state: "dead", error, settledAt: error.at });
    for (const listener of deps.onDead) {
      const called = callListener(listener, toDeadJob(), { ...deps, late: () => late.add(listener) });
      if (!late.has(listener)) await called;
    }
  }
}

/** Resolves when the listener has ended, or is late. */
function callListener(
  listener: Listener,
  job: Job,
  { log, clock, late, ...limits }: ListenerDeps & { readonly late: () => void },
): Promise<void> {
  const timeoutMs = limits.timeoutMs === 0 ? LISTENER_MS : limits.timeoutMs;
  return new Promise((resolve) => {
    startCall(() => listener(job), {
      controller: new AbortController(),
      timeoutMs,
      graceMs: 0,
      clock,
      ended: (result) => {
        if (!result.ok) log.error({ err: result.error, jobId: job.id }, "an onDead listener threw");
        resolve();
      },
      overdue: () => {
        late();
        log.error({ code: "on-dead-late", jobId: job.id, timeoutMs }, "an onDead listener took too long");
        resolve();
      },
    });
  });
}
