import type { Clock, Timer } from "../../../../src/adapter.ts";

/** Waits for an answer that another process gives. */
export interface RequestWait {
  /** Nothing happened for too long, or it was ended. */
  readonly isOver: boolean;
  /** Something happened: its patience begins anew. */
  restart(): void;
  /** Until it is woken or over, or has waited for long enough to look again. */
  pause(): Promise<void>;
  /** For so long, or until it is over. */
  rest(ms: number): Promise<void>;
  wake(): void;
  /** For good. */
  end(): void;
}

/** Nobody answers for so long: the one who works is stalled. */
const PATIENCE_MS = 10_000;
/** Between two looks: at first, and at most. */
const LOOK_MS = { first: 10, most: 250 };

export function createRequestWait(clock: Clock): RequestWait {
  let isOver = false;
  let isEnded = false;
  let isWoken = false;
  let lookMs = LOOK_MS.first;
  /** What is being waited for, if something is. */
  let sleep: { end(): void; readonly isLight: boolean } | undefined;
  let patience = setPatience();

  function setPatience(): Timer {
    return clock.setTimer(() => {
      isOver = true;
      sleep?.end();
    }, PATIENCE_MS);
  }

  async function wait(ms: number, isLight: boolean): Promise<void> {
    if (isOver) return;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimer(resolve, ms);
      sleep = {
        isLight,
        end() {
          timer.clear();
          resolve();
        },
      };
    });
    sleep = undefined;
  }

  return {
    get isOver() {
      return isOver;
    },
    restart() {
      if (isEnded) return;
      isOver = false;
      lookMs = LOOK_MS.first;
      patience.clear();
      patience = setPatience();
    },
    async pause() {
      if (!isWoken) await wait(lookMs, true);
      isWoken = false;
      lookMs = Math.min(lookMs * 2, LOOK_MS.most);
    },
    rest: (ms) => wait(ms, false),
    wake() {
      isWoken = true;
      if (sleep?.isLight === true) sleep.end();
    },
    end() {
      isEnded = true;
      isOver = true;
      patience.clear();
      sleep?.end();
    },
  };
}
