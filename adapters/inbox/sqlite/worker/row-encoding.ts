import { noticeOf, type Delivery, type NewEvent, type NewJob, type Progress } from "../../../../src/adapter.ts";
import type { DeliveryRow, EventRecord, JobRecord, DeliveryRecord, OtherRecord } from "../client/messages.ts";

/** Whether a job may run as soon as it is made: asked once, when the commit that makes it is put together. */
export type Foresee = (job: NewJob) => boolean;

/** A delivery on its way into the file, without its body. @param events where they are to become jobs at once */
export function toDeliveryRecord(
  delivery: Delivery,
  events: readonly NewEvent[] | undefined,
  { at, foresee }: { readonly at: number; readonly foresee: Foresee },
): DeliveryRecord {
  const { receivedAt, sentAt, source = null, signedBy, signature, headers } = delivery;
  const records = events === undefined ? null : events.map((event) => toEventRecord(event, foresee));
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
export function toEventRecord({ entry, event, unique, jobs }: NewEvent, foresee: Foresee): EventRecord {
  const { type, accountId = null, subscription = null } = event;
  const key = unique === undefined ? null : ([unique.key, unique.content] as const);
  const records = jobs.map((job) => toJobRecord(job, foresee));
  const notice = noticeOf(event);
  if (notice === undefined) return [entry, type, accountId, subscription, key, records];
  return [entry, type, accountId, subscription, key, records, [notice.resource, notice.error ?? null]];
}

function toJobRecord(job: NewJob, foresee: Foresee): JobRecord {
  const { state, consumer = null, lane = null, mergeKey = null } = job;
  return foresee(job) ? [state, consumer, lane, mergeKey, true] : [state, consumer, lane, mergeKey];
}

/** What a settlement makes of a job that is not done. */
export function toOtherRecord(id: number, progress: Progress): OtherRecord {
  const { state, attempts, deaths, groupMax = null, firstAttemptAt = null, runAt, delayMs, settledAt = 0 } = progress;
  const error = progress.error === undefined ? null : JSON.stringify(progress.error);
  return state === "dead" || state === "unhandled"
    ? { id, to: state, attempts, error, settledAt }
    : { id, to: "waiting", attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs, error };
}
