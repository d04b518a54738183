import type { Job } from "../inbox/port/job.ts";
import type { JobOutcome } from "../inbox/port/claims.ts";
import { startCall } from "./run-handler.ts";
import { toJobOf } from "./job-view.ts";
import type { DispatchDeps } from "./deps.ts";
import type { CallJobs } from "./reporter.ts";

type Parts = Pick<DispatchDeps, "onDead" | "log" | "clock"> & {
  /** The handler's; where that has no limit, a listener has {@link LISTENER_MS} all the same: the job waits for it. */
  readonly timeoutMs: number;
};

const LISTENER_MS = 30_000;

/**
 * Tells the listeners of each job of a call that is about to be marked dead, one after another. One that throws, or takes longer than
 * `timeoutMs`, does not keep the jobs from being marked.
 */
export async function callDeadLetterListeners(
  { jobs, events }: CallJobs,
  outcomes: readonly JobOutcome[],
  parts: Parts,
): Promise<void> {
  const late = new Set<Listener>();
  for (const [index, outcome] of outcomes.entries()) {
    const [job, event] = [jobs[index], events[index]];
    if (outcome.to !== "dead" || job === undefined || event === undefined) continue;
    const { error } = outcome;
    await announce(() => toJobOf(job, event, { state: "dead", error, settledAt: error.at }), late, parts);
  }
}

type Listener = DispatchDeps["onDead"][number];

/**
 * @param view of the job, another one for each listener
 * @param late listeners that are not waited for again: with a thousand jobs in a call that would be hours
 */
async function announce(view: () => Job, late: Set<Listener>, { onDead, log, clock, ...limits }: Parts): Promise<void> {
  const { id: jobId } = view();
  const timeoutMs = limits.timeoutMs === 0 ? LISTENER_MS : limits.timeoutMs;
  for (const listener of onDead) {
    await new Promise<void>((resolve) => {
      if (late.has(listener)) resolve();
      startCall(() => listener(view()), {
        controller: new AbortController(),
        timeoutMs,
        graceMs: 0,
        clock,
        ended: (result) => {
          if (!result.ok) log.error({ err: result.error, jobId }, "an onDead listener threw");
          resolve();
        },
        overdue: () => {
          late.add(listener);
          log.error({ code: "on-dead-late", jobId, timeoutMs }, "an onDead listener took too long");
          resolve();
        },
      });
    });
  }
}
