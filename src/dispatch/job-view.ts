import type { Job } from "../inbox/port/job.ts";
import type { ClaimedJob } from "../inbox/port/claims.ts";
import type { StoredJob } from "../inbox/port/jobs.ts";
import { unknownEvent, type SingleEvent } from "../protocol/events.ts";
import { eventsOf, parseDocument, type Document } from "../protocol/envelope.ts";

/** A job as users see it. */
export function toJob(stored: StoredJob, event: SingleEvent): Job {
  const { consumer, lane, error, runAt, settledAt, replayOf } = stored;
  return {
    id: stored.id,
    state: stored.state,
    event,
    ...(consumer === undefined ? {} : { consumer }),
    ...(lane === undefined ? {} : { lane }),
    ...(stored.state === "done" ? {} : { attempts: stored.attempts }),
    ...(error === undefined ? {} : { lastError: { name: error.name, message: error.message, at: new Date(error.at) } }),
    receivedAt: new Date(stored.receivedAt),
    ...(stored.state !== "waiting" || runAt === undefined ? {} : { nextAttemptAt: new Date(runAt) }),
    ...(settledAt === undefined ? {} : { settledAt: new Date(settledAt) }),
    ...(replayOf === undefined ? {} : { replayOf }),
    deliveryId: stored.deliveryId,
  };
}

/** A claimed job as users see it: running, or what it has just become. */
export function toJobOf(
  claimed: ClaimedJob,
  event: SingleEvent,
  now?: Partial<Pick<StoredJob, "state" | "error" | "runAt" | "settledAt">>,
): Job {
  const { id, deliveryId, entry, consumer, lane, attempt, replayOf, delivery } = claimed;
  return toJob(
    {
      id,
      deliveryId,
      entry,
      state: "running",
      event,
      consumer,
      lane,
      attempts: attempt,
      error: undefined,
      receivedAt: delivery.receivedAt,
      runAt: undefined,
      settledAt: undefined,
      replayOf,
      ...now,
    },
    event,
  );
}

/** The event of a job: as the inbox held it, or read back from the stored bytes. */
export function eventAt({ event, delivery, entry }: Pick<ClaimedJob, "event" | "delivery" | "entry">): SingleEvent {
  return event ?? eventIn(documentIn(delivery.body), entry);
}

/** The event at a place of a delivery; unknown where there is none. */
export function eventIn(document: Document, entry: number): SingleEvent {
  return eventsOf(document, entry, 1)[0] ?? unknownEvent({ reason: "shape" });
}

/** What an inbox gives to the jobs of one delivery at a time is read once: they may be a thousand. */
const read = new WeakMap<Uint8Array, Document>();

function documentIn(body: Uint8Array): Document {
  let document = read.get(body);
  if (document === undefined) read.set(body, (document = parseDocument(body)));
  return document;
}
