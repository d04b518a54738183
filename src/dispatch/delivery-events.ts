import { entryCount, eventsOf, type Document } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/event-types.ts";

/** Events made at once: a delivery may have a hundred thousand. */
const PART = 1_000;

/** With their places. */
export function* eventsInParts(document: Document): Generator<readonly [entry: number, event: SingleEvent]> {
  const count = entryCount(document);
  for (let first = 0; first < count; first += PART)
    for (const [place, event] of eventsOf(document, first, PART).entries()) yield [first + place, event];
}
