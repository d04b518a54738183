import type { ClaimedJob } from "../inbox/port.ts";
import { eventsOf, parseDocument, type Document } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/events.ts";

/** The event of a job: as the inbox held it, or read back from the kept bytes. */
export function eventAt({ event, delivery, entry }: Pick<ClaimedJob, "event" | "delivery" | "entry">): SingleEvent {
  return event ?? eventIn(parseDocument(delivery.body), entry);
}

/** The event at a place of a delivery; unknown where there is none. */
export function eventIn(document: Document, entry: number): SingleEvent {
  return eventsOf(document, entry, 1)[0] ?? { type: "unknown", reason: "shape" };
}
