import type {
  Claim,
  Claimed,
  ClaimLimits,
  Delivery,
  InboxStats,
  NewEvent,
  Settlement,
  StorageError,
  Transactional,
} from "../../../../src/adapter.ts";
import { createTransactions } from "../complete.ts";
import type { Lanes, Plan, Row } from "./lanes.ts";
import { createRecentDeliveries } from "./recent-deliveries.ts";
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
  remember(id: number, delivery: Delivery, events: readonly NewEvent[]): void;
  stats(): Pick<InboxStats, "waiting" | "running" | "blockedLanes" | "oldestWaitingAt"> | undefined;
}

export interface WorkerClaimsDeps {
  /** Undefined while this process does not work. */
  readonly life: () => Life | undefined;
  readonly now: () => number;
  readonly leaseMs: number;
  /** Asks for claims in a transaction of the application. */
  readonly transactions: Pick<Parameters<typeof createTransactions>[0], "ident" | "queries" | "pause">;
  /** Jobs ended otherwise than done. */
  readonly ended: (states: readonly ("dead" | "unhandled")[]) => void;
}

/** One registration as a worker. What awaits must see that it is still the current one. */
export interface Life {
  readonly id: number;
  readonly lanes: Lanes;
  readonly memory: ShardMemory;
  readonly steps: WorkSteps;
  readonly leaving: Set<number>;
  owned: ReadonlySet<number>;
  workersAlive: number;
  /** Memory is behind the tables. */
  isDirty: boolean;
  following: Promise<void> | undefined;
  hasUnexpanded: boolean;
  /** Of the monotonic clock: when the last step that holds was sent. */
  confirmedAt: number;
}

/** Of the lease: where a step took longer, another process may soon take over, and nothing is started. */
const STALLED = 0.6;

const NOTHING: Claimed = { claims: [], nextDueAt: undefined, suspects: false };

export function createWorkerClaims({ life, now, leaseMs, transactions, ended }: WorkerClaimsDeps): WorkerClaims {
  const recent = createRecentDeliveries();
  /** Jobs that this process stored, and memory has not yet. */
  let coming: readonly { readonly jobs: number; readonly receivedAt: number }[] = [];

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

  /** Memory follows what is known to be new. */
  async function catchUp(mine: Life): Promise<void> {
    if (mine.following !== undefined) await mine.following;
    if (!mine.isDirty) return;
    mine.isDirty = false;
    const known = new Set(coming);
    mine.following = mine.memory.follow();
    try {
      await mine.following;
      coming = coming.filter((one) => !known.has(one));
    } catch (error) {
      mine.isDirty = true;
      throw error;
    } finally {
      mine.following = undefined;
    }
  }

  async function mark(mine: Life, runs: readonly (readonly Row[])[]): Promise<Claim[]> {
    const wanted = runs.flat().filter(({ delivery, entry }) => recent.find(delivery, entry) === undefined);
    const { there, deliveries } = await mine.steps.mark(runs, wanted);
    for (const [id, delivery] of deliveries) recent.add(id, delivery);
    if (!isCurrent(mine)) return [];
    // Its answer came so late that another process may soon take over.
    const isLate = performance.now() - mine.confirmedAt > STALLED * leaseMs;
    return runs.flatMap((run) => {
      if (isLate) mine.lanes.release(run, now());
      if (isLate) return [];
      const claim = mine.lanes.begin(
        run,
        ({ id, delivery, entry }) => {
          if (!there.has(id)) return undefined;
          const read = deliveries.get(delivery);
          return recent.find(delivery, entry) ?? (read && { delivery: read, event: undefined });
        },
        now(),
      );
      return claim ?? [];
    });
  }

  async function settleOne({ claim, outcomes }: Settlement): Promise<boolean> {
    const mine = life();
    const plan = mine?.lanes.plan(claim, outcomes, now());
    if (mine === undefined || plan === undefined) return false;
    try {
      const holds = await mine.steps.settle(plan, { isUnsure: completed.has(claim) });
      if (!mine.lanes.settle(plan, now())) return false;
      if (holds) tellEnded(plan);
      return holds;
    } catch (error) {
      life()?.lanes.endLost(claim, now());
      if ((error as Partial<StorageError>).code === "epoch-stale") return false;
      mine.lanes.unplan(claim);
      throw error;
    }
  }

  function tellEnded({ progress }: Plan): void {
    const states = progress.flatMap(({ state }) => (state === "dead" || state === "unhandled" ? [state] : []));
    if (states.length > 0) ended(states);
  }

  return {
    async claim(limits) {
      const mine = life();
      if (mine === undefined) return NOTHING;
      await catchUp(mine);
      if (!isCurrent(mine)) return NOTHING;
      const runs = mine.lanes.take(limits, now());
      try {
        const claims = runs.length === 0 ? [] : await mark(mine, runs);
        return { claims, nextDueAt: mine.lanes.nextDueAt(), suspects: mine.lanes.hasSuspects() };
      } catch (error) {
        for (const run of runs) mine.lanes.release(run, now());
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
    remember(id, delivery, events) {
      const mine = life();
      if (mine === undefined) return;
      recent.add(id, delivery, events);
      mine.isDirty = true;
      const jobs = events.flatMap((event) => event.jobs).filter(({ state }) => state === "waiting").length;
      if (jobs > 0) coming = [...coming, { jobs, receivedAt: delivery.receivedAt }];
    },
    stats() {
      const mine = life();
      if (mine === undefined) return undefined;
      const { waiting, oldestWaitingAt, ...rest } = mine.lanes.stats();
      const oldest = Math.min(oldestWaitingAt ?? Infinity, ...coming.map(({ receivedAt }) => receivedAt));
      return {
        ...rest,
        waiting: coming.reduce((sum, { jobs }) => sum + jobs, waiting),
        oldestWaitingAt: oldest === Infinity ? undefined : oldest,
      };
    },
  };
}
