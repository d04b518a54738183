import { createForesight, type Foresight } from "./foresight.ts";
import type { Mark } from "./ownership.ts";
import type { Row } from "./row.ts";

/** Says what may be running, for the file: jobs that were claimed, and those that are foreseen. */
export interface Marker extends Pick<Foresight, "room" | "foresee" | "made" | "take" | "isOpen"> {
  /** The mark of the next commit; undefined where it is as it was when it was last asked. @param rows claimed */
  mark(rows: readonly Row[], now: number): Mark | undefined;
  /** The last mark may not be in the file. */
  unmark(): void;
}

export function createMarker(): Marker {
  const foresight = createForesight();
  let marked: string | undefined = "{}";
  return {
    room: foresight.room,
    foresee: foresight.foresee,
    made: foresight.made,
    take: foresight.take,
    get isOpen() {
      return foresight.isOpen;
    },
    mark(rows, now) {
      const { makes, rows: foreseen } = foresight.turn();
      const all = [...rows, ...foreseen];
      const text = `{${all.map(({ id, progress }) => `"${id}":${progress.firstAttemptAt ?? now}`).join()}}`;
      if (text === marked && !makes) return undefined;
      marked = makes ? undefined : text; // the commit names by itself what it makes
      return { count: all.length, text, at: now };
    },
    unmark() {
      marked = undefined;
      foresight.clear();
    },
  };
}
