import PQueue from "p-queue";
import type { Claim } from "../inbox/port/claims.ts";

/** What runs at once: p-queue is the one place with concurrency. */
export interface Slots {
  /** Begins as many claims as have a slot. */
  feed(): void;
  /** Slots that are taken. */
  taken(): number;
}

export interface SlotsOptions {
  readonly concurrency: number;
  /** Claims that wait to begin. */
  readonly waiting: () => number;
  /** The next one to begin. */
  readonly next: () => Claim | undefined;
  /** Begins it, and says once when its slot is free. */
  readonly start: (claim: Claim, free: () => void) => void;
  /** A slot is free and has nothing to begin. */
  readonly rested: () => void;
}

/**
 * A task of p-queue is a slot that begins one claim after another: a task for each claim would cost as much as its handler.
 * p-queue's `timeout` is never used: it frees a slot while the function still runs.
 */
export function createSlots({ concurrency, waiting, next, start, rested }: SlotsOptions): Slots {
  const queue = new PQueue({ concurrency });
  let taken = 0;

  function run(end: () => void): void {
    for (let claim = next(); claim !== undefined; claim = next()) {
      let starting = true;
      let free = false;
      start(claim, () => {
        free = true;
        if (!starting) run(end);
      });
      starting = false;
      if (!free) return;
    }
    taken -= 1;
    end();
    rested();
  }

  return {
    feed() {
      while (taken < concurrency && waiting() > 0) {
        taken += 1;
        void queue.add(() => new Promise<void>(run));
      }
    },
    taken: () => taken,
  };
}
