import {
  FRESH,
  noticeOf,
  windowStart,
  type ClaimedJob,
  type Delivery,
  type JobError,
  type LaneRow,
  type NewEvent,
  type NewJob,
  type Progress,
  type SingleEvent,
} from "../../../../src/adapter.ts";
import {
  FRESH_ROW,
  type DeliveryRecord,
  type DeliveryRow,
  type EventRecord,
  type JobRecord,
  type JobRow,
  type LoadedJob,
  type OtherRecord,
} from "../client/thread-protocol.ts";

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
    queuedIn: undefined,
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

/** Whether a job may run as soon as it is made: asked once, when the commit that makes it is put together. */
export type Speculate = (job: NewJob) => boolean;

/** A delivery on its way into the file, without its body. @param events where they are to become jobs at once */
export function toDeliveryRecord(
  delivery: Delivery,
  events: readonly NewEvent[] | undefined,
  { at, speculate }: { readonly at: number; readonly speculate: Speculate },
): DeliveryRecord {
  const { receivedAt, sentAt, source = null, signedBy, signature, headers } = delivery;
  const records = events === undefined ? null : events.map((event) => toEventRecord(event, speculate));
  return [receivedAt, sentAt, source, signedBy, signature, JSON.stringify(headers), at, records];
}

/** The way back. */
export function toDelivery({ receivedAt, sentAt, source, signedBy, signature, headers, body }: DeliveryRow): Delivery {
  return {
    receivedAt,
    sentAt,
    source: source ?? undefined,
    signedBy,
    signature,
    headers: JSON.parse(headers) as Record<string, string>,
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  };
}

/** An event on its way into the file: its content is in the body. */
export function toEventRecord({ entry, event, unique, jobs }: NewEvent, speculate: Speculate): EventRecord {
  const { type, accountId = null, subscription = null } = event;
  const key = unique === undefined ? null : ([unique.key, unique.content] as const);
  const records = jobs.map((job) => toJobRecord(job, speculate));
  const notice = noticeOf(event);
  if (notice === undefined) return [entry, type, accountId, subscription, key, records];
  return [entry, type, accountId, subscription, key, records, [notice.resource, notice.error ?? null]];
}

function toJobRecord(job: NewJob, speculate: Speculate): JobRecord {
  const { state, consumer = null, lane = null, mergeKey = null } = job;
  return speculate(job) ? [state, consumer, lane, mergeKey, true] : [state, consumer, lane, mergeKey];
}

/** What a settlement makes of a job that is not done. */
export function toOtherRecord(id: number, progress: Progress): OtherRecord {
  const { state, attempts, deaths, groupMax = null, firstAttemptAt = null, runAt, delayMs, settledAt = 0 } = progress;
  const error = progress.error === undefined ? null : JSON.stringify(progress.error);
  return state === "dead" || state === "unhandled"
    ? { id, to: state, attempts, error, settledAt }
    : { id, to: "waiting", attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error };
}
