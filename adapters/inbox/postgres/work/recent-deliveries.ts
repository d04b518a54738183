import type { Delivery, NewEvent } from "../../../../src/adapter.ts";
import type { Origin } from "./lanes.ts";

/** What was stored or read last: most jobs run soon after they were made, and those of one delivery close together. */
export interface RecentDeliveries {
  /** @param events where they are known */
  add(id: number, delivery: Delivery, events?: readonly NewEvent[]): void;
  find(delivery: number, entry: number): Origin | undefined;
}

/** Of bodies. */
const MOST_BYTES = 16 * 1024 * 1024;
/** What one takes beside its body. */
const OVERHEAD_BYTES = 1_000;

export function createRecentDeliveries(): RecentDeliveries {
  const known = new Map<number, { readonly delivery: Delivery; readonly events: readonly NewEvent[] }>();
  let bytes = 0;

  return {
    add(id, delivery, events = []) {
      if (known.has(id)) return;
      known.set(id, { delivery, events });
      bytes += sizeOf(delivery);
      for (const [oldest, { delivery: old }] of known) {
        if (bytes <= MOST_BYTES || known.size === 1) break;
        known.delete(oldest);
        bytes -= sizeOf(old);
      }
    },
    find(id, entry) {
      const found = known.get(id);
      if (found === undefined) return undefined;
      const first = found.events[0]?.entry ?? 0;
      return { delivery: found.delivery, event: found.events[entry - first]?.event };
    },
  };
}

const sizeOf = ({ body }: Delivery): number => body.byteLength + OVERHEAD_BYTES;
