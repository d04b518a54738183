import PQueue from "p-queue";
import type { Claim } from "../../inbox/port/claims.ts";
import { createTurn, nextTurn } from "../event-loop.ts";

/** The calls that run at once: each slot starts one claim after another. */
export interface Slots {
  /** Starts what waits, as far as slots are free. */
  fill(): void;
  readonly taken: number;
}

export interface SlotsOptions {
  /** Claims that may start. */
  readonly waiting: () => number;
  /** The next one of them. */
  readonly next: () => Claim | undefined;
  /** @param free the slot can be given to another claim */
  readonly start: (claim: Claim, free: () => void) => void;
  /** A claim could not be started. */
  readonly failed: (error: unknown) => void;
  /** A slot has nothing more to start. */
  readonly ended: () => void;
}

export function createSlots(concurrency: number, { waiting, next, start, failed, ended }: SlotsOptions): Slots {
  /** p-queue's `timeout` is never used: it frees a slot while the function still runs. */
  const slots = new PQueue({ concurrency });
  /** Of all slots together: handlers that compute would keep the process from storing, and from its heartbeat. */
  const turn = createTurn();
  let taken = 0;

  function run(end: () => void): void {
    try {
      while (waiting() > 0) {
        if (turn.isOver()) return void nextTurn().then(() => run(end));
        const claim = next();
        if (claim === undefined) break;
        let starting = true;
        let free = false;
        start(claim, () => {
          free = true;
          if (!starting) run(end);
        });
        starting = false;
        if (!free) return;
      }
    } catch (error) {
      failed(error);
    }
    taken -= 1;
    end();
    ended();
  }

  return {
    /** A task of p-queue is a slot: a task for each claim would cost as much as its handler. */
    fill() {
      while (taken < concurrency && waiting() > 0) {
        taken += 1;
        void slots.add(() => new Promise<void>(run));
      }
    },
    get taken() {
      return taken;
    },
  };
}
