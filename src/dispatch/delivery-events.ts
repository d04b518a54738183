import { entryCount, eventsOf, type Document } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import { nextTurn } from "./event-loop.ts";

/** Events made at once: a delivery may have a hundred thousand. */
const PART = 1_000;

/** With their places. */
export function* eventsInParts(document: Document): Generator<readonly [entry: number, event: SingleEvent]> {
  const count = entryCount(document);
  for (let first = 0; first < count; first += PART)
    for (const [place, event] of eventsOf(document, first, PART).entries()) yield [first + place, event];
}

/** The place of the last event that anything is to be called for. */
export async function lastHandled(document: Document, isHandled: (type: string) => boolean): Promise<number> {
  for (let end = entryCount(document); end > 0; end -= PART) {
    const first = Math.max(end - PART, 0);
    const place = eventsOf(document, first, end - first).findLastIndex(({ type }) => isHandled(type));
    if (place !== -1) return first + place;
    await nextTurn();
  }
  return -1;
}
