import type { Lanes } from "./lanes.ts";
import type { ShardMemory } from "./shard-memory.ts";
import type { WorkSteps } from "./work-steps.ts";

/** Shards that this worker gives up: nothing of them is claimed any more, and each goes as soon as nothing of it runs. */
export interface HandOver {
  leave(shard: number): void;
  /** To a worker that has handlers which this one lacks. */
  pass(shard: number, heir: number): void;
  /** @param owned this worker's, by the tables */
  goOn(owned: readonly number[]): void;
  /** It is another worker's by now, which may give it back at once. */
  forget(shard: number): void;
  has(shard: number): boolean;
  /** Those of which nothing runs, each with its heir; undefined: any. */
  readonly emptied: ReadonlyMap<number, number | undefined>;
  /** All but those that are gone. */
  readonly shards: readonly number[];
}

export interface HandOverDeps {
  readonly memory: Pick<ShardMemory, "unload">;
  readonly lanes: Pick<Lanes, "leave">;
  readonly steps: Pick<WorkSteps, "beat">;
  readonly now: () => number;
}

export function createHandOver({ memory, lanes, steps, now }: HandOverDeps): HandOver {
  /** Each with the worker that is to have it; undefined: any. */
  const leaving = new Map<number, number | undefined>();

  let emptied: ReadonlyMap<number, number | undefined> = new Map();

  function go(): void {
    for (const shard of leaving.keys()) memory.unload(shard);
    const busy = leaving.size > 0 ? lanes.leave(new Set(leaving.keys()), now()) : new Set<number>();
    emptied = new Map([...leaving].filter(([shard]) => !busy.has(shard)));
  }

  return {
    leave: (shard) => void leaving.set(shard, leaving.get(shard)),
    pass(shard, heir) {
      leaving.set(shard, heir);
      go();
      if (emptied.has(shard)) void steps.beat();
    },
    goOn(owned) {
      for (const shard of leaving.keys()) if (!owned.includes(shard)) leaving.delete(shard);
      go();
    },
    forget(shard) {
      leaving.delete(shard);
      emptied = new Map([...emptied].filter(([one]) => one !== shard));
    },
    has: (shard) => leaving.has(shard),
    get emptied() {
      return emptied;
    },
    get shards() {
      return [...leaving.keys()];
    },
  };
}
