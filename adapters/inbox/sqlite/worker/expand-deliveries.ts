import type { Delivery, Expanded, WorkingInbox } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../client/commit-queue.ts";
import type { EventRecord, ExpandRecord } from "../client/thread-protocol.ts";
import { toDelivery, toEventRecord } from "./row-encoding.ts";
import type { WorkerState } from "./worker-state.ts";

export interface ExpandDeps {
  readonly commits: CommitQueue;
  readonly workerState: WorkerState;
  /** Waiting in memory; beyond it deliveries wait unexpanded in the file. */
  readonly maxJobs: number;
  readonly now: () => number;
  /** There was a lifecycle notice. */
  readonly noted: () => void;
}

/** The verbs of the port that make jobs of what was stored without. */
export function createExpand({
  commits,
  workerState,
  maxJobs,
  now,
  noted,
}: ExpandDeps): Pick<WorkingInbox, "unexpanded" | "expand"> {
  /** Those that were given last: their jobs hold them, and need not read them back. */
  let given = new Map<string, Delivery>();

  return {
    async unexpanded(max) {
      given = new Map();
      if (workerState.lanes.size >= maxJobs) return [];
      const rows = await commits.add("unexpanded", max);
      return rows.map(({ cursor, ...row }) => {
        const [id, delivery] = [String(row.id), toDelivery(row)];
        given.set(id, delivery);
        return { id, delivery, cursor };
      });
    },
    async expand(expansions) {
      const at = now();
      const records: (readonly EventRecord[])[] = [];
      const items = expansions.map(({ id, events, cursor }, index) => ({
        input(): ExpandRecord {
          const made = events.map((event) => toEventRecord(event, workerState.lanes.speculate));
          records[index] = made;
          return { id: Number(id), events: made, cursor, at };
        },
        body: undefined,
      }));
      const outcomes = await commits.addAll("expand", items);
      if (records.some((made) => made?.some((event) => event[6] !== undefined))) noted();
      return outcomes.map((outcome, index): Expanded => {
        if ("error" in outcome) throw outcome.error;
        const made = outcome.value;
        const { id, events } = expansions[index] as (typeof expansions)[number];
        if (made === undefined) return NOTHING;
        const origin = { id: Number(id), receivedAt: made.receivedAt, delivery: given.get(id) };
        workerState.appendExpanded(origin, { events, records: records[index] ?? [] }, made);
        return { duplicates: made.duplicates, conflicts: made.conflicts };
      });
    },
  };
}

const NOTHING: Expanded = { duplicates: [], conflicts: [] };
