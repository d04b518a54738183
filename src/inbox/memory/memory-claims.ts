import { createCompactingMap } from "../collections/compacting-map.ts";
import { type LaneQueues, windowAfter } from "../lane-queues.ts";
import type { Row, MemoryStore } from "./memory-store.ts";
import type { Claim, Settlement } from "../port/claims.ts";
import { claimed, orphaned, settled, type Progress } from "../job-state.ts";

/** Claims on a memory inbox, from the moment they begin to the moment their lanes are free. */
export interface MemoryClaims {
  begin(rows: readonly Row[], now: number): Claim;
  /** False for a claim that was lost: it only frees the lane. */
  settle(settlement: Settlement, now: number): boolean;
  /** Takes away those with a row that meets the condition, and their rows with them. */
  lose(condition: (row: Row) => boolean): readonly { readonly claim: Claim; readonly rows: readonly Row[] }[];
  /** The process died: what was claimed waits again. */
  orphan(now: number): void;
}

export function createMemoryClaims(shelf: MemoryStore, book: LaneQueues<Row>): MemoryClaims {
  const running = createCompactingMap<Claim, readonly Row[]>();
  /** Their handlers may run on: their lanes wait for them. */
  const lost = new Map<Claim, readonly Row[]>();

  function become(row: Row, progress: Progress): void {
    row.progress = progress;
    shelf.moved(row);
  }

  return {
    begin(rows, now) {
      for (const row of rows) become(row, claimed(row.progress, now));
      const claim = { jobs: rows.map(shelf.toClaimed) } as unknown as Claim; // a run has at least its head
      running.set(claim, rows);
      return claim;
    },
    settle({ claim, outcomes }, now) {
      const rows = running.get(claim);
      if (rows === undefined) {
        book.give(lost.get(claim) ?? [], now);
        lost.delete(claim);
        return false;
      }
      running.delete(claim);
      const lane = rows[0]?.place;
      if (lane !== undefined) lane.window = windowAfter(rows, outcomes);
      for (const [index, row] of rows.entries())
        become(row, settled(row.progress, outcomes[index] ?? { to: "release" }, now));
      book.give(rows, now);
      return true;
    },
    lose(condition) {
      const ended = [...running.entries()].filter(([, rows]) => rows.some(condition));
      for (const [claim, rows] of ended) {
        running.delete(claim);
        for (const row of rows) shelf.remove(row);
        lost.set(claim, rows.map(gone));
      }
      return ended.map(([claim, rows]) => ({ claim, rows }));
    },
    orphan(now) {
      const orphans = [...running.entries()];
      const all = orphans.flatMap(([, rows]) => rows);
      for (const [index, progress] of orphaned(all.map((row) => row.progress)).entries())
        become(all[index] as Row, progress);
      for (const [claim, rows] of orphans) {
        running.delete(claim);
        book.give(rows, now);
      }
      for (const rows of lost.values()) book.give(rows, now);
      lost.clear();
    },
  };
}

function gone(row: Row): Row {
  row.progress = { ...row.progress, state: "done" };
  return row;
}
