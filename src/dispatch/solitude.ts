import type { Clock } from "../clock.ts";

/** Sees to it that a job over which the process died twice has nothing beside it: the next death is its own. */
export interface Solitude {
  /** What to claim now: the others, one such suspect, or nothing while the others end or a suspect runs. */
  turn(now: { /** Anything runs, or is about to. */ readonly busy: boolean; readonly stuck: boolean }): Turn;
  /** What a claim found: whether suspects wait for their turn. @returns true where that is news */
  found(suspects: boolean): boolean;
  /** A suspect was claimed. @returns to be called when it is settled, or stuck; a second time changes nothing */
  begun(): () => void;
  stop(): void;
}

type Turn = "others" | "suspect" | "nobody";

/** A suspect runs no longer than this, and the others wait for it no longer. */
export const SUSPECT_MS = 300_000;

/** @param wake it is time to claim again */
export function createSolitude(clock: Clock, wake: () => void): Solitude {
  let waiting = false;
  let alone = false;
  /** Handlers that take longer than the others' patience would hold up everything: the others go on for as long as they waited. */
  let patient = true;
  let timer: { clear(): void } | undefined;

  function flipLater(): void {
    timer = clock.setTimer(() => {
      patient = !patient;
      timer = undefined;
      if (!patient) flipLater();
      wake();
    }, SUSPECT_MS);
  }

  function reset(): void {
    timer?.clear();
    timer = undefined;
    patient = true;
  }

  return {
    turn({ busy, stuck }) {
      if (alone) return "nobody";
      // Beside a stuck handler it would not be alone, and that may be for ever.
      if (!waiting || stuck) return "others";
      if (!busy) return "suspect";
      if (!patient) return "others";
      if (timer === undefined) flipLater();
      return "nobody";
    },
    found(suspects) {
      const news = suspects !== waiting;
      waiting = suspects;
      if (!suspects) reset();
      return news;
    },
    begun() {
      reset();
      alone = true;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        alone = false;
        wake();
      };
    },
    stop: reset,
  };
}
