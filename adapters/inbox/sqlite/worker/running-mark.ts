import type { NewJob } from "../../../../src/adapter.ts";
import type { Mark } from "../thread/owner-epoch.ts";
import type { Row } from "./row-encoding.ts";

/** The running mark of the file: claimed jobs, and speculative ones. */
export interface RunningMark extends Pick<SpeculativeClaims, "follow" | "speculate" | "add" | "take" | "isOpen"> {
  /** A commit is put together. */
  beginCommit(): void;
  /** Its mark; undefined where it is as it was. @param rows claimed */
  mark(rows: readonly Row[], now: number): Mark | undefined;
  /** Its mark may not be in the file. */
  unmark(): void;
}

export function createRunningMark(): RunningMark {
  const speculative = createSpeculativeClaims();
  const { follow, speculate, add, take } = speculative;
  let unclaimed: Iterable<Row> = [];
  let marked: string | undefined = "{}";
  return {
    follow,
    speculate,
    add,
    take,
    get isOpen() {
      return speculative.isOpen;
    },
    beginCommit() {
      unclaimed = speculative.beginCommit();
    },
    mark(rows, now) {
      const all = [...rows, ...unclaimed];
      const text = `{${all.map(({ id, progress }) => `"${id}":${progress.firstAttemptAt ?? now}`).join()}}`;
      if (text === marked && !speculative.makes) return undefined;
      marked = speculative.makes ? undefined : text; // the commit names by itself what it makes
      return { count: all.length, text, at: now };
    },
    unmark() {
      marked = undefined;
      speculative.clear();
    },
  };
}

/**
 * Speculative claims: jobs that run as soon as the commit that makes them succeeds are marked in that commit; a claim would need another.
 * A speculative job that is not claimed counts a death if the process dies: so the next commits take its mark back.
 */
interface SpeculativeClaims {
  /** A claim says how many runs more would be claimed now; undefined: it says nothing. */
  follow(ahead: (() => number) | undefined): void;
  /**
   * A commit is being assembled. Jobs of the last commit stay speculative until the next one.
   * @returns jobs that the mark must still name
   */
  beginCommit(): Iterable<Row>;
  /** Whether a job that this commit makes is marked with it: there is room, and its lane is empty. */
  speculate(job: NewJob): boolean;
  /** This commit makes speculative jobs. */
  readonly makes: boolean;
  /** It was made, and marked with it. */
  add(row: Row): void;
  /** Takes a run; true if all of it is marked. */
  take(run: readonly Row[]): boolean;
  /** What was marked, or is being marked, may not be. */
  clear(): void;
  /** Some marked jobs are not claimed. */
  readonly isOpen: boolean;
}

function createSpeculativeClaims(): SpeculativeClaims {
  let ahead: (() => number) | undefined;
  /** Of the commit that is put together, or runs; undefined until it is asked for. */
  let room: number | undefined;
  let makes = false;
  let isVoid = false;
  const lanes = new Set<string>();
  /** Made by the last commit, and by the one before. */
  let fresh = new Map<number, Row>();
  let older = fresh;

  return {
    follow(given) {
      ahead = given;
    },
    beginCommit() {
      [room, makes, isVoid] = [undefined, false, false];
      lanes.clear();
      [older, fresh] = [fresh, new Map()];
      return older.values();
    },
    speculate({ state, lane }) {
      room ??= (ahead?.() ?? 0) - older.size;
      if (room <= 0 || state !== "waiting" || (lane !== undefined && lanes.has(lane))) return false;
      if (lane !== undefined) lanes.add(lane);
      room -= 1;
      makes = true;
      return true;
    },
    get makes() {
      return makes;
    },
    add(row) {
      if (!isVoid) fresh.set(row.id, row);
    },
    take(run) {
      let isMarked = true;
      for (const { id } of run) isMarked = (fresh.delete(id) || older.delete(id)) && isMarked;
      return isMarked;
    },
    clear() {
      isVoid = true;
      [fresh, older] = [new Map(), new Map()];
    },
    get isOpen() {
      return fresh.size + older.size > 0;
    },
  };
}
