import type { Delivery } from "../../../../src/adapter.ts";
import { createOrderedPages, type OrderedPages } from "../../../../src/inbox/collections/ordered-pages.ts";
import type { Hold, Row } from "./row-encoding.ts";

/** The unsettled jobs of a file in memory, by id, and the bodies that they hold. */
export interface JobCache extends Pick<OrderedPages<Row>, "get" | "add" | "between" | "size"> {
  /** It goes, and lets its body go. */
  delete(row: Row): void;
  /** Undefined where too much is held already. */
  hold(delivery: Delivery, events: number): Hold | undefined;
  /** It needs its body no more. */
  letGo(row: Row): void;
}

/** What deliveries may take that are held until all their jobs were claimed, bytes. */
export const HELD_BYTES = 32 * 1024 * 1024;
/** What one takes beside its body, and each of its events beside the bytes that it was parsed from: measured on Node 24. */
const DELIVERY_BYTES = 1_000;
const EVENT_BYTES = 300;

export function createJobCache(): JobCache {
  const rows = createOrderedPages<Row>();
  let heldBytes = 0;

  function letGo(row: Row): void {
    const { held } = row;
    row.held = undefined;
    if (held === undefined) return;
    held.hold.jobs -= 1;
    if (held.hold.jobs === 0) heldBytes -= held.hold.bytes;
  }

  return {
    get: rows.get,
    add(row) {
      const { held } = row;
      if (held !== undefined) {
        if (held.hold.jobs === 0) heldBytes += held.hold.bytes;
        held.hold.jobs += 1;
      }
      rows.add(row);
    },
    delete(row) {
      letGo(row);
      rows.delete(row.id);
    },
    between: rows.between,
    hold(delivery, events) {
      // The body as bytes, and once more as what was parsed from it.
      const bytes = DELIVERY_BYTES + 2 * delivery.body.byteLength + events * EVENT_BYTES;
      return heldBytes + bytes <= HELD_BYTES ? { delivery, bytes, jobs: 0 } : undefined;
    },
    letGo,
    get size() {
      return rows.size;
    },
  };
}
