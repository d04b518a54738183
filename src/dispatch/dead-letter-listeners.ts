import type { JobOutcome } from "../inbox/port/claims.ts";
import { catchRejection } from "../thrown.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import { createTurn, nextTurn } from "./event-loop.ts";
import type { CallJobs } from "./job-reporter.ts";
import { toJobOf } from "./calls/job-view.ts";

type ListenerDeps = Pick<DispatchDeps, "onDead" | "log" | "clock">;

interface ListenerLimits {
  /** The handler's. Where it is 0, listeners have 30 s all the same, and never more than 5 min: the jobs wait for them. */
  readonly timeoutMs: number;
}

const LISTENERS_MS = { unlimited: 30_000, most: 5 * 60_000 };

/** Calls: the jobs of all whose listeners run count a death if the process dies. */
const MANY = 256;

/** The listeners of `onDead`. */
export interface DeadLetterListeners {
  /** Resolves when they are waited for no more; never rejects. */
  call(call: CallJobs, outcomes: readonly JobOutcome[], limits: ListenerLimits): Promise<void>;
  /** Listeners of {@link MANY} calls or more run: further calls are to wait for theirs before others begin. */
  readonly areMany: boolean;
}

/** @param failed a job could not be read */
export function createDeadLetterListeners(deps: ListenerDeps, failed: (err: unknown) => void): DeadLetterListeners {
  let calls = 0;

  return {
    async call(call, outcomes, limits) {
      calls += 1;
      await callDeadLetterListeners(call, outcomes, { ...deps, ...limits, failed });
      calls -= 1;
    },
    get areMany() {
      return calls >= MANY;
    },
  };
}

/**
 * Calls the listeners of each job of a call that is about to be marked dead, one after another, for `timeoutMs` in all, at most 5 min: a lane waits for a
 * thousand jobs no longer than for one. After it the jobs are marked, and the listeners that are left are called and not waited for.
 */
async function callDeadLetterListeners(
  { jobs, events }: CallJobs,
  outcomes: readonly JobOutcome[],
  {
    onDead,
    log,
    clock,
    failed,
    ...limits
  }: ListenerDeps & ListenerLimits & { readonly failed: (err: unknown) => void },
): Promise<void> {
  if (onDead.length === 0) return;
  const timeoutMs = limits.timeoutMs === 0 ? LISTENERS_MS.unlimited : Math.min(limits.timeoutMs, LISTENERS_MS.most);
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  let jobId: string | undefined;
  const timer = clock.setTimer(() => {
    isOver = true;
    log.error(
      { code: "on-dead-late", jobId, timeoutMs },
      "listeners of onDead took too long: the jobs are marked dead",
    );
    resolve();
  }, timeoutMs);
  const turn = createTurn(); // those that compute would keep the timer from its time
  await Promise.race([callAll().catch(failed), over]);
  timer.clear();

  async function callAll(): Promise<void> {
    for (const [index, outcome] of outcomes.entries()) {
      const [job, event] = [jobs[index], events[index]];
      if (outcome.to !== "dead" || job === undefined || event === undefined) continue;
      const { error } = outcome;
      for (const listener of onDead) {
        if (turn.isOver()) await nextTurn();
        jobId = job.id;
        const called = call(() => listener(toJobOf(job, event, { state: "dead", error, settledAt: error.at })));
        if (!isOver) await Promise.race([called, over]);
      }
    }
  }

  async function call(listen: () => unknown): Promise<void> {
    const id = jobId;
    try {
      await listen();
    } catch (err) {
      catchRejection(err); // `throw fetch(url)` throws a promise
      log.error({ err, jobId: id }, "an onDead listener threw");
    }
  }
}
