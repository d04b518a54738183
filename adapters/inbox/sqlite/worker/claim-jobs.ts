import { setImmediate as nextTurn } from "node:timers/promises";
import type { Claim, Claimed, ClaimLimits, Settlement, StorageError } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { OtherRecord, SettleRecord, WindowRecord } from "../client/thread-protocol.ts";
import type { Lanes, Taken } from "./lanes.ts";
import { toDelivery, toOtherRecord } from "./row-encoding.ts";
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
  readonly now: () => number;
}

export function createClaims({ commits, workerState, now }: ClaimsDeps): Claims {
  async function begin({ runs, isMarked }: Taken, lanes: Lanes): Promise<Claim[]> {
    const missing = new Set(runs.flat().flatMap(({ held, delivery }) => (held === undefined ? [delivery] : [])));
    // Where it is not marked, also if nothing is read: the mark goes with it. And what was just stored is to be answered first.
    const rows = isMarked && missing.size === 0 ? await nextTurn([]) : await commits.add("deliveries", [...missing]);
    if (workerState.lanes !== lanes) return []; // another process works now
    const found = new Map(rows.map((row) => [row.id, toDelivery(row)]));
    return runs.flatMap((run) => lanes.begin(run, (id) => found.get(id), now()) ?? []);
  }

  return {
    async claim(limits) {
      const { lanes } = workerState;
      const taken = lanes.take(limits, now());
      try {
        const claims = taken.runs.length === 0 ? [] : await begin(taken, lanes);
        return { claims, nextDueAt: lanes.nextDueAt(), suspects: lanes.hasSuspects() };
      } catch (error) {
        for (const run of taken.runs) lanes.release(run, now());
        throw error;
      }
    },
    async settle(settlements) {
      const { lanes } = workerState;
      const plans = settlements.map(({ claim, outcomes }) => lanes.plan(claim, outcomes, now()));
      const [done, others, windows]: [number[], OtherRecord[], WindowRecord[]] = [[], [], []];
      for (const [index, plan] of plans.entries()) {
        if (plan?.window !== undefined) windows.push(plan.window);
        for (const [job, { row, progress }] of plan?.jobs.entries() ?? []) {
          if (progress.state === "done") done.push(row.id);
          // A release takes back what only the mark had said, and the time of an earlier retry.
          else if (settlements[index]?.outcomes[job]?.to !== "release" || row.progress.runAt !== 0)
            others.push(toOtherRecord(row.id, progress));
        }
      }
      try {
        await commits.add("settle", { done, others, windows } satisfies SettleRecord);
      } catch (error) {
        for (const { claim } of settlements) if (workerState.lanes !== lanes) workerState.lanes.endLost(claim, now());
        if ((error as StorageError).code === "epoch-stale") return settlements.map(() => false);
        for (const { claim } of settlements) lanes.unplan(claim);
        throw error;
      }
      for (const { claim } of settlements) if (workerState.lanes !== lanes) workerState.lanes.endLost(claim, now());
      return settlements.map(({ claim }, index) => {
        const plan = plans[index];
        return plan !== undefined && lanes.settle(claim, plan, now());
      });
    },
  };
}
