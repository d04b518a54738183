import type { Delivery, NewEvent, Progress } from "../../../src/adapter.ts";
import type { DeliveryRecord, DeliveryRow, EventRecord, SettleRecord } from "./messages.ts";

/** A delivery on its way into the file, without its body. */
export function toDeliveryRecord(delivery: Delivery): DeliveryRecord {
  const { receivedAt, sentAt, source, signedBy, signature, headers } = delivery;
  return { receivedAt, sentAt, source, signedBy, signature, headers: JSON.stringify(headers) };
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
  return { entry, type: event.type, accountId: event.accountId, subscription: event.subscription, unique, jobs };
}

/** What a settlement makes of a job; undefined where nothing of it changes. */
export function toSettleRecord(id: number, progress: Progress, isRelease: boolean): SettleRecord | undefined {
  const { state, attempts, deaths, firstAttemptAt = null, runAt, delayMs, settledAt = 0 } = progress;
  const error = progress.error === undefined ? null : JSON.stringify(progress.error);
  switch (state) {
    case "done":
      return { id, to: "done" };
    case "dead":
    case "unhandled":
      return { id, to: state, attempts, error, settledAt };
    default:
      return isRelease ? undefined : { id, to: "waiting", attempts, deaths, firstAttemptAt, runAt, delayMs, error };
  }
}
