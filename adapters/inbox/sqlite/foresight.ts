import type { NewJob } from "../../../src/adapter.ts";
import type { Row } from "./row.ts";

/**
 * Jobs that run as soon as the commit that makes them holds: they are marked in that very commit, where a claim would need another one.
 * What is foreseen and not claimed is marked in vain, and counts a death if the process dies then: so the next commits take it back.
 */
export interface Foresight {
  /** A claim found less than it had room for, by so many runs. */
  room(runs: number): void;
  /** Whether to mark a job that is about to be made. Nothing else is in its lane. */
  foresee(job: NewJob): boolean;
  /** It was made, and with it marked if it was foreseen. */
  made(job: NewJob, row: Row): void;
  /** Takes a run; true if all of it is marked. */
  take(run: readonly Row[]): boolean;
  /**
   * A commit is put together. Whoever claims has the time that it takes: then what came with the one before is foreseen no more.
   * @returns whether it makes what is foreseen, and what its mark has to name still
   */
  turn(): { readonly makes: boolean; readonly rows: Iterable<Row> };
  /** What was marked may not be. */
  clear(): void;
  /** Something is marked that nobody has claimed. */
  readonly isOpen: boolean;
}

export function createForesight(): Foresight {
  let room = 0;
  /** To be made by the next commit, with the lanes they take; and by the one that runs. */
  let asked = new Set<NewJob>();
  let lanes = new Set<string>();
  let making = asked;
  /** Made by the last commit, and by the one before. */
  let fresh = new Map<number, Row>();
  let older = fresh;

  return {
    room(runs) {
      room = runs;
    },
    foresee(job) {
      if (room <= 0 || job.state !== "waiting") return false;
      if (job.lane !== undefined && lanes.has(job.lane)) return false;
      if (job.lane !== undefined) lanes.add(job.lane);
      room -= 1;
      asked.add(job);
      return true;
    },
    made(job, row) {
      if (making.delete(job)) fresh.set(row.id, row);
    },
    take(run) {
      let isMarked = true;
      for (const { id } of run) isMarked = (fresh.delete(id) || older.delete(id)) && isMarked;
      return isMarked;
    },
    turn() {
      const makes = asked.size > 0;
      [making, asked, lanes] = [asked, new Set(), new Set()];
      [older, fresh] = [fresh, new Map()];
      return { makes, rows: older.values() };
    },
    clear() {
      [asked, making, lanes, fresh, older] = [new Set(), new Set(), new Set(), new Map(), new Map()];
    },
    get isOpen() {
      return fresh.size + older.size > 0;
    },
  };
}
