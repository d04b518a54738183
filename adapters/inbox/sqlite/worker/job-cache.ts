import type { Delivery } from "../../../../src/adapter.ts";
import type { Hold, Row } from "./row-encoding.ts";

/** The unsettled jobs of a file in memory, by id, and the bodies that they hold. */
export interface JobCache {
  get(id: number): Row | undefined;
  /** In the order of ids. */
  add(row: Row): void;
  /** It goes, and lets its body go. */
  delete(row: Row): void;
  /** In the order of ids, of a range of them of which `after` is not. */
  between(after: number, to: number): Iterable<Row>;
  /** Undefined where too much is held already. */
  hold(delivery: Delivery, events: number): Hold | undefined;
  /** It needs its body no more. */
  letGo(row: Row): void;
  readonly size: number;
}

/** Ids of one table. A table that grows is copied as a whole, and the loop stands still for it: at a million entries for too long. */
const TABLE_IDS = 4_096;

/** What deliveries may take that are held until all their jobs were claimed, bytes. */
export const HELD_BYTES = 32 * 1024 * 1024;
/** What one takes beside its body, and each of its events beside the bytes that it was parsed from: measured on Node 24. */
const DELIVERY_BYTES = 1_000;
const EVENT_BYTES = 300;

export function createJobCache(): JobCache {
  /** A table goes as a whole when its last row goes: it grows once, and never holds for long what has left. */
  const tables = new Map<number, Map<number, Row>>();
  let size = 0;
  let heldBytes = 0;

  function letGo(row: Row): void {
    const { held } = row;
    row.held = undefined;
    if (held === undefined) return;
    held.hold.jobs -= 1;
    if (held.hold.jobs === 0) heldBytes -= held.hold.bytes;
  }

  return {
    get: (id) => tables.get(toTable(id))?.get(id),
    add(row) {
      const { id, held } = row;
      if (held !== undefined) {
        if (held.hold.jobs === 0) heldBytes += held.hold.bytes;
        held.hold.jobs += 1;
      }
      let table = tables.get(toTable(id));
      if (table === undefined) {
        table = new Map();
        tables.set(toTable(id), table);
      }
      table.set(id, row);
      size += 1;
    },
    delete(row) {
      letGo(row);
      const table = tables.get(toTable(row.id));
      if (table?.delete(row.id) === true) size -= 1;
      if (table?.size === 0) tables.delete(toTable(row.id));
    },
    *between(after, to) {
      for (const [table, rows] of tables) {
        if (table < toTable(after) || table > toTable(to)) continue;
        for (const row of rows.values()) if (row.id > after && row.id <= to) yield row;
      }
    },
    hold(delivery, events) {
      // The body as bytes, and once more as what was parsed from it.
      const bytes = DELIVERY_BYTES + 2 * delivery.body.byteLength + events * EVENT_BYTES;
      return heldBytes + bytes <= HELD_BYTES ? { delivery, bytes, jobs: 0 } : undefined;
    },
    letGo,
    get size() {
      return size;
    },
  };
}

function toTable(id: number): number {
  return Math.floor(id / TABLE_IDS);
}
