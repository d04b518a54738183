import {
  STORED_BEFORE,
  StorageError,
  type Delivery,
  type Expanded,
  type Expansion,
  type InboxHost,
  type NewDelivery,
  type StoreResult,
  type WorkingInbox,
} from "../../../../src/adapter.ts";
import type { BatchWriter } from "../store/delivery-record.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { NewJobs, StoreInput, StoreOutput } from "../thread/records.ts";
import type { RemovedRows, UnusableRange } from "../thread/unusable-rows.ts";
import { removeUnusable } from "./remove-unusable.ts";
import { toDelivery, toNewJobs } from "./row-encoding.ts";
import type { WorkerState } from "./worker-state.ts";

export interface IncomingDeps {
  readonly commits: CommitQueue;
  readonly workerState: WorkerState;
  readonly host: () => InboxHost;
  /** Why nothing more is to be stored. */
  readonly shortage: () => StorageError | undefined;
  /** There may have been a lifecycle notice. */
  readonly noted: () => void;
}

/** The verbs of the port that take deliveries in, and make jobs of them. */
export function createIncoming({
  commits,
  workerState,
  host,
  shortage,
  noted,
}: IncomingDeps): Pick<WorkingInbox, "store" | "unexpanded" | "expand"> {
  const now = (): number => host().clock.now();
  /** Those that were given last: their jobs hold them, and need not read them back. */
  let given = new Map<string, Delivery>();

  /** Puts what came in into the commit, and says what jobs it is to make. */
  function write(batch: BatchWriter, deliveries: readonly NewDelivery[], made: (NewJobs | undefined)[]): StoreInput {
    made.length = 0; // it may be asked for once more
    const offset = batch.size;
    const works = workerState.isLoaded && workerState.lanes.hasRoom(now()); // asked once: to make room takes its time
    for (const one of deliveries) {
      const { events } = one;
      const jobs = works && events !== undefined ? toNewJobs(events, workerState.lanes.speculate) : undefined;
      made.push(jobs);
      batch.add(one, jobs);
    }
    return { offset, count: deliveries.length, at: now() };
  }

  /** Puts the jobs that were made into their lanes. */
  function toResults(
    deliveries: readonly NewDelivery[],
    made: readonly (NewJobs | undefined)[],
    output: StoreOutput,
  ): StoreResult[] {
    let nextId = output.firstId;
    return deliveries.map(({ delivery, events = [] }, place) => {
      if (output.repeated.includes(place)) return STORED_BEFORE;
      const [id, states] = [nextId, made[place]?.states ?? ""];
      nextId += 1;
      if (place >= output.expanded) return { id: String(id), expanded: false, ...NOTHING };
      nextId += states.length;
      const seen = output.seen.find(([of]) => of === place)?.[1] ?? NOTHING;
      const origin = { id, receivedAt: delivery.receivedAt, delivery };
      workerState.appendNew(origin, { events, states, firstJob: id + 1, duplicates: seen.duplicates });
      return { id: String(id), expanded: true, duplicates: seen.duplicates, conflicts: seen.conflicts };
    });
  }

  async function store(deliveries: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]> {
    const none = shortage();
    if (none !== undefined) return deliveries.map(() => none);
    const made: (NewJobs | undefined)[] = [];
    const bytes = deliveries.reduce((sum, { delivery }) => sum + delivery.body.byteLength, 0);
    const size = { items: deliveries.length, bytes };
    try {
      const output = await commits.add("store", (batch) => write(batch, deliveries, made), size);
      if (made.some((jobs) => (jobs?.extras ?? null) !== null)) noted();
      return toResults(deliveries, made, output);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (deliveries.length === 1 || error.code !== "storage-failed") return deliveries.map(() => error);
      // One of them may not fit the tables: the others are not to fail with it.
      return (await Promise.all(deliveries.map((one) => store([one])))).flat();
    }
  }

  const step = (range: UnusableRange): Promise<RemovedRows> => commits.add("removeUnusable", range);

  async function expandOne({ id, events, cursor }: Expansion, at: number): Promise<Expanded> {
    let made: NewJobs | undefined;
    const output = await commits.add("expand", () => {
      made = toNewJobs(events, workerState.lanes.speculate);
      return { ...made, id: Number(id), from: events[0]?.entry ?? cursor, cursor, at };
    });
    if (output === undefined || made === undefined) return NOTHING;
    if (made.extras !== null) noted();
    const { firstJob, receivedAt, duplicates, conflicts } = output;
    const origin = { id: Number(id), receivedAt, delivery: given.get(id) };
    workerState.appendNew(origin, { events, states: made.states, firstJob, duplicates });
    return { duplicates, conflicts };
  }

  return {
    store,
    async unexpanded(max) {
      given = new Map();
      if (!workerState.lanes.hasRoom(now())) return [];
      const { rows, hasUnusable } = await commits.add("unexpanded", max);
      // They keep what comes after them from being expanded at once.
      if (hasUnusable) await removeUnusable({ from: "unexpanded", after: 0 }, { step, log: host().log });
      return rows.map(({ cursor, ...row }) => {
        const [id, delivery] = [String(row.id), toDelivery(row)];
        given.set(id, delivery);
        return { id, delivery, cursor };
      });
    },
    async expand(expansions) {
      const at = now();
      // All in one commit, and each by itself: one that does not fit the tables is not to stop the others.
      const expanded = await Promise.allSettled(expansions.map((expansion) => expandOne(expansion, at)));
      return expanded.map((one) => {
        if (one.status === "rejected") throw one.reason;
        return one.value;
      });
    },
  };
}

const NOTHING: Expanded = { duplicates: [], conflicts: [] };
