import type { NewJob } from "../../../../src/adapter.ts";
import type { Row } from "./row-encoding.ts";

/**
 * Speculative claims: a job that will be claimed as soon as the commit that makes it holds is marked in that commit. A claim would need
 * another. One that nobody claims counts a death if the process dies: so the next commits take its mark back.
 *
 *     commit n makes and marks it      commit n + 1 leaves it         commit n + 2 takes the mark back
 *     ------- fresh --------------->  ------- older --------------->  ------- taken ------------------> unmarked
 *     claimed meanwhile: it begins at once, without a commit          if that commit fails: doubtful,
 *                                                                     and taken back by the next one
 */
export interface SpeculativeClaims {
  /** A claim says how many runs more would be claimed now; undefined: it says nothing. */
  follow(ahead: (() => number) | undefined): void;
  /** Whether a job of the commit that is put together is marked with it: there is room, and no other one of its lane is. */
  speculate(job: NewJob): boolean;
  /** Whether a job of the lane is marked with that commit. */
  marks(lane: string | undefined): boolean;
  /** It was made, and marked with it; or its claim could not begin. */
  add(row: Row): void;
  /** A commit is put together. Jobs of the last one stay marked until the next one. @returns those that it takes back */
  takeBackUnclaimed(): readonly Row[];
  /** It may not have taken them back, or it may: none of them begins without a commit, and the next one takes them back once more. */
  failed(): void;
  /** The file was read anew: it marks none. */
  clear(): void;
  /** Whether the file may have it in its mark alone, without a row. */
  mayMark(row: Row): boolean;
  /** Some marked jobs are not claimed. */
  readonly isOpen: boolean;
}

export function createSpeculativeClaims(): SpeculativeClaims {
  let ahead: (() => number) | undefined;
  /** Of the commit that is put together, or runs; undefined until it is asked for. */
  let room: number | undefined;
  const lanes = new Set<string>();
  /** Made by the last commit, and by the one before; and taken back by the one that runs. */
  let [fresh, older, taken]: [Row[], Row[], Row[]] = [[], [], []];
  /** Of commits that failed: whether the file still marks them is not known. */
  let doubtful: Row[] = [];

  return {
    follow(given) {
      ahead = given;
    },
    speculate({ state, lane }) {
      room ??= (ahead?.() ?? 0) - fresh.filter(isOpen).length - older.filter(isOpen).length;
      if (room <= 0 || state !== "waiting" || (lane !== undefined && lanes.has(lane))) return false;
      if (lane !== undefined) lanes.add(lane);
      room -= 1;
      return true;
    },
    marks: (lane) => lane !== undefined && lanes.has(lane),
    add: (row) => void fresh.push(row),
    takeBackUnclaimed() {
      room = undefined;
      lanes.clear();
      taken = [...older.filter(isOpen), ...doubtful.filter(isDoubtful)];
      for (const row of taken) row.isMarked = false;
      [older, fresh] = [fresh, []];
      doubtful = doubtful.filter(isAboutToBegin);
      return taken;
    },
    failed() {
      doubtful.push(...taken);
      taken = [];
    },
    clear() {
      for (const row of [...fresh, ...older]) row.isMarked = false;
      doubtful = [...doubtful, ...taken].filter(isAboutToBegin);
      [fresh, older, taken] = [[], [], []];
    },
    mayMark: (row) => row.isMarked || taken.includes(row) || doubtful.includes(row),
    get isOpen() {
      return fresh.some(isOpen) || older.some(isOpen) || doubtful.some(isDoubtful);
    },
  };
}

/** It is marked, and nobody has claimed it. */
function isOpen({ isMarked, progress }: Row): boolean {
  return isMarked && progress.state === "waiting";
}

/** It waits, and the file may mark it. */
function isDoubtful({ isMarked, progress }: Row): boolean {
  return !isMarked && progress.state === "waiting";
}

/** It is being claimed, and waits again if that fails. */
function isAboutToBegin({ isMarked, progress }: Row): boolean {
  return !isMarked && progress.state === "running";
}
