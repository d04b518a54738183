/**
 * The jobs that may be running, as the file names them: what a process that dies leaves behind. A fresh one has no row in `job`: it was claimed
 * in the commit that made it, and is done as soon as the mark no longer names it.
 */
export interface RunningMark {
  /** @param isFresh it has no row */
  add(id: number, claimedAt: number, isFresh: boolean): void;
  /** Whether it was there, and had no row. */
  remove(id: number): "fresh" | "row" | undefined;
  has(id: number): boolean;
  /** In no order. */
  entries(): Iterable<Marked>;
  clear(): void;
  readonly size: number;
  /** Since it was decoded, or encoded last. */
  readonly isChanged: boolean;
  /** As it is to be stored. */
  encode(): Uint8Array;
}

interface Marked {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  readonly isFresh: boolean;
}

/** Pairs of 64-bit floats: the id, negative where the job is fresh, and the time of its claim. */
export function decodeMark(stored: Uint8Array): RunningMark {
  const numbers = numbersOf(stored);
  const marked = new Map<number, Marked>();
  for (let index = 0; index < numbers.length; index += 2) {
    const [id = 0, claimedAt = 0] = [numbers[index], numbers[index + 1]];
    if (!Number.isSafeInteger(id) || !Number.isFinite(claimedAt)) continue;
    marked.set(Math.abs(id), { id: Math.abs(id), claimedAt, isFresh: id < 0 });
  }
  let isChanged = false;
  return {
    add(id, claimedAt, isFresh) {
      isChanged = true;
      marked.set(id, { id, claimedAt, isFresh });
    },
    remove(id) {
      const found = marked.get(id);
      if (found === undefined) return undefined;
      isChanged = true;
      marked.delete(id);
      return found.isFresh ? "fresh" : "row";
    },
    has: (id) => marked.has(id),
    entries: () => marked.values(),
    clear() {
      isChanged = true;
      marked.clear();
    },
    get size() {
      return marked.size;
    },
    get isChanged() {
      return isChanged;
    },
    encode() {
      isChanged = false;
      const pairs = new Float64Array(marked.size * 2);
      let index = 0;
      for (const { id, claimedAt, isFresh } of marked.values()) {
        pairs[index] = isFresh ? -id : id;
        pairs[index + 1] = claimedAt;
        index += 2;
      }
      return new Uint8Array(pairs.buffer);
    },
  };
}

/** Of a damaged one as much as there is of whole pairs: what it no longer names did not run. */
function numbersOf(stored: Uint8Array): Float64Array {
  if (!(stored instanceof Uint8Array)) return new Float64Array();
  return new Float64Array(stored.slice(0, stored.byteLength - (stored.byteLength % 16)).buffer);
}
