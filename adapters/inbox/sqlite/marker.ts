import type { Mark } from "./ownership.ts";
import type { Row } from "./row.ts";

/** Says what may be running, for the file. */
export interface Marker {
  /** Undefined where it is as it was when it was last asked. */
  mark(rows: readonly Row[]): Mark | undefined;
  /** The last mark may not be in the file. */
  unmark(): void;
}

export function createMarker(): Marker {
  let marked: string | undefined = "{}";
  return {
    mark(rows) {
      const text = `{${rows.map(({ id, progress }) => `"${id}":${progress.firstAttemptAt ?? 0}`).join()}}`;
      if (text === marked) return undefined;
      marked = text;
      return { count: rows.length, text };
    },
    unmark() {
      marked = undefined;
    },
  };
}
