import {
  settled,
  type Claim,
  type Claimed,
  type ClaimLimits,
  type Delivery,
  type InboxStats,
  type NewEvent,
  type Settlement,
  type StorageError,
  type Transactional,
} from "../../../../src/adapter.ts";
import type { ClaimRecord } from "../../../../src/inbox/claim-book.ts";
import { createTransactions } from "../complete.ts";
import { loadMissing, toLoad, type Batch, type Life, type Stored } from "./create-life.ts";
import type { Lanes, Row } from "./lanes.ts";
import { createMarking, type MarkingDeps } from "./mark-runs.ts";

/** The verbs that run work. */
export interface WorkerClaims {
  claim(limits: ClaimLimits): Promise<Claimed>;
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  readonly transactional: Transactional;
  /** Jobs were made or removed: memory follows. */
  changed(): Promise<void>;
  /** What was just stored need not be read back. */
  remember(
    batch: Batch,
    stored: { readonly id: number; readonly delivery: Delivery; readonly events: readonly NewEvent[] },
  ): void;
  stats():
    | Pick<InboxStats, "waiting" | "pausedWaiting" | "running" | "blockedLanes" | "oldestWaitingAt" | "fill">
    | undefined;
}

export interface WorkerClaimsDeps {
  /** Undefined while this process does not work. */
  readonly life: () => Life | undefined;
  /** Of the life, or of the next one. */
  readonly lanes: () => Lanes;
  readonly now: () => number;
  readonly leaseMs: number;
  /** Asks for claims in a transaction of the application. */
  readonly transactions: Pick<Parameters<typeof createTransactions>[0], "ident" | "queries" | "pause">;
  readonly orphaned: MarkingDeps["orphaned"];
  readonly unread: MarkingDeps["unread"];
  /** Jobs ended otherwise than done. */
  readonly ended: (states: readonly ("dead" | "unhandled")[]) => void;
}

const NOTHING: Claimed = { claims: [], nextDueAt: undefined, suspects: false };

export function createWorkerClaims({
  life,
  lanes,
  now,
  leaseMs,
  transactions,
  orphaned,
  unread,
  ended,
}: WorkerClaimsDeps): WorkerClaims {
  /** Claims whose jobs a transaction of the application may have ended. */
  const completed = new WeakSet<Claim>();
  /** Of settlements that, or whose call, is not answered, or where another one of the call was rejected. */
  const answers = new WeakMap<Claim, Promise<boolean>>();
  const transactional = createTransactions({
    ...transactions,
    claimed(claim) {
      const mine = life();
      const rows = mine?.lanes.rowsOf(claim);
      return mine === undefined || rows === undefined ? undefined : { worker: mine.id, database: mine.database, rows };
    },
    completed: (claim) => void completed.add(claim),
  });

  const isCurrent = (mine: Life): boolean => life() === mine;
  const { mark, mostMerged } = createMarking({ isCurrent, now, leaseMs, ...transactions, orphaned, unread, tellEnded });

  /** All that waits now, of whatever process, is to be in the lanes. */
  async function changed(): Promise<void> {
    const mine = life();
    if (mine === undefined) return;
    mine.isDirty = true;
    await catchUp(mine);
  }

  /** After a rejection, or where it or another one of the call hangs, each comes again alone: it gets the answer that the first call has, or will have. */
  async function settleAll(settlements: readonly Settlement[]): Promise<readonly boolean[]> {
    const asked = new Set<Claim>();
    const results = await Promise.allSettled(
      settlements.map(async (one) => {
        if (asked.size === asked.add(one.claim).size) return false; // twice in one call
        const answer = answers.get(one.claim) ?? settleOne(one);
        answers.set(one.claim, answer);
        try {
          return await answer;
        } catch (error) {
          answers.delete(one.claim);
          throw error;
        }
      }),
    );
    for (const result of results) if (result.status === "rejected") throw result.reason;
    for (const { claim } of settlements) answers.delete(claim);
    return results.map((result) => result.status === "fulfilled" && result.value);
  }

  async function settleOne({ claim, outcomes }: Settlement): Promise<boolean> {
    // What is not known keeps its own time: better than a job that is not settled.
    if (outcomes.some((outcome) => outcome.to === "dead" && outcome.ofWindow === true)) await changed().catch(() => {});
    const plan = lanes().plan(claim, outcomes, now());
    const mine = life();
    if (mine === undefined || plan === undefined) return false;
    try {
      const { holds, passed, progress } = await mine.steps.settle(plan, { isUnsure: completed.has(claim) });
      plan.progress &&= plan.rows.map((row) => {
        // One that is passed on was not claimed.
        if (passed.has(row.id)) return settled(row.progress, { to: "release" }, now());
        return progress.get(row) ?? settled(row.progress, { to: "done" }, now());
      });
      // What the server has holds, also of a claim that was given up meanwhile because no answer came.
      const isHeldHere = mine.lanes.holds(plan, now());
      // Not earlier: the job is in its lane again, and leaves with it.
      if (isHeldHere && isCurrent(mine)) for (const { id, shard } of plan.rows) passOn(mine, shard, passed.get(id));
      if (holds) tellEnded(plan.progress);
      return holds;
    } catch (error) {
      mine.lanes.handlerEnded(claim, now());
      if ((error as Partial<StorageError>).code === "epoch-stale") return false;
      mine.lanes.mayNotHold(plan);
      throw error;
    }
  }

  function tellEnded(progress: ClaimRecord<Row>["progress"] = []): void {
    const states = progress.flatMap(({ state }) => (state === "dead" || state === "unhandled" ? [state] : []));
    if (states.length > 0) ended(states);
  }

  /** That there is nothing is known when all is in memory, or there is no room for the rest. */
  async function comesMore(mine: Life, { max }: ClaimLimits): Promise<boolean> {
    const { memory } = mine;
    if (max > 0 && (await mine.lanes.bringBack(memory.read, now))) return true;
    if (memory.loading !== undefined) {
      await memory.loading.catch(() => {});
      return true;
    }
    const left = toLoad(mine).length;
    if (left === 0 || max === 0 || mine.loadFailure !== undefined) return false;
    await loadMissing(mine);
    return toLoad(mine).length < left;
  }

  /** What is claimed does not wait for it. Where it fails, a claim that finds nothing says so. */
  function bringBackBeside({ lanes: into, memory, wake }: Life): void {
    into.bringBack(memory.read, now).then(
      (isMore) => isMore && wake(),
      () => {},
    );
  }

  return {
    async claim(limits) {
      const mine = life();
      if (mine === undefined) return NOTHING;
      await catchUp(mine);
      if (!isCurrent(mine)) return NOTHING;
      const take = (): readonly ClaimRecord<Row>[] =>
        mine.lanes.take({ ...limits, mergeMax: Math.min(limits.mergeMax, mostMerged()) }, now());
      let runs = take();
      while (runs.length === 0 && (await comesMore(mine, limits))) {
        if (!isCurrent(mine)) return NOTHING;
        runs = take();
      }
      if (runs.length > 0) bringBackBeside(mine);
      if (runs.length === 0 && mine.loadFailure !== undefined) throw mine.loadFailure;
      try {
        const claims = runs.length === 0 ? [] : await mark(mine, runs);
        // What was given back is due, whatever the reason: nothing else says so.
        const nextDueAt = claims.length < runs.length ? now() : mine.lanes.nextDueAt(now());
        return { claims, nextDueAt, suspects: mine.lanes.hasSuspects() };
      } catch (error) {
        if ((error as Partial<StorageError>).code === "epoch-stale") return NOTHING;
        throw error;
      }
    },
    settle: settleAll,
    transactional,
    changed,
    remember(batch, { id, delivery, events }) {
      const mine = life();
      if (mine === undefined) return;
      mine.recent.add(id, delivery, events);
      mine.isDirty = true;
      const jobs = events.flatMap((event) => event.jobs).filter(({ state }) => state === "waiting").length;
      if (mine.stored.at(-1)?.batch !== batch) mine.stored = coming(mine);
      if (jobs > 0) mine.stored.push({ batch, jobs, receivedAt: delivery.receivedAt });
    },
    stats() {
      const mine = life();
      if (mine === undefined) return undefined;
      const { waiting, oldestWaitingAt, ...rest } = mine.lanes.stats();
      const stored = (mine.stored = coming(mine));
      const oldest = stored.reduce((at, { receivedAt }) => Math.min(at, receivedAt), oldestWaitingAt ?? Infinity);
      return {
        ...rest,
        waiting: stored.reduce((sum, { jobs }) => sum + jobs, waiting),
        oldestWaitingAt: oldest === Infinity ? undefined : oldest,
      };
    },
  };
}

const coming = ({ memory, stored }: Life): Stored[] => stored.filter(({ batch }) => !memory.hasSeen(batch));

/** Memory follows what is known to be new. */
async function catchUp(mine: Life): Promise<void> {
  while (mine.following !== undefined) await mine.following;
  if (!mine.isDirty) return;
  mine.isDirty = false;
  mine.following = mine.memory.follow();
  try {
    await mine.following;
  } catch (error) {
    mine.isDirty = true;
    throw error;
  } finally {
    mine.following = undefined;
  }
}

function passOn({ handOver }: Life, shard: number, heir: number | undefined): void {
  if (heir !== undefined) handOver.pass(shard, heir);
}
