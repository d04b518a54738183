import type { DatabaseSync } from "node:sqlite";
import type { BlockedQuery } from "../../../../src/adapter.ts";
import { isKey } from "../schema/columns.ts";
import type { FileJob, JobRow } from "./find-jobs.ts";

/** Heads of lanes that wait for their next attempt: those of a bounded part of the jobs that failed. */
export type BlockedFinder = (query: BlockedQuery) => BlockedPart;

interface BlockedPart {
  readonly heads: readonly FoundBlocked[];
  /** Where the part ends, unless it is the last one. */
  readonly end: BlockedQuery["after"];
}

interface FoundBlocked {
  readonly job: FileJob;
  readonly behind: number;
}

/** Jobs that failed that are looked at for heads of lanes: all but the first one of a run stand behind one. */
const BLOCKED_LOOKS = 2_000;
/** Waiting jobs that are looked at for those behind the heads of lanes: no index leads to a lane. */
const BEHIND_LOOKS = 10_000;

/** @param options `select`: what reads rows of the table `job`, up to its condition */
export function createBlockedFinder(
  db: DatabaseSync,
  { select, toJob }: { readonly select: string; readonly toJob: (row: JobRow) => FileJob },
): BlockedFinder {
  // A run leaves as many of one time as it had jobs.
  const failed = `SELECT id, run_at AS runAt FROM job WHERE run_at > 0 AND ${isKey("run_at")}`;
  const failedSame = db.prepare(`${failed} AND run_at = ? AND id > ? ORDER BY id LIMIT ?`);
  const failedLater = db.prepare(`${failed} AND run_at > ? ORDER BY run_at, id LIMIT ?`);
  const headsOf = db.prepare(
    `${select} WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS
       (SELECT 1 FROM job AS earlier WHERE earlier.run_at > 0 AND earlier.lane = job.lane AND earlier.id < job.id)
     ORDER BY run_at, id`,
  );
  const inLanes =
    db.prepare(/* sql */ `SELECT lane, count(*) AS count FROM (SELECT lane FROM job WHERE id >= ? ORDER BY id LIMIT ${BEHIND_LOOKS})
     WHERE lane IN (SELECT value FROM json_each(?)) GROUP BY lane`);
  return ({ now, after, limit }) => {
    const from = after?.runAt ?? now;
    const same = after === undefined ? [] : failedSame.all(from, Number(after.id), BLOCKED_LOOKS);
    const some = [...same, ...failedLater.all(from, BLOCKED_LOOKS - same.length)];
    const rows = headsOf.all(JSON.stringify(some.map(({ id }) => id))) as unknown as readonly JobRow[];
    const waiting = rows.map(toJob).filter((job) => job.state === "waiting");
    const heads = waiting.slice(0, limit);
    const first = heads.reduce((least, { id }) => Math.min(least, id), Infinity);
    const lanes = JSON.stringify(heads.flatMap(({ lane }) => lane ?? []));
    const counts = new Map(
      (first === Infinity ? [] : inLanes.all(first, lanes)).map(({ lane, count }) => [lane, Number(count)]),
    );
    // With itself, where it was among those that were looked at.
    const found = heads.map((job) => ({ job, behind: Math.max((counts.get(job.lane) ?? 0) - 1, 0) }));
    const last = some.length < BLOCKED_LOOKS ? undefined : some.at(-1);
    return { heads: found, end: last && { id: String(last["id"]), runAt: Number(last["runAt"]) } };
  };
}
