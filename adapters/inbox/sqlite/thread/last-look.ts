/**
 * What a commit thread last saw of its file, in memory that both threads share: it is known at once, also while the thread's messages wait
 * because this thread is busy.
 */
export interface LastLook {
  /** The version of the tombstones, and how long ago it was the newest one in the file, milliseconds. Infinity before the first look. */
  read(): { readonly tombstones: number; readonly agoMs: number };
  /** @param at when it was looked, by `lookTime` */
  note(tombstones: number, at: bigint): void;
}

/** Nanoseconds, by a clock that all threads of a process share. */
export const lookTime = (): bigint => process.hrtime.bigint();

/** Room for the version and the time. */
export const makeLookMemory = (): SharedArrayBuffer => new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT);

export function createLastLook(memory: SharedArrayBuffer): LastLook {
  const cells = new BigInt64Array(memory);
  return {
    read() {
      // The time first, and written last: so the version is at least as new as the time says.
      const at = Atomics.load(cells, 1);
      const agoMs = at === 0n ? Infinity : Number(lookTime() - at) / 1e6;
      return { tombstones: Number(Atomics.load(cells, 0)), agoMs };
    },
    note(tombstones, at) {
      Atomics.store(cells, 0, BigInt(tombstones));
      Atomics.store(cells, 1, at);
    },
  };
}
