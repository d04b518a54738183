import type { InboxHost, StorageError, Worker } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import type { Presence } from "../connection/presence.ts";
import { EXPANDER, SHARDS } from "../schema/tables.ts";
import { createLife, heirWhereBlocked, isExpander, isFull, loadMissing, toLoad, type Life } from "./create-life.ts";
import { createLanes } from "./lanes.ts";
import { createMembership, type Membership } from "../workers/membership.ts";
import { createOtherWorkers, toHandled, type OtherWorkers } from "../workers/other-workers.ts";
import { createWorkerLog, type Over } from "./worker-log.ts";
import { BEAT_MS, OVER, OVER_GONE, PAUSE_MS, POLL_MS, TICK_MS, TRY_AGAIN_MS } from "./intervals.ts";
import { createTimers, type Timers } from "./timer-set.ts";
import type { StepReply } from "./encode-step.ts";
import { createWorkerClaims, type WorkerClaims, type WorkerClaimsDeps } from "./worker-claims.ts";

/** This process as one of those that work. */
export interface PostgresWorker
  extends WorkerClaims, Pick<Membership, "standstill" | "othersWork">, Pick<Timers, "unref"> {
  work(worker: Worker): Promise<void>;
  /** The worker that expands deliveries, if this process is it. */
  expander(): number | undefined;
  /** All of its shards are in memory. */
  isAllLoaded(): boolean;
  /** Other jobs keep some of its shards, or new deliveries, out of the memory. */
  isFull(): boolean;
  /** Whether more may become jobs. Lanes that wait for their time make room. */
  hasRoom(): boolean;
  /** Of all lanes, from 0 to 1. */
  share(): number;
  /** Some deliveries wait to be expanded. */
  hasUnexpanded(): boolean;
  /** What this worker knows of the others; undefined while it does not work. */
  others(): (Pick<OtherWorkers, "heirOf" | "consumersOf" | "lastSeen"> & { readonly me: number }) | undefined;
  /** Whether unhandled jobs of this type are this worker's to look at. */
  looksAt(type: string): boolean;
  /** Leaves the expansion to another worker. */
  passExpander(heir: number): void;
  /** How an expansion ended. Where this process alone cannot write, another one is to expand. @param isFenced it is another one's, by now */
  expanded(error: unknown, isFenced?: boolean): void;
  /** What may start has changed. */
  wake(): void;
  /** It claims nothing more: shards go to the others as soon as nothing of them runs here. */
  stopWork(): void;
  /** Gives everything back; `work` may follow. */
  leave(): Promise<void>;
}

export interface PostgresWorkerDeps extends Pick<WorkerClaimsDeps, "ended"> {
  readonly ident: () => string;
  readonly host: () => InboxHost;
  /** Of one connection: the steps, which nothing else may hold up. */
  readonly steps: Pool;
  readonly pool: Pool;
  readonly leaseMs: number;
  readonly maxJobs: number;
  /** How long the heart of a process whose connection is gone must stand still. */
  readonly goneMs: number;
  /** Locks that end with a connection, where there may be some. */
  readonly presence: Presence;
}

export function createPostgresWorker(deps: PostgresWorkerDeps): PostgresWorker {
  const { ident, host, steps: stepPool, pool, leaseMs, goneMs, presence } = deps;
  const now = (): number => host().clock.now();
  const pause = (): Promise<void> => new Promise((resolve) => void host().clock.setTimer(resolve, PAUSE_MS));
  const { failed, ...tell } = createWorkerLog(() => host().log);
  const membership = createMembership({ pool, ident, now, leaseMs, goneMs, isGone: presence.isGone, failed });
  const claims = createWorkerClaims({
    life: () => life,
    lanes: () => lanes,
    now,
    leaseMs,
    transactions: { ident, queries: pool, pause },
    ...tell,
    ended: deps.ended,
  });
  let worker: Worker | undefined;
  let life: Life | undefined;
  /** Of the life, or of the next one. */
  let lanes = createLanes(deps.maxJobs);
  const timers = createTimers(() => host().clock, failed);
  let ticking: Promise<void> | undefined;
  /** It has its timers. */
  let started: Life | undefined;
  let beginning: Promise<void> | undefined;
  let isStopping = false;
  const isCurrent = (one: Life): boolean => life === one;

  /** One at a time: of two registrations one would hold its shards, and work on none. */
  function begin(): Promise<void> {
    beginning ??= beginNow().finally(() => (beginning = undefined));
    return beginning;
  }

  async function beginNow(): Promise<void> {
    const [given, handled] = [worker, toHandled(worker?.handled)];
    await stepPool.query("select"); // without this connection it would take shards and work on none
    const { id, server, database } = await membership.register(handled);
    if (worker !== given) return membership.leave(id, false);
    const mine = createLife(id, createOtherWorkers({ id, handled }), {
      server,
      database,
      ident,
      pool,
      steps: stepPool,
      now,
      lanes,
      leaseMs,
      pause,
      isOver: (one) => !isCurrent(one),
      wake: () => worker?.wake(),
      lost: (ended) => worker?.lost(ended),
      unexpanded: noteUnexpanded,
      confirmed,
      over,
      failed,
      refused: tell.refused,
    });
    life = mine;
    try {
      await tick(mine);
    } catch (error) {
      // One that cannot begin leaves nothing behind: it tries each second.
      membership.leave(id, false).catch(failed);
      if (isCurrent(mine)) end(mine);
      throw error;
    }
  }

  function noteUnexpanded(mine: Life, are: boolean): void {
    const isNews = are && !mine.hasUnexpanded;
    mine.hasUnexpanded = are;
    if (isNews) worker?.wake();
  }

  function confirmed(mine: Life, reply: StepReply, sentAt: number): void {
    mine.confirmedAt = Math.max(mine.confirmedAt, sentAt);
    const expanded = isExpander(mine);
    mine.owned = new Set(reply.shards);
    if (!mine.owned.has(EXPANDER)) mine.handOver.forget(EXPANDER);
    // An answer that was on its way when it began to expand had taken that from it: what waits was left waiting.
    if (isExpander(mine) && !expanded) worker?.wake();
    noteUnexpanded(mine, reply.unexpanded);
    if (mine.isDirty || !mine.memory.isBehind(reply)) return;
    mine.isDirty = true;
    worker?.wake();
  }

  /** What runs here does not count. Where no other process has taken it over, nothing of it has died either. */
  function over(mine: Life, why: Over): void {
    if (!isCurrent(mine)) return;
    const cause = tell.over(mine.id, why);
    if (why !== "taken-over") membership.leave(mine.id, false).catch(failed);
    end(mine);
    worker?.end(cause);
    timers.later(TRY_AGAIN_MS, restart);
  }

  function end(mine: Life): void {
    life = undefined;
    mine.steps.end();
    const ended = lanes.revoke();
    lanes = lanes.nextTenure();
    if (ended.length > 0) worker?.lost(ended);
  }

  function restart(): void {
    if (worker === undefined || life !== undefined) return;
    begin().then(start, (error: unknown) => {
      failed(error as StorageError);
      worker?.end(error as StorageError);
      timers.later(TRY_AGAIN_MS, restart);
    });
  }

  function start(): void {
    const mine = life;
    if (mine === undefined || worker === undefined || mine === started) return;
    started = mine;
    timers.clear();
    if (worker.begin() === false) return void leave();
    mine.hasBegun = true;
    tellReopen(mine);
    const loop = timers.loopsWhile(() => isCurrent(mine));
    loop(TICK_MS, () => tick(mine));
    // The others look at the heart alone: nothing else may hold it up.
    loop(BEAT_MS, async () => {
      stopIfStalled(mine);
      void mine.steps.beat();
    });
    loop(
      POLL_MS.idle,
      async () => (mine.memory.shards.length > 0 ? mine.memory.follow() : undefined),
      (last) => (mine.memory.isQuiet ? Math.min(2 * last, POLL_MS.idle) : POLL_MS.busy),
    );
  }

  /** One at a time. */
  function tick(mine: Life): Promise<void> {
    ticking = (ticking ?? Promise.resolve()).catch(() => {}).then(() => (isCurrent(mine) ? tickNow(mine) : undefined));
    return ticking.catch((error: unknown) => {
      if (mine.isBlind(error)) over(mine, "blind");
      throw error;
    });
  }

  async function tickNow(mine: Life): Promise<void> {
    const isPresent = await presence.hold(mine.id);
    if (!isCurrent(mine)) return;
    const { handOver, others } = mine;
    const { owned, surplus, workers, lookAgainMs } = await membership.tick(mine.id, {
      leaving: handOver.shards,
      ages: handOver.ages,
      isPresent,
      isStopping,
      lacksNothing: others.lacksNothing,
    });
    if (!isCurrent(mine)) return;
    mine.isPresent = isPresent;
    // The server answers, and yet no step holds.
    if (performance.now() - mine.confirmedAt >= leaseMs) return over(mine, "stalled");
    // A heart that stands still is looked at as soon as it may be taken for dead.
    if (lookAgainMs < TICK_MS) timers.later(lookAgainMs, () => void tick(mine).catch(failed));
    mine.owned = new Set(owned);
    mine.see(workers);
    handOver.goOn(owned);
    handOver.leave(surplus);
    const failure = await loadMissing(mine);
    if (failure !== undefined) {
      failed(failure);
      worker?.wake();
    }
    if (!isCurrent(mine)) return;
    const heir = others.heirOfAll() ?? heirWhereBlocked(mine, workers);
    if (heir !== undefined && isExpander(mine)) handOver.pass(EXPANDER, heir);
    tellReopen(mine);
    await mine.steps.beat();
  }

  /** One worker looks at unhandled jobs; others only at those for which that one lacks a consumer. */
  function tellReopen(mine: Life): void {
    const looksAt = isExpander(mine) ? "all" : mine.others.hasOwn ? "own" : "none";
    if (looksAt !== mine.looksAt) mine.hasReopened = false;
    mine.looksAt = looksAt;
    if (looksAt === "none" || !mine.hasBegun || mine.hasReopened) return;
    mine.hasReopened = true;
    worker?.reopen?.();
    worker?.wake();
  }

  /** The server does not answer: before another process takes over, handlers are to stop. */
  function stopIfStalled(mine: Life): void {
    const stillMs = performance.now() - mine.confirmedAt;
    const isGone = mine.isPresent && mine.others.areSome && !presence.isHeld(mine.id);
    if (stillMs < OVER * leaseMs && !(isGone && stillMs >= OVER_GONE * goneMs)) return;
    const ended = lanes.revoke();
    if (ended.length > 0) worker?.lost(ended);
  }

  async function leave(): Promise<void> {
    const mine = life;
    timers.clear();
    worker = undefined;
    await ticking?.catch(() => {});
    if (mine !== undefined && isCurrent(mine)) {
      end(mine);
      // What runs on is another one's from now on: its death counts.
      await membership.leave(mine.id, true).catch(() => {});
    }
    await presence.drop();
  }

  return {
    ...claims,
    standstill: membership.standstill,
    othersWork: membership.othersWork,
    unref: timers.unref,
    async work(given) {
      [worker, isStopping] = [given, false];
      // One that was begun before `leave` was called gives itself back.
      while (life === undefined && worker === given) await begin();
      start();
    },
    expander: () => (life !== undefined && isExpander(life) ? life.id : undefined),
    others: () => life && { ...life.others, me: life.id },
    looksAt: (type) => life?.looksAt !== "own" || life.others.isLeftTo(type),
    passExpander: (heir) => life?.handOver.pass(EXPANDER, heir),
    expanded: (...how) => life?.expanded(...how),
    isAllLoaded: () => life !== undefined && toLoad(life).length === 0,
    isFull: () => life !== undefined && isFull(life),
    hasRoom: () => life !== undefined && lanes.hasRoom(now()),
    share: () => [...(life?.owned ?? [])].filter((shard) => shard !== EXPANDER).length / SHARDS,
    hasUnexpanded: () => life?.hasUnexpanded === true,
    wake: () => worker?.wake(),
    stopWork() {
      isStopping = true;
      if (life !== undefined) void tick(life).catch(failed);
    },
    leave,
  };
}
