import {
  settled,
  type Claim,
  type Claimed,
  type ClaimLimits,
  type Delivery,
  type InboxStats,
  type NewEvent,
  type Progress,
  type Settlement,
  type StorageError,
  type Transactional,
} from "../../../../src/adapter.ts";
import { createTransactions } from "../complete.ts";
import { isRefusal, isUnreadable } from "../connection/to-storage-error.ts";
import { toText } from "../store/encode-batch.ts";
import { endOrphans, type OrphanDeps } from "./end-orphans.ts";
import type { HandOver } from "./hand-over.ts";
import type { Lanes, Origin, Plan, Row } from "./lanes.ts";
import type { OtherWorkers } from "./other-workers.ts";
import type { RecentDeliveries } from "./recent-deliveries.ts";
import type { ShardMemory } from "./shard-memory.ts";
import type { WorkSteps } from "./work-steps.ts";

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
  stats(): Pick<InboxStats, "waiting" | "running" | "blockedLanes" | "oldestWaitingAt"> | undefined;
}

export interface WorkerClaimsDeps {
  /** Undefined while this process does not work. */
  readonly life: () => Life | undefined;
  readonly now: () => number;
  readonly leaseMs: number;
  /** Asks for claims in a transaction of the application. */
  readonly transactions: Pick<Parameters<typeof createTransactions>[0], "ident" | "queries" | "pause">;
  /** The handler of a claim has ended, while this process did not work. */
  readonly handlerEnded: (claim: Claim) => void;
  readonly orphaned: OrphanDeps["orphaned"];
  /** Jobs ended otherwise than done. */
  readonly ended: (states: readonly ("dead" | "unhandled")[]) => void;
}

/** One registration as a worker. What awaits must see that it is still the current one. */
export interface Life {
  readonly id: number;
  readonly lanes: Lanes;
  readonly recent: RecentDeliveries;
  /** What this process stored, and memory may not have yet. */
  stored: Stored[];
  readonly memory: ShardMemory;
  readonly steps: WorkSteps;
  readonly handOver: HandOver;
  readonly others: OtherWorkers;
  owned: ReadonlySet<number>;
  /** It may claim. */
  hasBegun: boolean;
  /** The unhandled jobs that are its to look at: where it does not expand, those that the one that expands would leave where they are. */
  looksAt: "all" | "own" | "none";
  /** It was told to look at them since workers last came or went. */
  hasReopened: boolean;
  /** Why some of its shards could not be loaded, at the last try. */
  loadFailure: StorageError | undefined;
  /** Memory is behind the tables. */
  isDirty: boolean;
  following: Promise<void> | undefined;
  hasUnexpanded: boolean;
  /** Of the monotonic clock: when the last step that holds was sent. */
  confirmedAt: number;
}

type Batch = Parameters<ShardMemory["hasSeen"]>[0];

interface Stored {
  readonly batch: Batch;
  readonly jobs: number;
  readonly receivedAt: number;
}

/** Of the lease: where a step took longer, another process may soon take over, and nothing is started. */
const STALLED = 0.6;

const NOTHING: Claimed = { claims: [], nextDueAt: undefined, suspects: false };

export function createWorkerClaims({
  life,
  now,
  leaseMs,
  transactions,
  handlerEnded,
  orphaned,
  ended,
}: WorkerClaimsDeps): WorkerClaims {
  /** Claims whose jobs a transaction of the application may have ended. */
  const completed = new WeakSet<Claim>();
  const transactional = createTransactions({
    ...transactions,
    claimed(claim) {
      const mine = life();
      const rows = mine?.lanes.runOf(claim);
      return mine === undefined || rows === undefined ? undefined : { worker: mine.id, rows };
    },
    completed: (claim) => void completed.add(claim),
  });

  const isCurrent = (mine: Life): boolean => life() === mine;

  async function mark(mine: Life, runs: readonly (readonly Row[])[]): Promise<Claim[]> {
    // Held until then: what is read, or stored meanwhile, may displace it.
    const known = new Map<Row, Origin>();
    const wanted: Row[] = [];
    for (const row of runs.flat()) {
      const origin = mine.recent.find(row.delivery, row.entry);
      if (origin === undefined) wanted.push(row);
      else known.set(row, origin);
    }
    let marked: Awaited<ReturnType<WorkSteps["mark"]>>;
    try {
      marked = await mine.steps.mark(runs, wanted);
    } catch (error) {
      if ((isRefusal(error) || isUnreadable(error)) && isCurrent(mine))
        return markSingly(mine, runs, error as StorageError);
      for (const run of runs) mine.lanes.release(run, now());
      throw error;
    }
    const { gone, deliveries } = marked;
    for (const [id, delivery] of deliveries) mine.recent.add(id, delivery);
    const lacksDelivery = (row: Row): boolean => !gone.has(row.id) && !known.has(row) && !deliveries.has(row.delivery);
    const lacking = runs.flat().filter(lacksDelivery);
    // Where it fails, they wait, and are claimed again.
    if (lacking.length > 0) await endOrphans(mine, lacking, { ...transactions, now, orphaned }).catch(() => {});
    if (!isCurrent(mine)) return [];
    // Its answer came so late that another process may soon take over.
    const isLate = performance.now() - mine.confirmedAt > STALLED * leaseMs;
    return runs.flatMap((run) => {
      if (isLate || run.some(lacksDelivery)) {
        mine.lanes.release(run, now());
        return [];
      }
      const claim = mine.lanes.begin(
        run,
        (row) => {
          if (gone.has(row.id)) return undefined;
          const read = deliveries.get(row.delivery);
          return known.get(row) ?? (read && { delivery: read, event: undefined });
        },
        now(),
      );
      return claim ?? [];
    });
  }

  /** One that the server refuses alone is dead: a delivery that it cannot read, say. */
  async function markSingly(mine: Life, runs: readonly (readonly Row[])[], refusal: StorageError): Promise<Claim[]> {
    const [run, ...rest] = runs;
    if (rest.length > 0) {
      const each = await Promise.allSettled(runs.map((one) => mark(mine, [one])));
      return each.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    }
    if (run === undefined) return [];
    const error = { name: refusal.name, message: toText(refusal.message), at: now() };
    const progress = run.map((row) => settled(row.progress, { to: "dead", error }, now()));
    const ending = await mine.steps.settle({ run, progress, window: undefined });
    mine.lanes.begin(run, () => undefined, now());
    tellEnded(ending);
    return [];
  }

  /** All that waits now, of whatever process, is to be in the lanes. */
  async function lookBehind(): Promise<void> {
    const mine = life();
    if (mine === undefined) return;
    mine.isDirty = true;
    // What is not known keeps its own time: better than a job that is not settled.
    await catchUp(mine).catch(() => {});
  }

  async function settleOne({ claim, outcomes }: Settlement): Promise<boolean> {
    if (outcomes.some((outcome) => outcome.to === "dead" && outcome.ofWindow === true)) await lookBehind();
    const mine = life();
    if (mine === undefined) handlerEnded(claim);
    const plan = mine?.lanes.plan(claim, outcomes, now());
    if (mine === undefined || plan === undefined) return false;
    try {
      const { holds, passed, progress } = await mine.steps.settle(plan, { isUnsure: completed.has(claim) });
      const known = { ...plan, progress: passed.size === 0 ? progress : progress.map(unlessPassed(plan, passed)) };
      if (!mine.lanes.settle(known, now())) return false;
      // Not earlier: the job is in its lane again, and leaves with it.
      if (isCurrent(mine)) for (const { id, shard } of plan.run) passOn(mine, shard, passed.get(id));
      if (holds) tellEnded(known);
      return holds;
    } catch (error) {
      life()?.lanes.endLost(claim, now());
      if ((error as Partial<StorageError>).code === "epoch-stale") return false;
      mine.lanes.unplan(claim);
      throw error;
    }
  }

  /** Such a job was not claimed. */
  function unlessPassed({ run }: Plan, passed: ReadonlyMap<number, number>) {
    return (progress: Progress, place: number): Progress => {
      const row = run[place];
      return row !== undefined && passed.has(row.id) ? settled(row.progress, { to: "release" }, now()) : progress;
    };
  }

  function tellEnded({ progress }: Pick<Plan, "progress">): void {
    const states = progress.flatMap(({ state }) => (state === "dead" || state === "unhandled" ? [state] : []));
    if (states.length > 0) ended(states);
  }

  return {
    async claim(limits) {
      const mine = life();
      if (mine === undefined) return NOTHING;
      await catchUp(mine);
      if (!isCurrent(mine)) return NOTHING;
      let runs = mine.lanes.take(limits, now());
      // That there is nothing is known when all is in memory.
      while (runs.length === 0 && mine.memory.loading !== undefined) {
        await mine.memory.loading.catch(() => {});
        if (!isCurrent(mine)) return NOTHING;
        runs = mine.lanes.take(limits, now());
      }
      if (runs.length === 0 && mine.loadFailure !== undefined) throw mine.loadFailure;
      try {
        const claims = runs.length === 0 ? [] : await mark(mine, runs);
        return { claims, nextDueAt: mine.lanes.nextDueAt(), suspects: mine.lanes.hasSuspects() };
      } catch (error) {
        if ((error as Partial<StorageError>).code === "epoch-stale") return NOTHING;
        throw error;
      }
    },
    settle: (settlements) => Promise.all(settlements.map(settleOne)),
    transactional,
    async changed() {
      const mine = life();
      if (mine === undefined) return;
      mine.isDirty = true;
      await catchUp(mine);
    },
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
