import type { Clock, Timer } from "../clock.ts";

/**
 * Sees to it that jobs over which the process died twice have nothing but their like beside them, and that neither they nor the others starve:
 * they take turns by time, half and half. All by timers: a wall clock that jumps changes nothing.
 */
export interface PoisonIsolation {
  /** What to claim now: the others, a group of suspects, or nothing while the others end or a group runs. */
  turn(busy: boolean): Turn;
  /** What a claim found. @returns true where something else may be claimed than it was told */
  found(found: FoundInTurn): boolean;
  /** What is claimed of the others may begin. */
  readonly isOthersTurn: boolean;
  /** A suspect was claimed. @returns to be called when it is settled, or stuck; a second time changes nothing */
  begun(): () => void;
  stop(): void;
  /** After a `stop`: turns are taken again. */
  start(): void;
}

type Turn = "others" | "suspects" | "nobody";

interface FoundInTurn {
  /** Suspects wait for their turn. */
  readonly suspects: boolean;
  /** Nothing else runs or is due. */
  readonly nothingElse: boolean;
}

export interface PoisonIsolationOptions {
  /** A handler runs past its grace: beside it no suspect is alone, and that may be for ever. */
  readonly stuck: () => boolean;
  /** The turn of the others is over: what has not begun is to be given back. */
  readonly over: () => void;
  /** It is time to claim again. */
  readonly wake: () => void;
}

/** A suspect runs no longer than this. */
export const SUSPECT_MS = 300_000;
/** The length of a turn, and for how long calls of the others may go on after theirs. */
export const TURN_MS = 30_000;
const MOST_PATIENCE = SUSPECT_MS / TURN_MS;

export function createPoisonIsolation(clock: Clock, { stuck, over, wake }: PoisonIsolationOptions): PoisonIsolation {
  let phase: "others" | "ending" | "suspects" = "others";
  /** Suspects that run. */
  let running = 0;
  let timer: Timer | undefined;
  /** Of the suspects' turn: what it took beyond the last group goes to the others as well. */
  let turnsTaken = 0;
  /** How many times {@link TURN_MS} the others' calls may take to end: more each time that they did not. */
  let patience = 1;
  let isStopped = false;

  function after(turns: number, then: () => void): void {
    timer?.clear();
    timer = isStopped ? undefined : clock.setTimer(then, turns * TURN_MS);
  }

  function goOn(turns: number): void {
    [phase, turnsTaken] = ["others", 0];
    after(turns, () => {
      if (stuck()) return goOn(1);
      phase = "ending";
      after(patience, () => {
        // Calls that take so long would hold up everything; but were they never waited for longer, suspects would starve beside them.
        patience = Math.min(2 * patience, MOST_PATIENCE);
        goOn(patience);
        wake();
      });
      over();
      wake();
    });
  }

  function begin(): void {
    phase = "suspects";
    [patience, turnsTaken] = [1, 0];
    after(1, tick);
  }

  function tick(): void {
    turnsTaken += 1;
    after(1, tick);
  }

  function rest(): void {
    timer?.clear();
    timer = undefined;
    [phase, turnsTaken, patience] = ["others", 0, 1];
  }

  return {
    turn(busy) {
      if (running > 0) return "nobody";
      if (phase !== "others" && (stuck() || turnsTaken > 0)) goOn(Math.max(turnsTaken, 1));
      if (phase === "others") return "others";
      if (busy) return "nobody";
      if (phase === "ending") begin();
      return "suspects";
    },
    found({ suspects, nothingElse }) {
      if (running > 0) return false;
      if (!suspects) {
        const isNews = phase !== "others";
        rest();
        return isNews;
      }
      if (timer === undefined) goOn(1);
      if (phase !== "others" || !nothingElse || stuck()) return false;
      begin();
      return true;
    },
    begun() {
      running += 1;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        running -= 1;
        if (running === 0) wake();
      };
    },
    get isOthersTurn() {
      return phase === "others";
    },
    stop() {
      isStopped = true;
      rest();
    },
    start() {
      isStopped = false;
    },
  };
}
