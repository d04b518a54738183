import type { Lanes, Row } from "../work/lanes.ts";
import type { ShardMemory } from "../work/shard-memory.ts";
import type { WorkSteps } from "../work/work-steps.ts";

/**
 * Shards that this worker gives up. One of which nothing runs goes at once. Of one of which something runs nothing further is claimed for a
 * while, so that it goes when that has ended; if it has not by then, the shard is worked on as before.
 */
export interface HandOver {
  /** Some of these, or all: first those of which nothing runs. */
  leave(shards: readonly number[]): void;
  /** To a worker that has handlers which this one lacks. Until it can go, it is tried again. */
  pass(shard: number, heir: number): void;
  /** @param owned this worker's, by the tables */
  goOn(owned: readonly number[]): void;
  /** It is another worker's by now, which may give it back at once. */
  forget(shard: number): void;
  has(shard: number): boolean;
  /** For each shard of which something runs, how long it has, milliseconds; Infinity where that is not waited for. */
  ages(): ReadonlyMap<number, number>;
  /** Those of which nothing runs, each with its heir; undefined: any. */
  readonly emptied: ReadonlyMap<number, number | undefined>;
  /** All but those that are gone. */
  readonly shards: readonly number[];
}

export interface HandOverDeps {
  readonly memory: Pick<ShardMemory, "unload">;
  readonly lanes: Pick<Lanes, "leave" | "taken">;
  readonly steps: Pick<WorkSteps, "beat">;
  readonly now: () => number;
}

interface Leaving {
  /** Worker that is to have it; undefined: any. */
  readonly heir: number | undefined;
  /** So long nothing of it is claimed, milliseconds. */
  readonly waitMs: number;
  /** By the monotonic clock. */
  readonly until: number;
}

/** What runs is waited for as long as it has run already: it may end by then, and its lanes have been closed for as long. At least so long. */
const LEAST_MS = 500;
/** What has run for longer, or was waited for in vain, may be stuck: while it runs, its shard is worked on. */
const MOST_MS = 30_000;
/** After it was waited for in vain, so many times as long no shard is waited for again. */
const REST = 4;

export function createHandOver({ memory, lanes, steps, now }: HandOverDeps): HandOver {
  const leaving = new Map<number, Leaving>();
  /** Those to be passed on, with their heirs. */
  const wanted = new Map<number, number>();
  /** By the monotonic clock: when each row was first seen to run. */
  let since: ReadonlyMap<Row, number> = new Map();
  const inVain = new WeakSet<Row>();
  const restUntil = new Map<number, number>();
  let emptied: ReadonlyMap<number, number | undefined> = new Map();

  function ages(): Map<number, number> {
    const at = performance.now();
    const found = new Map<number, number>();
    for (const row of lanes.taken()) {
      const age = at - (since.get(row) ?? at);
      const isLong = age > MOST_MS || inVain.has(row) || at < (restUntil.get(row.shard) ?? 0);
      found.set(row.shard, Math.max(found.get(row.shard) ?? 0, isLong ? Infinity : age));
    }
    return found;
  }

  function give(shard: number, heir: number | undefined, age = 0): void {
    if (age === Infinity) return;
    const waitMs = Math.max(LEAST_MS, age);
    leaving.set(shard, { waitMs, until: performance.now() + waitMs, ...leaving.get(shard), heir });
  }

  function go(): void {
    for (const shard of leaving.keys()) memory.unload(shard);
    const busy = leaving.size > 0 ? lanes.leave(new Set(leaving.keys()), now()) : new Set<number>();
    emptied = new Map([...leaving].flatMap(([shard, { heir }]) => (busy.has(shard) ? [] : [[shard, heir] as const])));
  }

  /** They are worked on again: what was taken out of the lanes is loaded. */
  function stayWhereBusy(): void {
    const at = performance.now();
    const over = new Map([...leaving].filter(([, { until }]) => at >= until));
    for (const row of lanes.taken()) {
      const one = over.get(row.shard);
      if (one === undefined) continue;
      inVain.add(row);
      restUntil.set(row.shard, at + REST * one.waitMs);
      leaving.delete(row.shard);
    }
  }

  return {
    leave(shards) {
      const busy = ages();
      const idle = shards.filter((shard) => !busy.has(shard));
      for (const shard of idle.length > 0 ? idle : shards) give(shard, undefined, busy.get(shard));
      go();
    },
    pass(shard, heir) {
      wanted.set(shard, heir);
      give(shard, heir, ages().get(shard));
      go();
      if (emptied.has(shard)) void steps.beat();
    },
    goOn(owned) {
      for (const shard of [...leaving.keys(), ...wanted.keys()])
        if (!owned.includes(shard)) {
          leaving.delete(shard);
          wanted.delete(shard);
        }
      const at = performance.now();
      since = new Map([...lanes.taken()].map((row) => [row, since.get(row) ?? at]));
      stayWhereBusy();
      const busy = ages();
      for (const [shard, heir] of wanted) give(shard, heir, busy.get(shard));
      go();
    },
    forget(shard) {
      leaving.delete(shard);
      wanted.delete(shard);
      emptied = new Map([...emptied].filter(([one]) => one !== shard));
    },
    has: (shard) => leaving.has(shard),
    ages,
    get emptied() {
      return emptied;
    },
    get shards() {
      return [...leaving.keys()];
    },
  };
}
