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

/** `hurried`: where many calls wait, or the receiver closes. */
const LISTENERS_MS = { unlimited: 30_000, most: 5 * 60_000, hurried: 1_000 };

/** Calls: the jobs of all whose listeners run count a death if the process dies. */
const MANY = 256;

/** The listeners of `onDead`. */
export interface DeadLetterListeners {
  /** Resolves when they are waited for no more; never rejects. */
  call(call: CallJobs, outcomes: readonly JobOutcome[], limits: ListenerLimits): Promise<void>;
  /** Listeners of {@link MANY} calls or more run: further calls are to wait for theirs before others begin. That is a second at most. */
  readonly areMany: boolean;
  /** From here on no call waits for longer than a second. */
  close(): void;
}

/** @param failed a job could not be read */
export function createDeadLetterListeners(deps: ListenerDeps, failed: (err: unknown) => void): DeadLetterListeners {
  const waits = new Set<Wait>();
  let isClosing = false;
  const areMany = (): boolean => waits.size >= MANY;

  function hurry(): void {
    for (const wait of waits) wait.hurry();
  }

  return {
    async call(call, outcomes, { timeoutMs }) {
      if (deps.onDead.length === 0) return;
      const wait = createWait(timeoutMs === 0 ? LISTENERS_MS.unlimited : Math.min(timeoutMs, LISTENERS_MS.most), deps);
      waits.add(wait);
      if (isClosing || areMany()) hurry();
      await Promise.race([callListeners(call, outcomes, { ...deps, wait }).catch(failed), wait.over]);
      wait.end();
      waits.delete(wait);
    },
    get areMany() {
      return areMany();
    },
    close() {
      isClosing = true;
      hurry();
    },
  };
}

/** How long a call waits for its listeners. */
interface Wait {
  /** Of the job whose listener runs: for the log. */
  jobId: string | undefined;
  readonly isOver: boolean;
  readonly over: Promise<void>;
  /** They have a second from here on, unless they have less. */
  hurry(): void;
  /** They have ended. */
  end(): void;
}

function createWait(limitMs: number, { clock, log }: Pick<ListenerDeps, "clock" | "log">): Wait {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  let timeoutMs = limitMs;
  let timer = clock.setTimer(giveUp, timeoutMs);

  function giveUp(): void {
    isOver = true;
    log.error(
      { code: "on-dead-late", jobId: wait.jobId, timeoutMs },
      "listeners of onDead took too long: the jobs are marked dead",
    );
    resolve();
  }

  const wait = {
    jobId: undefined,
    get isOver() {
      return isOver;
    },
    over,
    hurry() {
      if (isOver || timeoutMs <= LISTENERS_MS.hurried) return;
      timer.clear();
      timeoutMs = LISTENERS_MS.hurried;
      timer = clock.setTimer(giveUp, timeoutMs);
    },
    end: () => timer.clear(),
  };
  return wait;
}

/**
 * Calls the listeners of each job of a call that is about to be marked dead, one after another, until the wait is over: a lane waits for a
 * thousand jobs no longer than for one. After it the jobs are marked, and the listeners that are left are called and not waited for.
 */
async function callListeners(
  { jobs, events }: CallJobs,
  outcomes: readonly JobOutcome[],
  { onDead, log, wait }: Pick<ListenerDeps, "onDead" | "log"> & { readonly wait: Wait },
): Promise<void> {
  const turn = createTurn(); // those that compute would keep the timer from its time
  for (const [index, outcome] of outcomes.entries()) {
    const [job, event] = [jobs[index], events[index]];
    if (outcome.to !== "dead" || job === undefined || event === undefined) continue;
    const { error } = outcome;
    for (const listener of onDead) {
      if (turn.isOver()) await nextTurn();
      wait.jobId = job.id;
      const called = call(() => listener(toJobOf(job, event, { state: "dead", error, settledAt: error.at })));
      if (!wait.isOver) await Promise.race([called, wait.over]);
    }
  }

  async function call(listen: () => unknown): Promise<void> {
    const id = wait.jobId;
    try {
      await listen();
    } catch (err) {
      catchRejection(err); // `throw fetch(url)` throws a promise
      log.error({ err, jobId: id }, "an onDead listener threw");
    }
  }
}
