import type { DatabaseSync } from "node:sqlite";

/** How much there is in the file. */
export interface Counts {
  readonly unexpanded: number;
  /** Unsettled jobs that do not run. */
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  readonly unhandled: number;
  /** When the oldest unexpanded delivery was received. */
  readonly oldestUnexpandedAt: number | undefined;
  /** The same of the oldest unsettled job's. */
  readonly oldestUnsettledAt: number | undefined;
}

/** What is counted in the file itself: a `count(*)` would go through all there is. */
type Counted = "unexpanded" | "unsettled" | "running" | "dead" | "unhandled";

/** One row of counters, read and written once a transaction, and the ids that come from it. */
export interface Counters {
  begin(): void;
  /** Of deliveries and jobs alike, so that a delivery's id is below those of its jobs. */
  nextId(): number;
  lastId(): number;
  add(what: Counted, by: number): void;
  set(what: Counted, to: number): void;
  /** Whether there is any. */
  has(what: Counted): boolean;
  end(): void;
  /** As the last transaction left it, whoever's it was. */
  counts(): Counts;
}

export function createCounters(db: DatabaseSync): Counters {
  const read = db.prepare("SELECT last_id AS lastId, unexpanded, unsettled, running, dead, unhandled FROM counter");
  const write = db.prepare(
    "UPDATE counter SET last_id = ?, unexpanded = ?, unsettled = ?, running = ?, dead = ?, unhandled = ?",
  );
  const oldest = db.prepare(
    `SELECT (SELECT received_at FROM delivery WHERE cursor IS NOT NULL ORDER BY id LIMIT 1) AS unexpanded,
       (SELECT received_at FROM job ORDER BY id LIMIT 1) AS unsettled`,
  );
  const current = () => read.get() as unknown as Record<Counted | "lastId", number>;
  let row = current();
  let isChanged = false;

  return {
    begin() {
      row = current();
      isChanged = false;
    },
    nextId() {
      isChanged = true;
      row.lastId += 1;
      return row.lastId;
    },
    lastId: () => row.lastId,
    add(what, by) {
      if (by === 0) return;
      isChanged = true;
      row[what] += by;
    },
    set(what, to) {
      isChanged ||= row[what] !== to;
      row[what] = to;
    },
    has: (what) => row[what] > 0,
    end() {
      if (!isChanged) return;
      const { lastId, unexpanded, unsettled, running, dead, unhandled } = row;
      write.run(lastId, unexpanded, unsettled, running, dead, unhandled);
    },
    counts() {
      const { unexpanded, unsettled, running, dead, unhandled } = current();
      const at = oldest.get() as { readonly unexpanded: number | null; readonly unsettled: number | null };
      return {
        unexpanded,
        waiting: unsettled - running,
        running,
        dead,
        unhandled,
        oldestUnexpandedAt: at.unexpanded ?? undefined,
        oldestUnsettledAt: at.unsettled ?? undefined,
      };
    },
  };
}
