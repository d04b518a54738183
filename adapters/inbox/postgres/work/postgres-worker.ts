import type { InboxHost, StorageError, Timer, Worker } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { EXPANDER } from "../schema/tables.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import { createMembership } from "./membership.ts";
import { createShardMemory } from "./shard-memory.ts";
import { createWorkSteps, type StepReply } from "./work-steps.ts";
import { createWorkerClaims, type Life, type WorkerClaims, type WorkerClaimsDeps } from "./worker-claims.ts";

/** This process as one of those that work. */
export interface PostgresWorker extends WorkerClaims {
  work(worker: Worker): Promise<void>;
  /** The worker that expands deliveries, if this process is it. */
  expander(): number | undefined;
  isLoaded(): boolean;
  /** Some deliveries wait to be expanded. */
  hasUnexpanded(): boolean;
  readonly size: number;
  /** Gives everything back. */
  leave(): Promise<void>;
}

export interface PostgresWorkerDeps extends Pick<WorkerClaimsDeps, "ended"> {
  readonly ident: () => string;
  readonly host: () => InboxHost;
  /** Of one connection: the steps, which nothing else may hold up. */
  readonly steps: Pool;
  readonly pool: Pool;
  readonly leaseMs: number;
  /** How long the heart of a process whose connection is gone must stand still. */
  readonly goneMs: number;
  /** Locks that end with a connection, where there may be some. */
  readonly presence: Presence;
}

/** An advisory lock for as long as this process's own connection lives. */
export interface Presence {
  hold(worker: number): Promise<void>;
  isGone(worker: number): Promise<boolean>;
  drop(): Promise<void>;
}

/** Between two looks at the other workers, and two heartbeats. */
const TICK_MS = 500;
/** Between two looks for what other processes stored, while nothing is claimed. */
const POLL_MS = 50;
/** After the server failed. */
const TRY_AGAIN_MS = 1_000;
/** Until a row may be free that a transaction of the application holds. */
const PAUSE_MS = 100;
/** Of the lease: from then on what runs is to abort. */
const OVER = 0.8;

export function createPostgresWorker(deps: PostgresWorkerDeps): PostgresWorker {
  const { ident, host, steps: stepPool, pool, leaseMs, presence } = deps;
  const now = (): number => host().clock.now();
  const membership = createMembership({ pool, ident, now, leaseMs, goneMs: deps.goneMs, isGone: presence.isGone });
  const claims = createWorkerClaims({
    life: () => life,
    now,
    leaseMs,
    transactions: { ident, queries: pool, pause },
    ended: deps.ended,
  });
  let worker: Worker | undefined;
  let life: Life | undefined;
  /** Of earlier lives: handlers that run on. */
  let held: Lanes["lost"] = new Map();
  let timers: Timer[] = [];
  let ticking: Promise<void> | undefined;

  const isCurrent = (one: Life): boolean => life === one;

  function pause(): Promise<void> {
    return new Promise((resolve) => void host().clock.setTimer(resolve, PAUSE_MS));
  }

  async function begin(): Promise<void> {
    const id = await membership.register();
    await presence.hold(id);
    const mine = createLife(id);
    life = mine;
    await tick(mine);
  }

  function createLife(id: number): Life {
    const lanes = createLanes(held);
    const isOver = (): boolean => life !== mine;
    const memory = createShardMemory({
      pool,
      ident,
      lanes,
      now,
      isOver,
      changed: () => worker?.wake(),
      unexpanded: (are) => noteUnexpanded(mine, are),
      lost: (ended) => worker?.lost(ended),
    });
    const steps = createWorkSteps({
      ident,
      pool: stepPool,
      worker: id,
      lanes,
      confirmed: (reply, sentAt) => confirmed(mine, reply, sentAt),
      fenced: () => fenced(mine),
      failed: (error) => failed(error),
      pause,
    });
    const mine: Life = {
      id,
      lanes,
      memory,
      steps,
      leaving: new Set(),
      owned: new Set(),
      workersAlive: 1,
      isDirty: true,
      following: undefined,
      hasUnexpanded: false,
      confirmedAt: performance.now(),
    };
    return mine;
  }

  function noteUnexpanded(mine: Life, are: boolean): void {
    const isNews = are && !mine.hasUnexpanded;
    mine.hasUnexpanded = are;
    if (isNews) worker?.wake();
  }

  function confirmed(mine: Life, reply: StepReply, sentAt: number): void {
    mine.confirmedAt = Math.max(mine.confirmedAt, sentAt);
    mine.owned = new Set(reply.shards);
    noteUnexpanded(mine, reply.unexpanded);
    if (!mine.isDirty && mine.memory.isBehind(reply)) {
      mine.isDirty = true;
      worker?.wake();
    }
  }

  function failed(error: StorageError): void {
    host().log.error({ err: error, code: "inbox-failed" }, "a step of the worker failed: it is tried again");
  }

  /** Another process took over: what runs here does not count. */
  function fenced(mine: Life): void {
    if (!isCurrent(mine)) return;
    host().log.warn(
      { code: "worker-lock-lost", worker: mine.id },
      "another process has taken over the jobs of this one",
    );
    end(mine);
    worker?.end();
    later(TRY_AGAIN_MS, restart);
  }

  function end(mine: Life): void {
    life = undefined;
    mine.steps.end();
    const ended = mine.lanes.revokeAll();
    held = mine.lanes.lost;
    if (ended.length > 0) worker?.lost(ended);
  }

  /** One timer for each purpose. */
  function later(ms: number, run: () => void): void {
    const timer = host().clock.setTimer(() => {
      timers = timers.filter((one) => one !== timer);
      run();
    }, ms);
    timers.push(timer);
  }

  function restart(): void {
    if (worker === undefined || life !== undefined) return;
    begin().then(start, (error: unknown) => {
      failed(error as StorageError);
      life = undefined;
      later(TRY_AGAIN_MS, restart);
    });
  }

  function start(): void {
    const mine = life;
    if (mine === undefined || worker === undefined) return;
    for (const timer of timers.splice(0)) timer.clear();
    if (worker.begin() === false) {
      void leave();
      return;
    }
    const loop = (ms: number, run: () => Promise<void>): void =>
      later(ms, () => {
        if (!isCurrent(mine)) return;
        run()
          .catch((error: unknown) => failed(error as StorageError))
          .finally(() => void (isCurrent(mine) && loop(ms, run)));
      });
    loop(TICK_MS, () => tick(mine));
    loop(POLL_MS, async () => (mine.memory.shards.length > 0 ? mine.memory.follow() : undefined));
  }

  /** One at a time. */
  function tick(mine: Life): Promise<void> {
    ticking = (ticking ?? Promise.resolve()).catch(() => {}).then(() => (isCurrent(mine) ? tickNow(mine) : undefined));
    return ticking;
  }

  async function tickNow(mine: Life): Promise<void> {
    stopIfStalled(mine);
    const { owned, tooMany, workersAlive } = await membership.tick(
      mine.id,
      mine.memory.shards.concat([...mine.leaving]),
    );
    if (!isCurrent(mine)) return;
    mine.workersAlive = workersAlive;
    mine.owned = new Set(owned);
    for (const shard of owned.filter((one) => one !== EXPANDER).slice(0, Math.max(0, tooMany - mine.leaving.size)))
      mine.leaving.add(shard);
    for (const shard of owned) {
      if (shard === EXPANDER || mine.leaving.has(shard) || mine.memory.isLoaded(shard)) continue;
      await mine.memory.load(shard);
      if (!isCurrent(mine)) return;
      worker?.wake();
    }
    for (const shard of mine.leaving) {
      mine.memory.unload(shard);
      if (!owned.includes(shard)) mine.leaving.delete(shard);
      else if (mine.lanes.leave(shard, now())) mine.steps.leave(shard);
    }
    await mine.steps.beat();
  }

  /** The server does not answer: before another process takes over, handlers are to stop. */
  function stopIfStalled(mine: Life): void {
    if (performance.now() - mine.confirmedAt < OVER * leaseMs) return;
    const ended = mine.lanes.revokeAll();
    if (ended.length > 0) worker?.lost(ended);
  }

  async function leave(): Promise<void> {
    const mine = life;
    for (const timer of timers.splice(0)) timer.clear();
    worker = undefined;
    if (mine === undefined) return;
    await ticking?.catch(() => {});
    if (life !== mine) return;
    life = undefined;
    mine.steps.end();
    held = mine.lanes.lost;
    mine.lanes.revokeAll();
    // What runs on is another one's from now on: its death counts.
    await membership.bury(mine.id, undefined).catch(() => {});
    await presence.drop();
  }

  return {
    ...claims,
    async work(given) {
      worker = given;
      if (life === undefined) await begin();
      start();
    },
    expander: () => (life?.owned.has(EXPANDER) === true ? life.id : undefined),
    isLoaded: () => life !== undefined,
    hasUnexpanded: () => life?.hasUnexpanded === true,
    get size() {
      return life?.lanes.size ?? 0;
    },
    leave,
  };
}
