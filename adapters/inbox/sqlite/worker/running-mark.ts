import { createSpeculativeClaims, type SpeculativeClaims } from "./speculative-claims.ts";
import type { Mark } from "../thread/owner-epoch.ts";
import type { Row } from "./job-row.ts";

/** Says what may be running, for the file: jobs that were claimed, and those that are foreseen. */
export interface RunningMark extends Pick<SpeculativeClaims, "follow" | "foresee" | "made" | "take" | "isOpen"> {
  /** A commit is put together. */
  turn(): void;
  /** Its mark; undefined where it is as it was. @param rows claimed */
  mark(rows: readonly Row[], now: number): Mark | undefined;
  /** Its mark may not be in the file. */
  unmark(): void;
}

export function createRunningMark(): RunningMark {
  const foresight = createSpeculativeClaims();
  const { follow, foresee, made, take } = foresight;
  let foreseen: Iterable<Row> = [];
  let marked: string | undefined = "{}";
  return {
    follow,
    foresee,
    made,
    take,
    get isOpen() {
      return foresight.isOpen;
    },
    turn() {
      foreseen = foresight.turn();
    },
    mark(rows, now) {
      const all = [...rows, ...foreseen];
      const text = `{${all.map(({ id, progress }) => `"${id}":${progress.firstAttemptAt ?? now}`).join()}}`;
      if (text === marked && !foresight.makes) return undefined;
      marked = foresight.makes ? undefined : text; // the commit names by itself what it makes
      return { count: all.length, text, at: now };
    },
    unmark() {
      marked = undefined;
      foresight.clear();
    },
  };
}
