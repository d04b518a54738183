import type { HandledType } from "../../../../src/adapter.ts";
import { toText } from "../store/encode-batch.ts";

/** Types of events by consumer. */
export type Handled = Readonly<Record<string, readonly string[]>>;

/** A live worker, as the tables have it. */
export interface LiveWorker {
  readonly id: number;
  /** Null where it is not known. */
  readonly handled: Handled | null;
  /** It expands deliveries, and looks at unhandled jobs. */
  readonly expands: boolean;
}

/** The other live workers, as of the last look. While a new version is deployed, some have handlers that this one lacks. */
export interface OtherWorkers {
  /** @returns whether some came, went or stopped */
  see(workers: readonly LiveWorker[]): boolean;
  /** The newest one that handles all that this one does of some types, and more. */
  heirOf(types: readonly string[]): number | undefined;
  /** All consumers for which another one would make jobs of events of these types. */
  consumersOf(types: readonly string[]): readonly string[];
  /** The same as `heirOf`, of all types. */
  heirOfAll(): number | undefined;
  /** Another one expands, and lacks a consumer of this type that this one has: it would leave its unhandled jobs where they are. */
  isLeftTo(type: string): boolean;
  /** There are such types. */
  readonly hasOwn: boolean;
  /** No other has a handler that this one lacks. */
  readonly lacksNothing: boolean;
  /** There are others. */
  readonly areSome: boolean;
  /** No worker that came later was seen. */
  readonly lastSeen: number;
}

/** Consumers by type. */
type Consumers = ReadonlyMap<string, ReadonlySet<string>>;

const NONE: ReadonlySet<string> = new Set();

export function createOtherWorkers(me: Omit<LiveWorker, "expands">): OtherWorkers {
  const mine = toConsumers(me.handled);
  /** The newest first. */
  let others: readonly { readonly id: number; readonly consumers: Consumers; readonly isStopped: boolean }[] = [];
  /** Some other one has a consumer of them that this one lacks. */
  let lacked: readonly string[] = [];
  /** Types of which the one that expands lacks a consumer. */
  let own = NONE;
  let lastSeen = me.id;

  function heirOf(types: readonly string[]): number | undefined {
    if (me.handled === null || !types.some((type) => lacked.includes(type))) return undefined;
    return others.find(
      ({ consumers }) =>
        types.every((type) => hasAll(consumers.get(type), mine.get(type))) &&
        types.some((type) => !hasAll(mine.get(type), consumers.get(type))),
    )?.id;
  }

  function ownBeside(expander: LiveWorker | undefined): ReadonlySet<string> {
    // What is not known is taken for enough: two that look make jobs for their own consumers alone.
    if (expander === undefined || expander.handled === null) return NONE;
    const theirs = toConsumers(expander.handled);
    return new Set([...mine].flatMap(([type, of]) => (hasAll(theirs.get(type), of) ? [] : [type])));
  }

  return {
    see(workers) {
      const live = workers.filter(({ id }) => id !== me.id).toSorted((a, b) => b.id - a.id);
      own = ownBeside(live.find(({ expands }) => expands));
      const seen = live.map(({ id, handled }) => ({
        id,
        consumers: toConsumers(handled),
        isStopped: isNothing(handled),
      }));
      const isSame = (one: (typeof seen)[number], place: number): boolean =>
        one.id === others[place]?.id && one.isStopped === others[place].isStopped;
      if (seen.length === others.length && seen.every(isSame)) return false;
      others = seen;
      lastSeen = Math.max(lastSeen, live[0]?.id ?? 0);
      lacked = others.flatMap(({ consumers }) =>
        [...consumers].flatMap(([type, of]) => (hasAll(mine.get(type), of) ? [] : [type])),
      );
      return true;
    },
    heirOf,
    consumersOf: (types) =>
      others.flatMap(({ consumers }) => types.flatMap((type) => [...(consumers.get(type) ?? NONE)])),
    isLeftTo: (type) => own.has(type),
    get hasOwn() {
      return own.size > 0;
    },
    get lacksNothing() {
      return lacked.length === 0;
    },
    get areSome() {
      return others.length > 0;
    },
    heirOfAll: () => heirOf([...new Set([...mine.keys(), ...lacked])]),
    get lastSeen() {
      return lastSeen;
    },
  };
}

export function toHandled(types: readonly HandledType[] | undefined): Handled | null {
  if (types === undefined) return null;
  const consumers = Map.groupBy(types, ({ consumer }) => toText(consumer));
  return Object.fromEntries([...consumers].map(([consumer, of]) => [consumer, of.map(({ type }) => type)]));
}

/** Of a worker that stops: it takes nothing more. */
export function isNothing(handled: Handled | null): boolean {
  return handled !== null && Object.keys(handled).length === 0;
}

function toConsumers(handled: Handled | null): Consumers {
  const consumers = new Map<string, Set<string>>();
  for (const [consumer, types] of Object.entries(handled ?? {}))
    for (const type of types) consumers.set(type, (consumers.get(type) ?? new Set()).add(consumer));
  return consumers;
}

function hasAll(has: ReadonlySet<string> = NONE, wanted: ReadonlySet<string> = NONE): boolean {
  return [...wanted].every((one) => has.has(one));
}
