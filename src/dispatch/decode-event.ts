import type { ClaimedJob } from "../inbox/port/claims.ts";
import { eventsOf, parseDocument, type Document } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { unknownEvent } from "../protocol/frozen.ts";

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
