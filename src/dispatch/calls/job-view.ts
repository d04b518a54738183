import type { ClaimedJob } from "../../inbox/port/claims.ts";
import type { StoredDelivery } from "../../inbox/port/delivery.ts";
import type { Job, StoredJob } from "../../inbox/port/jobs.ts";
import { eventsOf, parseDocument, type Document } from "../../protocol/envelope.ts";
import { unknownEvent, type SingleEvent } from "../../protocol/event-types.ts";

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

/** A claimed job as users see it: running, or in the state that it just reached. */
export function toJobOf(
  { attempt, delivery, ...claimed }: ClaimedJob,
  event: SingleEvent,
  now?: Partial<Pick<StoredJob, "state" | "error" | "runAt" | "settledAt">>,
): Job {
  const { receivedAt } = delivery;
  const unset = { error: undefined, runAt: undefined, settledAt: undefined };
  return toJob({ ...claimed, ...unset, state: "running", attempts: attempt, receivedAt, ...now }, event);
}

/** The event of a job: as the inbox holds it, or decoded from the stored bytes. */
export function eventAt({ event, delivery, entry }: Pick<ClaimedJob, "event" | "delivery" | "entry">): SingleEvent {
  return event ?? eventIn(documentOf(delivery.body), entry);
}

/** Whose event it is: as the inbox says, by which it holds its lane, or, where it does not tell, as the event says. */
export function accountOf(job: Pick<ClaimedJob, "accountId" | "event" | "delivery" | "entry">): number | undefined {
  return "accountId" in job ? job.accountId : eventAt(job).accountId;
}

/** The event at an entry of a delivery; unknown where there is none. */
export function eventIn(document: Document, entry: number): SingleEvent {
  return eventsOf(document, entry, 1)[0] ?? unknownEvent({ reason: "shape" });
}

/** The event of a job whose delivery was read; unknown where its body is deleted. */
export function eventOf(delivery: StoredDelivery | undefined): (entry: number) => SingleEvent {
  if (delivery === undefined) return () => unknownEvent({ reason: "body-deleted" });
  const document = parseDocument(Buffer.from(delivery.bodyBase64, "base64"));
  return (entry) => eventIn(document, entry);
}

/** A body that an inbox gives to several jobs at a time is parsed once: it may be of a thousand jobs. */
const documents = new WeakMap<Uint8Array, Document>();

function documentOf(body: Uint8Array): Document {
  let document = documents.get(body);
  if (document === undefined) documents.set(body, (document = parseDocument(body)));
  return document;
}
