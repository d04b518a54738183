import type { Delivery } from "../../../../src/adapter.ts";

/** How many deliveries one step reads: the heart beats on the same connection, and stands still until their bodies are there. */
export interface ReadLimit {
  /** Those of some runs that go into one step, the first ones: at least one. @param wanted deliveries that are to be read for a run */
  first<R>(runs: readonly R[], wanted: (run: R) => number): readonly R[];
  /** A step brought these. */
  read(deliveries: Iterable<Delivery>): void;
  /** A step that was to bring so many gave no answer. */
  failed(wanted: number): void;
  /** Most jobs of a run: one that alone reads too much would never begin. */
  readonly merged: number;
}

/** Of bodies: so much comes within a small part of the shortest lease. */
const STEP_BYTES = 16 * 1024 * 1024;
/** While nothing is known of their bodies. */
const FIRST = 8;
/** Of a step that gave no answer, so small a part is tried next. */
const PART = 1 / 8;
/** A run that was too much is tried whole again after so long, where nothing was read meanwhile. */
const FORGET_MS = 60_000;

/** @param now milliseconds by a monotonic clock */
export function createReadLimit(now: () => number = () => performance.now()): ReadLimit {
  let [most, merged, cutAt] = [FIRST, Infinity, -Infinity];

  return {
    first(runs, wanted) {
      let sum = 0;
      const end = runs.findIndex((run, place) => {
        sum += wanted(run);
        return place > 0 && sum > most;
      });
      return end === -1 ? runs : runs.slice(0, end);
    },
    read(deliveries) {
      let [count, bytes] = [0, 0];
      for (const { body } of deliveries) [count, bytes] = [count + 1, bytes + body.byteLength];
      if (count === 0) {
        if (now() - cutAt >= FORGET_MS) merged = Infinity;
        return;
      }
      const fitting = Math.max(Math.floor((count * STEP_BYTES) / Math.max(bytes, 1)), 1);
      most = Math.min(fitting, 2 * most);
      if (bytes > STEP_BYTES) [merged, cutAt] = [Math.min(fitting, merged), now()];
      else merged *= 2;
    },
    failed(wanted) {
      if (wanted < 2) return;
      const fewer = Math.max(Math.floor(wanted * PART), 1);
      [most, merged, cutAt] = [Math.min(most, fewer), Math.min(merged, fewer), now()];
    },
    get merged() {
      return merged;
    },
  };
}
