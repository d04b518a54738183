import type { ArrivalKind } from "./arrivals.ts";
import { DEEDS, type Deed } from "./handler-behaviours.ts";
import type { Limits } from "./ledger.ts";
import type { Dice } from "./random.ts";

/** What a world is like: each has only some of all troubles, so that each meets the others in many combinations. */
export interface Temper {
  readonly limits: Limits;
  readonly steps: number;
  readonly deeds: Readonly<Record<Deed, number>>;
  readonly moves: Readonly<Record<Move, number>>;
  readonly arrivals: Readonly<Record<ArrivalKind, number>>;
  /** How likely a call of an inbox's verb fails. */
  readonly faults: number;
}

/** What can happen next. */
export type Move =
  | "arrive"
  | "again"
  | "pass"
  | "jump"
  | "die"
  | "die-often"
  | "deploy"
  | "by-hand"
  | "pause"
  | "resume"
  | "idle"
  | "turn";

export function makeTemper(dice: Dice): Temper {
  const concurrency = dice.pick([1, 2, 3, 3, 5, 10]);
  const some = <T extends string>(
    weights: Readonly<Record<T, number>>,
    always: readonly NoInfer<T>[],
  ): Record<T, number> =>
    Object.fromEntries(
      Object.entries<number>(weights).map(([name, weight]) => [
        name,
        always.includes(name as T) || dice.chance(0.6) ? weight : 0,
      ]),
    ) as Record<T, number>;
  return {
    limits: {
      fairness: dice.pick(["account", "account", "none"]),
      concurrency,
      maxStuck: dice.pick([0, 1, 2, concurrency]),
      graceMs: dice.pick([0, 1_000, 30_000]),
    },
    steps: dice.int(10, 60),
    deeds: some(DEEDS, ["ok", "soon"]),
    moves: some(MOVES, ["arrive", "pass"]),
    arrivals: { ...some(ARRIVALS, ["changes"]), big: dice.chance(0.06) ? 1 : 0 },
    faults: dice.chance(0.4) ? dice.pick([0.02, 0.1]) : 0,
  };
}

const MOVES: Readonly<Record<Move, number>> = {
  arrive: 10,
  again: 2,
  pass: 8,
  jump: 1,
  die: 1,
  "die-often": 0.3,
  deploy: 1,
  "by-hand": 1,
  pause: 1.5,
  resume: 2,
  idle: 0.5,
  turn: 2,
};

const ARRIVALS: Readonly<Record<ArrivalKind, number>> = {
  changes: 12,
  signal: 2,
  tracking: 3,
  booking: 2,
  lifecycle: 1,
  unknown: 1,
  many: 1,
  big: 0,
};
