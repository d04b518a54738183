/** How much one step reads: the heart beats on the same connection, and stands still until the bodies are there. */
export interface ReadLimit {
  /** Of bodies. The server gives so much of them; and one at least, until a step gave no answer. */
  readonly bytes: number;
  /** Of one body: a larger one is read beside the heart, by `large-bodies.ts`. */
  readonly largest: number;
  /** Deliveries that a step asks for: what is asked for in vain counts as running until the next one. A run of more jobs might never begin. */
  readonly most: number;
  /** Those of some runs that go into one step, the first ones: at least one. @param wanted deliveries that are to be read for a run */
  first<R>(runs: readonly R[], wanted: (run: R) => number): readonly R[];
  /** A step brought so many deliveries, of which others were left out or not. */
  read(count: number, isCut: boolean): void;
  /** So much of bodies was there soon, in a step or beside it: twice as much may be. */
  readSoon(bytes: number): void;
  /** A step that was to bring some gave no answer in time. @param count deliveries that it asked for */
  failed(count: number): void;
}

/** So much comes within a small part of the shortest lease. */
export const STEP_BYTES: number = 16 * 1024 * 1024;
/** Of what a step asked for that gave no answer, so small a part is tried next: each try stops the heart. */
const PART = 1 / 64;

export function createReadLimit(): ReadLimit {
  let [bytes, most] = [STEP_BYTES, Infinity];

  return {
    get bytes() {
      return bytes;
    },
    get largest() {
      return bytes < STEP_BYTES ? bytes : Infinity;
    },
    get most() {
      return most;
    },
    first(runs, wanted) {
      let sum = 0;
      const end = runs.findIndex((run, place) => {
        sum += wanted(run);
        return place > 0 && sum > most;
      });
      return end === -1 ? runs : runs.slice(0, end);
    },
    read(count, isCut) {
      most = isCut ? Math.max(count, 1) : 2 * most;
    },
    readSoon(brought) {
      bytes = Math.max(bytes, Math.min(2 * brought, STEP_BYTES));
    },
    failed(count) {
      bytes = Math.ceil(bytes * PART);
      most = Math.ceil(count * PART);
    },
  };
}
