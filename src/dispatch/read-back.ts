import type { ClaimedJob } from "../inbox/port.ts";
import { eventsOf, parseDocument } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/events.ts";

/** The event of a job: as the inbox held it, or read back from the kept bytes. */
export function eventAt({ event, delivery, entry }: Pick<ClaimedJob, "event" | "delivery" | "entry">): SingleEvent {
  return event ?? eventsOf(parseDocument(delivery.body), entry, 1)[0] ?? { type: "unknown", reason: "shape" };
}
