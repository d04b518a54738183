import type { Clock, Timer } from "../../clock.ts";

/**
 * Isolates suspects, jobs over which the process died twice: only suspects run beside a suspect. Suspects and all others take turns
 * by time, half and half, so that neither starve. All by timers: a wall clock that jumps changes nothing.
 */
export interface PoisonIsolation {
  /** What to claim now: the others, a group of suspects, or none while the others end or a group runs. */
  turn(busy: boolean): Turn;
  /** Reports what a claim found. @returns true where `turn` now gives another answer */
  found(found: FoundInTurn): boolean;
  /** Claims of others may start. */
  readonly isOthersTurn: boolean;
  /** A suspect was claimed. @returns to be called when it is settled or stuck; a second call changes nothing */
  begun(): () => void;
  stop(): void;
  /** After a `stop`: turns are taken again. */
  start(): void;
}

type Turn = "others" | "suspects" | "none";

interface FoundInTurn {
  /** Suspects wait for their turn. */
  readonly suspects: boolean;
  /** Nothing else runs or is due. */
  readonly nothingElse: boolean;
}

export interface PoisonIsolationOptions {
  /** A handler runs past its grace: beside it no suspect is isolated, perhaps for ever. */
  readonly stuck: () => boolean;
  /** The others' turn is over: claims that have not started must be released. */
  readonly over: () => void;
  /** It is time to claim again. */
  readonly wake: () => void;
}

/** A suspect runs no longer than this. */
export const SUSPECT_MS = 300_000;
/** The length of a turn, and the time that calls of the others get to end after it. */
export const TURN_MS = 30_000;
const MOST_PATIENCE = SUSPECT_MS / TURN_MS;

export function createPoisonIsolation(clock: Clock, { stuck, over, wake }: PoisonIsolationOptions): PoisonIsolation {
  let phase: "others" | "ending" | "suspects" = "others";
  /** Suspects that run. */
  let running = 0;
  let timer: Timer | undefined;
  /** Turns that suspects have taken since the others' last one: the others get as many next. */
  let turnsTaken = 0;
  /** How many times {@link TURN_MS} the others' calls get to end: twice as many each time that they did not. */
  let patience = 1;
  /** They did not even in the longest time: some may never end, and what waits for them is to stand still no longer than a turn. */
  let areEndless = false;
  let isStopped = false;

  function schedule(turns: number, then: () => void): void {
    timer?.clear();
    timer = isStopped ? undefined : clock.setTimer(then, turns * TURN_MS);
  }

  function startOthers(turns: number): void {
    [phase, turnsTaken] = ["others", 0];
    schedule(turns, () => {
      if (stuck()) return startOthers(1);
      phase = "ending";
      schedule(areEndless ? 1 : patience, () => {
        // Waiting longer would hold up everything; never waiting longer than this would starve the suspects beside long calls.
        areEndless ||= patience === MOST_PATIENCE;
        patience = Math.min(2 * patience, MOST_PATIENCE);
        startOthers(patience);
        wake();
      });
      over();
      wake();
    });
  }

  function startSuspects(): void {
    phase = "suspects";
    [patience, areEndless, turnsTaken] = [1, false, 0];
    schedule(1, countTurn);
  }

  function countTurn(): void {
    turnsTaken += 1;
    schedule(1, countTurn);
  }

  function reset(): void {
    timer?.clear();
    timer = undefined;
    [phase, turnsTaken, patience, areEndless] = ["others", 0, 1, false];
  }

  return {
    turn(busy) {
      if (running > 0) return "none";
      if (phase !== "others" && (stuck() || turnsTaken > 0)) startOthers(Math.max(turnsTaken, 1));
      if (phase === "others") return "others";
      if (busy) return "none";
      if (phase === "ending") startSuspects();
      return "suspects";
    },
    found({ suspects, nothingElse }) {
      if (running > 0) return false;
      if (!suspects) {
        const hasChanged = phase !== "others";
        reset();
        return hasChanged;
      }
      if (timer === undefined) startOthers(1);
      if (phase !== "others" || !nothingElse || stuck()) return false;
      startSuspects();
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
      reset();
    },
    start() {
      isStopped = false;
    },
  };
}
