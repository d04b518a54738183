import type { Fault, FaultyVerb } from "./checked-inbox.ts";
import type { Dice } from "./random.ts";
import type { Trace } from "./trace.ts";

/** When the inbox fails, and how. */
export interface Faults {
  faultOf(verb: FaultyVerb): Fault;
  /** What a verb waits for that takes its time. */
  wait(ms: number): Promise<void>;
  /** Verbs that take their time now. */
  readonly slow: number;
  /** When it failed last, by the time that does not jump. */
  readonly failedAt: number;
  stop(): void;
}

export interface FaultsOptions {
  readonly dice: Dice;
  /** How likely a call of a verb fails. */
  readonly probability: number;
  readonly trace: Trace;
  readonly mono: () => number;
  readonly after: (ms: number, run: () => void) => void;
}

const SLOW_MS = [1, 300, 4_000, 9_000] as const;
/** These may fail when all is written. */
const AFTER: ReadonlySet<FaultyVerb> = new Set(["store", "expand", "settle"]);

export function createFaults({ dice, probability, trace, mono, after }: FaultsOptions): Faults {
  let stopped = false;
  let slow = 0;
  let failedAt = -Infinity;

  return {
    faultOf(verb) {
      if (stopped || !dice.chance(probability)) return undefined;
      const kind = dice.pick(AFTER.has(verb) ? (["before", "after", "slow"] as const) : (["before", "slow"] as const));
      trace.note(`the inbox: ${verb} fails (${kind})`);
      failedAt = mono();
      return kind === "slow" ? { slowMs: dice.pick(SLOW_MS) } : kind;
    },
    async wait(ms) {
      slow += 1;
      await new Promise<void>((resolve) => after(ms, resolve));
      slow -= 1;
      failedAt = mono();
    },
    get slow() {
      return slow;
    },
    get failedAt() {
      return failedAt;
    },
    stop() {
      stopped = true;
    },
  };
}
