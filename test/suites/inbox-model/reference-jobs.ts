import type { JobError, JobOutcome } from "../../../src/inbox/port/claims.ts";
import type { JobState } from "../../../src/inbox/port/jobs.ts";

/** A job as plainly as it can be said. */
export interface PlainJob {
  /** Undefined until the inbox has said it. */
  id: string | undefined;
  readonly deliveryId: string;
  readonly entry: number;
  readonly accountId: number;
  readonly receivedAt: number;
  readonly consumer: string | undefined;
  readonly lane: string | undefined;
  readonly mergeKey: string | undefined;
  /** The job it replays, and the one that was replayed first. None: it is no replay. */
  readonly replays: readonly string[];
  state: JobState;
  attempts: number;
  deaths: number;
  /** Of a suspect: in no greater group. */
  groupMax: number;
  firstAttemptAt: number | undefined;
  /** 0: at once. */
  runAt: number;
  delayMs: number;
  error: JobError | undefined;
  settledAt: number | undefined;
  /** When another one's first attempt was, that died of its window while this one waited. */
  inherited: number | undefined;
  /** What a claim changed: a release puts it back. */
  before: { readonly attempts: number; readonly firstAttemptAt: number | undefined };
  /** It was seen due: a wall clock that jumps back afterwards may undo that, or not. */
  wasDue: boolean;
}

/** What is given when a job is made. */
export type PlainJobFields = Pick<
  PlainJob,
  "deliveryId" | "entry" | "accountId" | "receivedAt" | "consumer" | "lane" | "mergeKey" | "replays" | "state"
>;

export function plainJob(fields: PlainJobFields): PlainJob {
  return {
    ...fields,
    id: undefined,
    attempts: 0,
    deaths: 0,
    groupMax: Infinity,
    firstAttemptAt: undefined,
    runAt: 0,
    delayMs: 0,
    error: undefined,
    settledAt: undefined,
    inherited: undefined,
    before: { attempts: 0, firstAttemptAt: undefined },
    wasDue: false,
  };
}

/** Its time has come; or it is further away than its own delay, because the wall clock jumped back. */
export function isPlainlyDue({ runAt, delayMs }: PlainJob, now: number): boolean {
  return runAt <= now || runAt - now > delayMs;
}

/** The process died over it twice. */
export function isPlainlySuspect({ deaths }: PlainJob): boolean {
  return deaths >= 2;
}

export function claimPlainly(job: PlainJob, now: number): void {
  // A time that is not yet here was noted while the clock was ahead.
  if (job.firstAttemptAt !== undefined) job.firstAttemptAt = Math.min(job.firstAttemptAt, now);
  job.before = { attempts: job.attempts, firstAttemptAt: job.firstAttemptAt };
  job.state = "running";
  if (job.deaths < 3) job.attempts += 1;
  job.firstAttemptAt ??= now;
}

export function settlePlainly(job: PlainJob, outcome: JobOutcome, now: number): void {
  job.wasDue = false;
  switch (outcome.to) {
    case "done":
      job.state = "done";
      return;
    case "dead":
      Object.assign(job, { state: "dead", deaths: 0, groupMax: Infinity, error: outcome.error, settledAt: now });
      return;
    case "unhandled":
      Object.assign(job, job.before, { state: "unhandled", settledAt: now });
      return;
    case "release":
      Object.assign(job, job.before, { state: "waiting", runAt: 0, delayMs: 0 });
      return;
    case "retry":
      if (!outcome.counted) job.attempts = job.before.attempts;
      Object.assign(job, { state: "waiting", deaths: 0, groupMax: Infinity, error: outcome.error });
      Object.assign(job, { runAt: outcome.at, delayMs: outcome.delayMs });
  }
}

/** The process that ran them is gone. */
export function orphanPlainly(jobs: readonly PlainJob[]): void {
  const group = jobs.filter(isPlainlySuspect);
  for (const job of group) {
    if (group.length === 1) job.deaths += 1;
    job.groupMax = Math.min(job.groupMax, Math.ceil(group.length / 2));
  }
  for (const job of jobs) {
    if (!group.includes(job)) job.deaths += 1;
    Object.assign(job, { state: "waiting", runAt: 0, delayMs: 0, wasDue: false });
  }
}
