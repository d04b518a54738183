import {
  FRESH,
  windowStart,
  type ClaimedJob,
  type Delivery,
  type JobError,
  type LaneRow,
  type Progress,
  type SingleEvent,
} from "../../../../src/adapter.ts";
import { FRESH_ROW, type JobRow, type LoadedJob } from "../client/messages.ts";

/** An unsettled job in the memory of the process that works. */
export interface Row extends LaneRow {
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string;
  readonly replayOf: number | undefined;
  readonly receivedAt: number;
  held: Held | undefined;
}

/** What a fresh job came from, so that its claim need not read it back. */
export interface Held {
  readonly event: SingleEvent;
  readonly hold: Hold;
}

/** A delivery that is held for the jobs that came of it. */
export interface Hold {
  readonly delivery: Delivery;
  /** That need it. */
  jobs: number;
}

/** As it is in the file, in no lane yet. */
export function toRow(job: JobRow, held?: Held): Row {
  const { id, delivery, entry, consumer, lane, mergeKey, replayOf, receivedAt } = job;
  return {
    id,
    delivery,
    entry,
    consumer,
    lane: lane ?? undefined,
    mergeKey: mergeKey ?? undefined,
    replayOf: replayOf ?? undefined,
    receivedAt,
    held,
    progress: toProgress(job),
    next: undefined,
    place: undefined,
  };
}

/** The same of one that was loaded. */
export function fromLoaded(job: LoadedJob): Row {
  const [id, delivery, entry, consumer, lane, mergeKey, receivedAt, replayOf, progress] = job;
  const { attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error } = progress ?? FRESH_ROW;
  const origin = { id, delivery, entry, consumer, lane, mergeKey, receivedAt, replayOf };
  return toRow({ ...origin, attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error });
}

/** @param delivery where the row holds none */
export function toClaimed(row: Row, delivery: Delivery | undefined): ClaimedJob {
  const { id, entry, consumer, lane, mergeKey, progress, replayOf, held } = row;
  const whole = held?.hold.delivery ?? delivery;
  if (whole === undefined) throw new Error(`The delivery ${row.delivery} of job ${id} is not in the file.`);
  return {
    id: String(id),
    deliveryId: String(row.delivery),
    entry,
    consumer,
    lane,
    mergeKey,
    attempt: progress.attempts,
    firstAttemptAt: windowStart(row),
    deaths: progress.deaths,
    replayOf: replayOf === undefined ? undefined : String(replayOf),
    delivery: whole,
    event: held?.event,
  };
}

/** Most are fresh, and share one. */
function toProgress({ attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error }: JobRow): Progress {
  if (attempts === 0 && deaths === 0 && error === null && runAt === 0) return FRESH;
  return {
    ...FRESH,
    attempts,
    deaths,
    groupMax: groupMax ?? undefined,
    runAt,
    delayMs,
    firstAttemptAt: firstAttemptAt ?? undefined,
    error: error === null ? undefined : (JSON.parse(error) as JobError),
  };
}
