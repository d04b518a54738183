import type { Claim, StorageError } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { isBroken, isOfStatement, isRefusal } from "../connection/classify-error.ts";
import { EXPANDER } from "../schema/tables.ts";
import { createHandOver, type HandOver } from "../workers/hand-over.ts";
import type { Lanes, Row } from "./lanes.ts";
import { isNothing, type LiveWorker, type OtherWorkers } from "../workers/other-workers.ts";
import { createRecentDeliveries, type RecentDeliveries } from "./bodies/recent-deliveries.ts";
import { createShardMemory, type ShardMemory } from "./shard-memory.ts";
import type { StepReply } from "./encode-step.ts";
import { createWorkSteps, type WorkSteps } from "./work-steps.ts";
import type { Over } from "./worker-log.ts";
import { BEAT_MS } from "./intervals.ts";

/** One registration as a worker. What awaits must see that it is still the current one. */
export interface Life {
  readonly id: number;
  /** In which it is registered. */
  readonly database: string;
  readonly lanes: Lanes;
  readonly recent: RecentDeliveries;
  /** What this process stored, and memory may not have yet. */
  stored: Stored[];
  readonly memory: ShardMemory;
  readonly steps: WorkSteps;
  readonly handOver: HandOver;
  readonly others: OtherWorkers;
  /** A look at the others: what an old one called unhandled may have a handler now. */
  readonly see: (workers: readonly LiveWorker[]) => void;
  /** There may be something to claim. */
  readonly wake: () => void;
  owned: ReadonlySet<number>;
  /** It may claim. */
  hasBegun: boolean;
  /** The unhandled jobs that are its to look at: where it does not expand, those that the one that expands would leave where they are. */
  looksAt: "all" | "own" | "none";
  /** It was told to look at them since workers last came or went. */
  hasReopened: boolean;
  /** Once more then, by the monotonic clock. */
  reopenAgainAt: number;
  /** Why some of its shards could not be loaded, at the last try. */
  loadFailure: StorageError | undefined;
  /** Memory is behind the tables. */
  isDirty: boolean;
  following: Promise<void> | undefined;
  hasUnexpanded: boolean;
  /** Looks at which it was to expand, and could not: after so many, another one is to. */
  readonly blocked: { looks: number; most: number };
  /** Its last expansion could not be written, for no reason that lies in what was to be expanded. */
  failsToExpand: boolean;
  readonly expanded: (error: unknown, isFenced?: boolean) => void;
  /** Since when it has had no connection to look at the others with, by the monotonic clock. */
  blindSince: number | undefined;
  /** A look at the others failed. @returns whether it has had no connection for so long that they are to have its shards */
  readonly isBlind: (error: unknown) => boolean;
  /** The others were told that it holds the lock that says that it is there: they take over soon where that is free. */
  isPresent: boolean;
  /** Of the monotonic clock: when the last step that holds was sent. */
  confirmedAt: number;
}

export type Batch = Parameters<ShardMemory["hasSeen"]>[0];

export interface Stored {
  readonly batch: Batch;
  readonly jobs: number;
  readonly receivedAt: number;
}

/** Of a worker that is to expand and cannot, one at each tick. Each time twice as many, until it can: perhaps nobody can. */
const BLOCKED_LOOKS = { least: 10, most: 600 };

/** Of the lease: so long it looks in vain. */
const BLIND = 2;

export interface LifeDeps {
  /** When the server started that it is registered on. */
  readonly server: number;
  readonly database: string;
  readonly ident: () => string;
  readonly pool: Pool;
  /** Of one connection. */
  readonly steps: Pool;
  readonly now: () => number;
  readonly lanes: Lanes;
  readonly leaseMs: number;
  readonly pause: () => Promise<void>;
  readonly isOver: (life: Life) => boolean;
  readonly wake: () => void;
  readonly lost: (claims: readonly Claim[]) => void;
  readonly unexpanded: (life: Life, are: boolean) => void;
  readonly confirmed: (life: Life, reply: StepReply, sentAt: number) => void;
  readonly over: (life: Life, why: Over) => void;
  readonly failed: (error: StorageError) => void;
  readonly refused: (row: Row, to: "dead" | "removed", error: StorageError) => void;
}

/** What a worker has from its registration until it leaves or is taken for dead. Nothing of it is used again. */
export function createLife(id: number, others: OtherWorkers, deps: LifeDeps): Life {
  const { ident, pool, now, lanes } = deps;
  const memory = createShardMemory({
    pool,
    ident,
    lanes,
    now,
    isOver: () => deps.isOver(life),
    isMine: (shard) => isMine(life, shard),
    changed: deps.wake,
    unexpanded(are) {
      // Not later: the row of the writer may be gone by then.
      life.stored = life.stored.filter(({ batch }) => !memory.hasSeen(batch));
      deps.unexpanded(life, are);
    },
    lost: deps.lost,
    server: deps.server,
    forgot: () => deps.over(life, "forgot"),
    read() {
      if (performance.now() - life.confirmedAt > BEAT_MS) void life.steps.beat();
    },
  });
  const own = createWorkSteps({
    ident,
    pool: deps.steps,
    worker: id,
    server: deps.server,
    lanes,
    leaving: () => life.handOver.emptied,
    confirmed: (reply, sentAt) => deps.confirmed(life, reply, sentAt),
    over: (why) => deps.over(life, why),
    failed: deps.failed,
    refused: deps.refused,
    now,
    pause: deps.pause,
  });
  const steps: WorkSteps = {
    ...own,
    async settle(ending, options) {
      const held = await own.settle(ending, options);
      for (const row of ending.rows) if (held.passed.has(row.id)) lanes.defer(row);
      return held;
    },
  };
  const life: Life = {
    id,
    database: deps.database,
    lanes,
    recent: createRecentDeliveries(),
    stored: [],
    memory,
    steps,
    handOver: createHandOver({ memory, lanes, steps, now }),
    others,
    see(workers) {
      life.blindSince = undefined;
      reopenIf(others.see(workers), life);
    },
    wake: deps.wake,
    hasBegun: false,
    looksAt: "none",
    hasReopened: false,
    reopenAgainAt: Infinity,
    owned: new Set(),
    loadFailure: undefined,
    isDirty: true,
    following: undefined,
    hasUnexpanded: false,
    blocked: { looks: 0, most: BLOCKED_LOOKS.least },
    failsToExpand: false,
    expanded(error, isFenced = false) {
      // Who came may have gone, and nobody tells of it: that deliveries wait is news with the next heartbeat.
      if (isFenced) life.hasUnexpanded = false;
      life.failsToExpand = error !== undefined && !isRefusal(error) && !isOfStatement(error);
    },
    blindSince: undefined,
    isBlind(error) {
      const at = performance.now();
      const hasNoConnection = isBroken(error) || (error as StorageError).code === "too-many-connections";
      life.blindSince = hasNoConnection ? (life.blindSince ?? at) : undefined;
      // One that knows of no other ends what it runs: others may have come since.
      const mayLeave = others.areSome || lanes.running().length === 0;
      return mayLeave && at - (life.blindSince ?? at) >= BLIND * deps.leaseMs;
    },
    isPresent: false,
    confirmedAt: performance.now(),
  };
  return life;
}

function isMine({ owned, handOver }: Life, shard: number): boolean {
  return owned.has(shard) && !handOver.has(shard);
}

/** Its shards that are not in memory. */
export function toLoad(mine: Life): readonly number[] {
  return [...mine.owned].filter((shard) => shard !== EXPANDER && isMine(mine, shard) && !mine.memory.isLoaded(shard));
}

/** What cannot be loaded is asked for again the next time, and holds up neither the other shards nor this worker. @returns why, where that is news */
export async function loadMissing(mine: Life): Promise<StorageError | undefined> {
  const [shards, { memory, loadFailure: before }] = [toLoad(mine), mine];
  try {
    if (shards.length > 0) await memory.load(shards).catch(() => memory.loadSingly(shards));
    mine.loadFailure = undefined;
    return undefined;
  } catch (error) {
    const failure = (mine.loadFailure = error as StorageError);
    return failure.message === before?.message ? undefined : failure;
  }
}

/** Longer than a process waits for the commit of a store. */
const STORES_END_MS = 40_000;

/** Unhandled jobs are looked at after workers came or went, and once more: what an old one was storing then may have a handler in a new one. */
export function reopenIf(haveChanged: boolean, mine: Pick<Life, "hasReopened" | "reopenAgainAt">): void {
  const at = performance.now();
  if (haveChanged) [mine.hasReopened, mine.reopenAgainAt] = [false, at + STORES_END_MS];
  else if (at >= mine.reopenAgainAt) [mine.hasReopened, mine.reopenAgainAt] = [false, Infinity];
}

export function isExpander(mine: Life): boolean {
  return isMine(mine, EXPANDER);
}

/** Other jobs keep some of its shards, or new deliveries, out of the memory. */
export function isFull(mine: Life): boolean {
  const { lanes, hasUnexpanded, memory } = mine;
  return (lanes.fill() >= 1 && hasUnexpanded) || toLoad(mine).some(memory.isKeptOut);
}

/** @returns the next one of those that live, where this one expands and has had no room, or no connection, for a while: it may have some */
export function heirWhereBlocked(mine: Life, live: readonly LiveWorker[]): number | undefined {
  const { id: me, lanes, blocked } = mine;
  if (lanes.fill() < 1 && !mine.failsToExpand) [blocked.looks, blocked.most] = [0, BLOCKED_LOOKS.least];
  else if (isExpander(mine) && mine.hasUnexpanded) blocked.looks += 1;
  if (blocked.looks < blocked.most) return undefined;
  [blocked.looks, blocked.most] = [0, Math.min(2 * blocked.most, BLOCKED_LOOKS.most)];
  const able = live.filter(({ handled }) => !isNothing(handled));
  const others = able.map(({ id }) => id).toSorted((a, b) => a - b);
  return others.find((id) => id > me) ?? others.find((id) => id < me);
}
