import { createCompactingMap } from "../collections/compacting-map.ts";
import { claimed, orphaned, settled, type Progress } from "../job-state.ts";
import { windowAfter, type LaneQueues } from "../lane-queues.ts";
import type { Claim, Settlement } from "../port/claims.ts";
import type { JobRow, MemoryStore } from "./memory-store.ts";

/** Claims of a memory inbox, from the claim until their lane is free. */
export interface MemoryClaims {
  begin(rows: readonly JobRow[], now: number): Claim;
  /** False for a revoked claim, which only frees its lane. */
  settle(settlement: Settlement, now: number): boolean;
  /** Revokes claims with a job that meets the condition, and removes their jobs. */
  revoke(condition: (row: JobRow) => boolean): readonly { readonly claim: Claim; readonly rows: readonly JobRow[] }[];
  /** The owner is gone: claimed jobs wait again. */
  orphan(now: number): void;
}

export function createMemoryClaims(store: MemoryStore, lanes: LaneQueues<JobRow>): MemoryClaims {
  const running = createCompactingMap<Claim, readonly JobRow[]>();
  /** Their handlers may still run: their lanes stay closed until they settle. */
  const revoked = new Map<Claim, readonly JobRow[]>();

  function setProgress(row: JobRow, progress: Progress): void {
    row.progress = progress;
    store.progressChanged(row);
  }

  return {
    begin(rows, now) {
      for (const row of rows) setProgress(row, claimed(row.progress, now));
      const claim = { jobs: rows.map(store.toClaimed) } as unknown as Claim; // a run has at least its head
      running.set(claim, rows);
      return claim;
    },
    settle({ claim, outcomes }, now) {
      const rows = running.get(claim);
      if (rows === undefined) {
        lanes.release(revoked.get(claim) ?? [], now);
        revoked.delete(claim);
        return false;
      }
      running.delete(claim);
      const lane = rows[0]?.queuedIn;
      if (lane !== undefined) lane.window = windowAfter(rows, outcomes);
      for (const [index, row] of rows.entries())
        setProgress(row, settled(row.progress, outcomes[index] ?? { to: "release" }, now));
      lanes.release(rows, now);
      return true;
    },
    revoke(condition) {
      const ended = [...running.entries()].filter(([, rows]) => rows.some(condition));
      for (const [claim, rows] of ended) {
        running.delete(claim);
        for (const row of rows) store.remove(row);
        revoked.set(claim, rows.map(asDone));
      }
      return ended.map(([claim, rows]) => ({ claim, rows }));
    },
    orphan(now) {
      const orphans = [...running.entries()];
      const all = orphans.flatMap(([, rows]) => rows);
      for (const [index, progress] of orphaned(all.map((row) => row.progress)).entries())
        setProgress(all[index] as JobRow, progress);
      for (const [claim, rows] of orphans) {
        running.delete(claim);
        lanes.release(rows, now);
      }
      for (const rows of revoked.values()) lanes.release(rows, now);
      revoked.clear();
    },
  };
}

function asDone(row: JobRow): JobRow {
  row.progress = { ...row.progress, state: "done" };
  return row;
}
