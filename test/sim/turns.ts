import { turns as anyTurns } from "../support/event-loop.ts";
import type { Store } from "./stores.ts";

/** How the loop turns in a world, whatever its store waits for. */
export interface Pace {
  /** Lets the loop turn; what waits for a file ends within a turn, as it does in memory. */
  turns(count?: number): Promise<void>;
  /** Changes jobs by hand, while nothing else is written: the ledger could not tell what came first. */
  alone(change: () => Promise<void>): Promise<void>;
  /** What verbs wait for before they begin. */
  gate(): Promise<void> | undefined;
}

/** More turns than any chain of steps takes that waits for nothing but the loop. */
const ENOUGH = 10;

export function createPace(store: Pick<Store, "pending">): Pace {
  let gate: Promise<void> | undefined;

  async function turns(count = ENOUGH): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      await anyTurns(1);
      while (store.pending > 0) await anyTurns(1);
    }
  }

  return {
    turns,
    async alone(change) {
      let free = (): void => {};
      gate = new Promise((resolve) => (free = resolve));
      await turns(); // what is under way ends, and a file takes back what it marked for nobody
      await change();
      gate = undefined;
      free();
    },
    gate: () => gate,
  };
}
