import type { DatabaseSync } from "node:sqlite";
import type { Pause } from "../../../../src/adapter.ts";
import { pausedBy } from "../../../../src/inbox/pauses.ts";
import { isKey, isNumber, rowsOf, toNumber } from "../schema/columns.ts";
import type { FileState } from "../thread/file-state.ts";
import type { JobLists } from "./job-lists.ts";

/** When the first open job was received that no pause holds. */
export type UnpausedFinder = (input: {
  readonly pauses: readonly Pause[];
  /** Jobs up to this id are known to be paused. */
  readonly after: number;
}) => UnpausedPart;

interface UnpausedPart {
  /** Undefined where this part has none. */
  readonly at: number | undefined;
  /** Where to look next: in front of it, behind this part, or from the first job on. */
  readonly after: number;
}

/** Jobs that are looked at: commits wait for it. */
const LOOKS = 10_000;

export function createUnpausedFinder(
  db: DatabaseSync,
  { state, lists }: { readonly state: FileState; readonly lists: JobLists },
): UnpausedFinder {
  const open = db.prepare(/* sql */ `SELECT id, ${toNumber("account")} AS account, consumer, received_at AS at FROM job
     WHERE id > ? AND ${isKey("id")} AND ${isNumber("received_at")} ORDER BY id LIMIT ${LOOKS}`);
  return ({ pauses, after }) => {
    const isPaused = pausedBy(pauses);
    let at = Infinity;
    // Fresh jobs have no row.
    for (const { id, isFresh } of state.mark.entries()) {
      const { account, line, receivedAt } = (isFresh ? lists.find(id) : undefined) ?? {};
      if (receivedAt !== undefined && !isPaused({ consumer: line?.[2], account: account ?? undefined }))
        at = Math.min(at, receivedAt);
    }
    let [looks, last] = [0, after];
    for (const row of rowsOf<{ id: number; account: number; consumer: string; at: number }>(open, after)) {
      if (!isPaused(row)) return { at: Math.min(at, row.at), after: last };
      [looks, last] = [looks + 1, row.id];
    }
    return { at: at === Infinity ? undefined : at, after: looks < LOOKS ? 0 : last };
  };
}
