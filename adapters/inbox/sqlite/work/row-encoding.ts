import {
  FRESH,
  noticeOf,
  windowStart,
  type ClaimedJob,
  type Delivery,
  type LaneRow,
  type NewEvent,
  type NewJob,
  type Progress,
  type SingleEvent,
} from "../../../../src/adapter.ts";
import { decodeHeaders } from "../store/delivery-record.ts";
import {
  STATE,
  toJobError,
  type DeliveryRow,
  type Extras,
  type LoadedJob,
  type NewJobs,
  type OtherRecord,
  type ProgressRecord,
} from "../thread/records.ts";
import type { Line } from "../jobs/job-lists.ts";

/** An open job in the memory of the process that works. */
export interface Row extends LaneRow {
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string;
  readonly replayOf: number | undefined;
  readonly receivedAt: number;
  /** The file says that it may be running. */
  isMarked: boolean;
  held: Held | undefined;
}

/** What a fresh job came from, so that its claim need not read it back. */
interface Held {
  readonly event: SingleEvent;
  readonly hold: Hold;
}

/** A delivery that is held for the jobs that came of it. */
export interface Hold {
  readonly delivery: Delivery;
  readonly bytes: number;
  /** That need it. */
  jobs: number;
}

/** A job that was just made, in no lane yet. */
export function toRow(
  { consumer = "", lane, mergeKey }: NewJob,
  origin: Pick<Row, "id" | "delivery" | "entry" | "account" | "receivedAt" | "isMarked" | "held">,
): Row {
  const { id, delivery, entry, account, receivedAt, isMarked, held } = origin;
  const unset = { replayOf: undefined, progress: FRESH, next: undefined, queuedIn: undefined };
  return { id, delivery, entry, consumer, account, lane, mergeKey, receivedAt, isMarked, held, ...unset };
}

/** One that was read from the file. */
export function fromLoaded(job: LoadedJob): Row {
  const [id, delivery, entry, consumer, lane, mergeKey, receivedAt, replayOf, progress, account] = job;
  return {
    id,
    delivery,
    entry,
    consumer,
    account: account ?? undefined,
    lane: lane ?? undefined,
    mergeKey: mergeKey ?? undefined,
    receivedAt,
    isMarked: false,
    held: undefined,
    replayOf: replayOf ?? undefined,
    // Most were never tried, and share one.
    progress: progress === null ? FRESH : toProgress(progress),
    next: undefined,
    queuedIn: undefined,
  };
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
    accountId: row.account,
    delivery: whole,
    event: held?.event,
  };
}

function toProgress({ groupMax, firstAttemptAt, error, ...rest }: ProgressRecord): Progress {
  return {
    ...FRESH,
    ...rest,
    groupMax: groupMax === null ? undefined : Math.max(1, groupMax), // of none a job would wait for ever
    firstAttemptAt: firstAttemptAt ?? undefined,
    error: toJobError(error),
  };
}

/** Whether a job may run as soon as it is made: asked once, when the commit that makes it is put together. */
export type Speculate = (job: NewJob, account?: number) => boolean;

/** The jobs of some events on their way into the file. What the events say is in the body. */
export function toNewJobs(events: readonly NewEvent[], speculate: Speculate): NewJobs {
  const lines: Line[] = [];
  const [unique, notices]: [Extras["unique"][number][], Extras["notices"][number][]] = [[], []];
  let states = "";
  for (const [index, { entry, event, unique: key, jobs }] of events.entries()) {
    const { type, accountId = 0, subscription = 0 } = event;
    if (key !== undefined) unique.push([key.key, key.content, index, lines.length, jobs.length]);
    const notice = noticeOf(event);
    if (notice !== undefined) notices.push([accountId, subscription, notice.resource, notice.error ?? null]);
    for (const job of jobs) {
      const { consumer, lane = null, mergeKey = null } = job;
      lines.push(consumer === undefined ? [entry, type] : [entry, type, consumer, lane, mergeKey]);
      states += job.state === "waiting" && speculate(job, event.accountId) ? STATE.fresh : STATE[job.state];
    }
  }
  const { accountId: account = null, subscription = null } = events[0]?.event ?? {};
  const extras = unique.length + notices.length === 0 ? null : JSON.stringify({ unique, notices } satisfies Extras);
  return { lines: JSON.stringify(lines), states, account, subscription, extras };
}

/** A stored delivery as it was. */
export function toDelivery({ receivedAt, sentAt, source, signedBy, signature, headers, body }: DeliveryRow): Delivery {
  return {
    receivedAt,
    sentAt,
    source: source ?? undefined,
    signedBy,
    signature,
    headers: decodeHeaders(headers, signature),
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
  };
}

/** What a settlement makes of a job that is not done. */
export function toOtherRecord(id: number, progress: Progress): OtherRecord {
  const { state, attempts, deaths, groupMax = null, firstAttemptAt = null, runAt, delayMs, settledAt = 0 } = progress;
  const error = progress.error === undefined ? null : JSON.stringify(progress.error);
  return state === "dead" || state === "unhandled"
    ? { id, to: state, attempts, error, settledAt }
    : { id, to: "waiting", attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error };
}
