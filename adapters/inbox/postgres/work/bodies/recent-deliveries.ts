import { createCompactingMap, type Delivery, type NewEvent } from "../../../../../src/adapter.ts";
import type { Origin } from "../lanes.ts";

/** What was stored or read last: most jobs run soon after they were made, and those of one delivery close together. */
export interface RecentDeliveries {
  /** @param events where they are known */
  add(id: number, delivery: Delivery, events?: readonly NewEvent[]): void;
  find(delivery: number, entry: number): Origin | undefined;
}

/** Of bodies. */
const MOST_BYTES = 16 * 1024 * 1024;
/** What is left of them when there are too many. */
const LEFT_BYTES = 0.9 * MOST_BYTES;
/** What one takes beside its body. */
const OVERHEAD_BYTES = 1_000;

export function createRecentDeliveries(): RecentDeliveries {
  const known = createCompactingMap<number, { readonly delivery: Delivery; readonly events: readonly NewEvent[] }>();
  let bytes = 0;

  return {
    add(id, delivery, events = []) {
      if (known.get(id) !== undefined) return;
      known.set(id, { delivery, events });
      bytes += sizeOf(delivery);
      // Many at once: each look for the oldest one passes over those that were deleted before.
      if (bytes <= MOST_BYTES || known.size === 1) return;
      const oldest: number[] = [];
      for (const [old, { delivery: one }] of known.entries()) {
        if (bytes <= LEFT_BYTES || old === id) break;
        oldest.push(old);
        bytes -= sizeOf(one);
      }
      for (const old of oldest) known.delete(old);
    },
    find(id, entry) {
      const found = known.get(id);
      if (found === undefined) return undefined;
      return { delivery: found.delivery, event: eventAt(found.events, entry)?.event };
    },
  };
}

/** In their order, of which some may be left out: duplicates. */
function eventAt(events: readonly NewEvent[], entry: number): NewEvent | undefined {
  let place = Math.min(entry - (events[0]?.entry ?? 0), events.length - 1);
  while ((events[place]?.entry ?? 0) > entry) place -= 1;
  return events[place]?.entry === entry ? events[place] : undefined;
}

const sizeOf = ({ body }: Delivery): number => body.byteLength + OVERHEAD_BYTES;
