import type { Delivery, NewEvent, NewJob, Progress } from "../../../src/adapter.ts";
import type { DeliveryRow, EventRecord, JobRecord, KeepRecord, OtherRecord } from "./messages.ts";

/** A delivery on its way into the file, without its body. @param events where they are to become jobs at once */
export function toKeepRecord(delivery: Delivery, events: readonly NewEvent[] | undefined, at: number): KeepRecord {
  const { receivedAt, sentAt, source = null, signedBy, signature, headers } = delivery;
  const records = events === undefined ? null : events.map(toEventRecord);
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
export function toEventRecord({ entry, event, unique, jobs }: NewEvent): EventRecord {
  const { type, accountId = null, subscription = null } = event;
  const key = unique === undefined ? null : ([unique.key, unique.content] as const);
  return [entry, type, accountId, subscription, key, jobs.map(toJobRecord)];
}

function toJobRecord({ state, consumer, lane, mergeKey }: NewJob): JobRecord {
  return [state, consumer ?? null, lane ?? null, mergeKey ?? null];
}

/** What a settlement makes of a job that is not done. */
export function toOtherRecord(id: number, progress: Progress): OtherRecord {
  const { state, attempts, deaths, firstAttemptAt = null, runAt, delayMs, settledAt = 0 } = progress;
  const error = progress.error === undefined ? null : JSON.stringify(progress.error);
  return state === "dead" || state === "unhandled"
    ? { id, to: state, attempts, error, settledAt }
    : { id, to: "waiting", attempts, deaths, firstAttemptAt, runAt, delayMs, error };
}
