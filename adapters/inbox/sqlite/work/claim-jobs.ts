import { setImmediate as nextTurn } from "node:timers/promises";
import type {
  Claim,
  Claimed,
  ClaimLimits,
  Delivery,
  InboxHost,
  Progress,
  Settlement,
  StorageError,
} from "../../../../src/adapter.ts";
import type { ClaimRecord } from "../../../../src/inbox/claim-book.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { LoadedJob, OtherRecord, WindowRecord } from "../thread/records.ts";
import { RUN_BYTES } from "../thread/claim-operations.ts";
import type { RemovedRows, UnusableRange } from "../thread/unusable-rows.ts";
import type { Lanes } from "./lanes.ts";
import { removeUnusable } from "./remove-unusable.ts";
import { fromLoaded, toDelivery, toOtherRecord, type Row } from "./row-encoding.ts";
import type { WorkerState } from "./worker-state.ts";

/** The verbs of the port that run work. */
export interface Claims {
  /** What is claimed is marked in the file before it runs. */
  claim(limits: ClaimLimits): Promise<Claimed>;
  /** All in one record: it is sent again whole after a failure. */
  settle(settlements: readonly Settlement[]): Promise<boolean[]>;
}

export interface ClaimsDeps {
  readonly commits: CommitQueue;
  readonly workerState: WorkerState;
  readonly host: () => InboxHost;
  /** There is something to claim. */
  readonly wake: () => void;
}

export function createClaims({ commits, workerState, host, wake }: ClaimsDeps): Claims {
  const now = (): number => host().clock.now();
  const step = (range: UnusableRange): Promise<RemovedRows> => commits.add("removeUnusable", range);
  /** With the lanes that they are for: those of a replaced file have the same ids. */
  let cache: { readonly lanes: Lanes; readonly recent: RecentDeliveries } | undefined;
  /** Of settlements that are not answered yet. */
  const answers = new Map<Claim, Promise<boolean[]>>();

  async function begin(runs: readonly ClaimRecord<Row>[], lanes: Lanes): Promise<Begun> {
    if (cache?.lanes !== lanes) cache = { lanes, recent: createRecentDeliveries() };
    if (runs.length === 0) return { claims: [], isAgain: false };
    const { recent } = cache;
    /** Undefined: it is not in the file. */
    const deliveries = new Map<number, Delivery | undefined>();
    function deliveryOf({ held, delivery }: Row): Delivery | undefined {
      if (held !== undefined) return held.hold.delivery;
      const known = deliveries.get(delivery) ?? recent.get(delivery);
      if (known !== undefined) deliveries.set(delivery, known);
      return known;
    }
    /** Runs that lack a body. */
    let left = runs;
    for (let [isFirst, isMarked] = [true, false]; !isMarked; isFirst = false) {
      const wanted: number[][] = [];
      const asked = new Set<number>();
      left = left.filter((run) => {
        if (run.rows.length > 1) shorten(run, deliveryOf, lanes);
        const lacking = run.rows.filter((row) => deliveryOf(row) === undefined && !deliveries.has(row.delivery));
        const unread = lacking.flatMap(({ delivery }) => (asked.size === asked.add(delivery).size ? [] : delivery));
        if (unread.length > 0) wanted.push(unread);
        return lacking.length > 0;
      });
      // Most are read by one commit, which marks them, too. Where it takes several, the last one does nothing else.
      const mayMark = isFirst || left.length === 0;
      const ids = mayMark ? runs.flatMap(({ rows }) => rows.flatMap((row) => (row.isMarked ? [] : row.id))) : [];
      if (ids.length + wanted.length === 0) {
        await nextTurn(); // what was just stored is to be answered first
        break;
      }
      const read = await commits.add("claim", { ids, at: now(), deliveries: wanted });
      for (const id of read.gone) deliveries.set(id, undefined);
      for (const row of read.found) {
        const delivery = toDelivery(row);
        deliveries.set(row.id, delivery);
        recent.add(row.id, delivery);
      }
      isMarked = read.isMarked && mayMark;
    }
    // What was dropped or erased meanwhile has left its lane, and its delivery may be gone with it.
    const without = runs
      .flatMap(({ rows }) => rows)
      .filter((row) => row.held === undefined && !deliveries.get(row.delivery) && lanes.has(row.id))
      .map(({ id }) => id);
    if (without.length > 0) await remove(without, lanes);
    recent.trim();
    // None where the tenure is over: another process works now.
    const claims = runs.flatMap((run) => lanes.begin(run, (id) => deliveries.get(id), now()) ?? []);
    return { claims, isAgain: claims.length === 0 && without.length > 0 };
  }

  /** The others are in the next call: it would be parsed in one turn of the event loop. */
  function shorten(run: ClaimRecord<Row>, deliveryOf: (row: Row) => Delivery | undefined, lanes: Lanes): void {
    let bytes = 0;
    let last: number | undefined;
    for (const [place, row] of run.rows.entries()) {
      if (bytes >= RUN_BYTES) return lanes.shorten(run, place, now());
      if (row.delivery !== last) bytes += deliveryOf(row)?.body.byteLength ?? 0;
      last = row.delivery;
    }
  }

  /** Jobs whose delivery is not in the file never run. */
  async function remove(ids: readonly number[], lanes: Lanes): Promise<void> {
    await removeJobs(ids);
    lanes.remove(new Set(ids), now());
  }

  /** Those of them that cannot be used. */
  async function removeJobs(ids: readonly number[]): Promise<void> {
    const { log } = host();
    await Promise.all(ids.map((id) => removeUnusable({ from: "job", after: id - 1, to: id }, { step, log })));
  }

  async function readJobs(ids: readonly number[]): Promise<readonly Row[]> {
    const read = (): Promise<string> => commits.add("openJobsOf", ids);
    const text = await read().catch(async (error: unknown) => {
      if ((error as Partial<StorageError>).code !== "storage-failed") throw error;
      await removeJobs(ids); // one of them cannot be read
      return read();
    });
    return (JSON.parse(text) as LoadedJob[]).map(fromLoaded);
  }

  function notBack(err: unknown): void {
    host().log.error({ err, code: "jobs-not-read" }, "jobs that are due cannot be read from the file: trying again");
  }

  async function claimJobs(limits: ClaimLimits): Promise<Claimed> {
    const { lanes } = workerState;
    let runs = lanes.take(limits, now());
    while (runs.length === 0 && limits.max > 0 && (await lanes.bringBack(readJobs, now)))
      runs = lanes.take(limits, now());
    // What is claimed does not wait for it.
    if (runs.length > 0) lanes.bringBack(readJobs, now).then((isMore) => isMore && wake(), notBack);
    try {
      const { claims, isAgain } = await begin(runs, lanes);
      if (isAgain) return await claimJobs(limits);
      return { claims, nextDueAt: lanes.nextDueAt(now()), suspects: lanes.hasSuspects() };
    } catch (error) {
      for (const run of runs) if (run.state === "ahead") lanes.giveBack(run, now());
      if ((error as Partial<StorageError>).code === "epoch-stale") return NOTHING;
      throw error;
    }
  }

  async function settleNow(settlements: readonly Settlement[]): Promise<boolean[]> {
    const { lanes } = workerState;
    const plans = settlements.map(({ claim, outcomes }) => lanes.plan(claim, outcomes, now()));
    if (plans.every((plan) => plan === undefined)) return plans.map(() => false);
    let refused: ReadonlySet<number>;
    try {
      const jobs = plans.reduce((sum, plan) => sum + (plan?.rows.length ?? 0), 0);
      const size = { items: Math.ceil(jobs / SETTLED_PER_ITEM), bytes: 0 };
      refused = new Set(await commits.add("settle", () => toSettleRecord(plans, settlements), size));
    } catch (error) {
      for (const { claim } of settlements) lanes.handlerEnded(claim, now());
      if ((error as StorageError).code === "epoch-stale") return settlements.map(() => false);
      for (const plan of plans) if (plan !== undefined) lanes.mayNotHold(plan);
      throw error;
    }
    const jobIds = [...refused].map(String);
    if (jobIds.length > 0)
      host().log.error(
        { code: "settle-refused", jobIds },
        "jobs are dead, because what became of them could not be stored",
      );
    return plans.map((plan) => plan !== undefined && lanes.holds(asStored(plan, refused), now()));
  }

  return {
    claim: claimJobs,
    settle(settlements) {
      // One that hangs comes again: while it may still hold, and may still fail, the claim is not lost.
      const earlier = settlements.flatMap(({ claim }) => answers.get(claim) ?? []);
      const answer =
        earlier.length === 0 ? settleNow(settlements) : Promise.allSettled(earlier).then(() => settleNow(settlements));
      for (const { claim } of settlements) answers.set(claim, answer);
      const answered = (): void => {
        for (const { claim } of settlements) if (answers.get(claim) === answer) answers.delete(claim);
      };
      answer.then(answered, answered);
      return answer;
    },
  };
}

/** What could not be stored of a job is its end. */
function asStored(plan: ClaimRecord<Row>, refused: ReadonlySet<number>): ClaimRecord<Row> {
  if (refused.size === 0) return plan;
  plan.progress = plan.rows.map((row, index): Progress => {
    const planned = plan.progress?.[index] ?? row.progress;
    return { ...planned, state: refused.has(row.id) ? "dead" : plan.progress === undefined ? "done" : planned.state };
  });
  return plan;
}

interface Begun {
  readonly claims: readonly Claim[];
  /** None could begin, because some were removed: the others are due still, and nothing else says so. */
  readonly isAgain: boolean;
}

/** Jobs that end in the time that one delivery is stored in, or less. */
const SETTLED_PER_ITEM = 10;

/** Another process works now. */
const NOTHING: Claimed = { claims: [], nextDueAt: undefined, suspects: false };

function toSettleRecord(plans: readonly (ClaimRecord<Row> | undefined)[], settlements: readonly Settlement[]) {
  const [done, released]: [number[], number[]] = [[], []];
  const [others, windows]: [OtherRecord[], WindowRecord[]] = [[], []];
  for (const [index, plan] of plans.entries()) {
    const lane = plan?.rows[0]?.lane;
    if (plan?.window !== undefined && lane !== undefined) windows.push([lane, plan.window]);
    for (const [job, row] of plan?.rows.entries() ?? []) {
      const progress = plan?.progress?.[job];
      if (progress === undefined || progress.state === "done") done.push(row.id);
      // A release takes back what only the mark had said, and the time of an earlier retry.
      else if (settlements[index]?.outcomes[job]?.to === "release" && row.progress.runAt === 0) released.push(row.id);
      else others.push(toOtherRecord(row.id, progress));
    }
  }
  return { done, released, others, windows };
}

/** The deliveries that claims read last: the jobs of one are claimed a few at a time, and its body is read and parsed once. */
interface RecentDeliveries {
  get(id: number): Delivery | undefined;
  add(id: number, delivery: Delivery): void;
  /** Forgets those that were asked for longest ago, beyond the bytes of bodies that may be remembered. */
  trim(): void;
}

const RECENT_BYTES = 16 * 1024 * 1024;

function createRecentDeliveries(): RecentDeliveries {
  const deliveries = new Map<number, Delivery>();
  let bytes = 0;
  return {
    get(id) {
      const found = deliveries.get(id);
      if (found === undefined) return undefined;
      deliveries.delete(id);
      deliveries.set(id, found);
      return found;
    },
    add(id, delivery) {
      if (!deliveries.has(id)) bytes += delivery.body.byteLength;
      deliveries.set(id, delivery);
    },
    trim() {
      for (const [id, { body }] of deliveries) {
        if (bytes <= RECENT_BYTES || deliveries.size === 1) return;
        deliveries.delete(id);
        bytes -= body.byteLength;
      }
    },
  };
}
