import type { Clock } from "../../clock.ts";
import type { Counters } from "../../stats.ts";

/** Deliveries that could not be stored although nothing had said so: whether the next one would fare better is not known. */
export interface StorageDoubt {
  /** One could not, or not in time. */
  failed(): void;
  /** Nothing was stored since; for a while only, because deliveries have to come to show that it is over. */
  readonly stands: boolean;
}

const WHILE_MS = 30_000;

/** @param counters of the receiver: what was stored is not counted twice */
export function createStorageDoubt(counters: Readonly<Pick<Counters, "stored">>, clock: Clock): StorageDoubt {
  let last: { readonly at: number; readonly stored: number } | undefined;
  return {
    failed() {
      last = { at: clock.now(), stored: counters.stored };
    },
    get stands() {
      if (last === undefined || last.stored !== counters.stored) return false;
      const age = clock.now() - last.at;
      return age >= 0 && age < WHILE_MS; // below 0 the wall clock was set back: nobody knows how long ago it was
    },
  };
}
