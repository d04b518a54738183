import { setImmediate as nextTurn } from "node:timers/promises";
import { StorageError } from "../../../../src/adapter.ts";
import { READS, type Operations } from "../thread/operations.ts";
import { toTaskError, type Batch, type Task, type TaskError, type TaskResult } from "../thread/transaction.ts";
import type { WorkerState } from "../work/worker-state.ts";
import { createBatchMemory, type BatchWriter } from "./delivery-record.ts";
import type { ThreadClient } from "../thread/thread-client.ts";
import { isDoubtful, toStorageError } from "../connection/to-storage-error.ts";

type Verb = keyof Operations;
type Input<V extends Verb> = Parameters<Operations[V]>[0];
type Output<V extends Verb> = ReturnType<Operations[V]>;

/** Gathers what comes in one turn of the loop into one transaction; while that runs, the next one fills. */
export interface CommitQueue {
  /**
   * Results come in the order of the commit, which is that of its ids: what appends to lanes does so in the first reaction to its result.
   * Rejects with a StorageError: by itself where only this failed, with all others where the file did.
   * @param input a function is asked when the commit is put together
   */
  add<V extends Verb>(verb: V, input: Input<V> | ((batch: BatchWriter) => Input<V>), size?: Size): Promise<Output<V>>;
  /** Another process took over: rejects queued tasks that only the worker may run. */
  rejectWorkerTasks(): void;
  /** Resolves when everything that was added has its result. */
  drained(): Promise<void>;
}

/** What a task adds to a commit. */
interface Size {
  readonly items: number;
  readonly bytes: number;
}

export interface CommitQueueOptions {
  readonly channel: () => ThreadClient;
  readonly workerState: Pick<WorkerState, "epoch" | "lanes">;
  /** Another process took over: this one has no epoch any more. */
  readonly fenced: () => void;
  /** A commit's outcome is unknown: the file must be reopened. */
  readonly distrust: (error: StorageError) => void;
}

interface Waiting {
  readonly verb: Verb;
  readonly input: unknown;
  readonly size: Size;
  resolve(value: unknown): void;
  reject(error: StorageError): void;
}

/**
 * What ends a job goes first, then what is new, then what is claimed and read. What waited unexpanded goes before what is new, and is read
 * after it: else a steady stream would be stored unexpanded for ever, each delivery because of the one before.
 */
const PHASE: Partial<Record<Verb, number>> = { settle: 1, expand: 1, claim: 3, unexpanded: 3 };
const ANY = 2;

/** Only the active worker does this: never without its epoch. */
const WORKER_ONLY: ReadonlySet<Verb> = new Set([
  "settle",
  "claim",
  "expand",
  "reopen",
  "retain",
  "removeBodies",
  "vacuum",
  "removeUnusable",
  "putKeyValue",
]);
/** Only the active worker does this, or a process that holds the worker lock. */
const ADMIN: ReadonlySet<Verb> = new Set(["runRequest", "failRequest"]);

/** How a task ended: as the thread says, or as the thread itself did. */
type Result = TaskResult | { readonly error: StorageError };

/**
 * One transaction takes no more than this beside its first task, so that one giant body does not hold up the rest. A store brings at most 500
 * deliveries: `src/inbox/batcher.ts`.
 */
const MAX_ITEMS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;
const ONE: Size = { items: 1, bytes: 0 };

export function createCommitQueue(options: CommitQueueOptions): CommitQueue {
  const { channel, workerState, fenced, distrust } = options;
  const memory = createBatchMemory();
  /** Queries wait beside the rest: they take no lock, and stand in no commit's way. */
  let [queue, queries]: [Waiting[], Waiting[]] = [[], []];
  let running = false;
  let hasFailed = false;
  const idle: (() => void)[] = [];

  /**
   * Fresh jobs that nobody claimed in time are to wait like all others: for them a commit is due even without tasks. Where one just failed
   * to put them back, the next one that has a task takes them with it.
   */
  const isDue = (): boolean => !hasFailed && workerState.epoch !== undefined && workerState.lanes.isMarkedUnclaimed;

  async function run(): Promise<void> {
    while (queue.length > 0 || queries.length > 0 || isDue()) {
      if (queue.length > 0 || isDue()) await commit(nextBatch());
      if (queries.length > 0) await commit(queries.splice(0, 1));
      await gather();
    }
    running = false;
    for (const resolve of idle.splice(0)) resolve();
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const mine = workerState.epoch;
    const results = await resultsOf(batch);
    if (mine !== undefined && results.some(isStaleEpoch) && workerState.epoch === mine) fenced();
    const again: Waiting[] = [];
    for (const [index, waiting] of batch.entries()) {
      const result = results[index];
      // What a process may do that does not work was in the wrong company.
      if (isStaleEpoch(result) && needsNoEpoch(waiting)) again.push(waiting);
      else if (result === undefined || "error" in result) waiting.reject(toError(result));
      else waiting.resolve(result.value);
    }
    queue.unshift(...again);
  }

  async function resultsOf(batch: readonly Waiting[]): Promise<readonly Result[]> {
    let ids: readonly number[] = [];
    try {
      const thread = channel(); // without it nothing is encoded
      const writer = memory.begin();
      if (!batch.some(isQuery) && workerState.epoch !== undefined) ids = workerState.lanes.takeBackUnclaimed();
      const unwritten = new Map<Waiting, Result>();
      const tasks = batch.flatMap((waiting): Task[] => {
        const { verb, input } = waiting;
        if (typeof input !== "function") return [{ verb, input }];
        try {
          return [{ verb, input: (input as (batch: BatchWriter) => unknown)(writer) }];
        } catch (cause) {
          // It is too long for any text or memory, say: the others do not fail with it.
          const text = `What is to be stored cannot be written: ${String(cause)}`;
          unwritten.set(waiting, { error: new StorageError("storage-failed", text, { cause }) });
          return [];
        }
      });
      // It goes last: its result then shifts no other result.
      if (ids.length > 0) tasks.push({ verb: "unclaim", input: ids });
      const results = await send(thread, { epoch: workerState.epoch, tasks, bytes: writer.bytes() });
      look(results);
      const unclaim = ids.length > 0 ? results[tasks.length - 1] : undefined;
      hasFailed = unclaim !== undefined && "error" in unclaim;
      if (hasFailed) workerState.lanes.unclaimFailed();
      if (unwritten.size === 0) return results;
      const rest = results.values();
      return batch.map((waiting) => unwritten.get(waiting) ?? (rest.next().value as Result));
    } catch (error) {
      memory.discard();
      hasFailed = true;
      if (ids.length > 0) workerState.lanes.unclaimFailed();
      return batch.map(() => ({ error: error as StorageError }));
    }
  }

  function look(results: readonly TaskResult[]): void {
    for (const result of results)
      if ("error" in result && isDoubtful(result.error)) return distrust(toStorageError(result.error));
  }

  function nextBatch(): readonly Waiting[] {
    let [count, items, bytes] = [0, 0, 0];
    for (const { size } of queue) {
      items += size.items;
      bytes += size.bytes;
      if (count > 0 && (items > MAX_ITEMS || bytes > MAX_BYTES)) break;
      count += 1;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    return batch.length < 2 ? batch : batch.toSorted((a, b) => (PHASE[a.verb] ?? ANY) - (PHASE[b.verb] ?? ANY));
  }

  return {
    add: (verb, input, size = ONE) =>
      new Promise((resolve, reject) => {
        const waiting: Waiting = { verb, input, size, resolve, reject };
        if (WORKER_ONLY.has(verb) && workerState.epoch === undefined) return refuse(waiting);
        (isQuery(waiting) ? queries : queue).push(waiting);
        if (running) return;
        running = true;
        setImmediate(() => void run());
      }),
    rejectWorkerTasks() {
      const all = queue;
      queue = all.filter(needsNoEpoch);
      for (const waiting of all) if (!needsNoEpoch(waiting)) refuse(waiting);
    },
    async drained() {
      if (running) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}

/** What waits unexpanded is read in its phase. */
function isQuery({ verb }: Waiting): boolean {
  return READS.has(verb) && verb !== "unexpanded";
}

function needsNoEpoch({ verb }: Waiting): boolean {
  return !WORKER_ONLY.has(verb) && !ADMIN.has(verb);
}

/** What cannot be sent is refused alone: the thread gets the rest. */
async function send(thread: ThreadClient, batch: Batch): Promise<readonly TaskResult[]> {
  try {
    return await thread.run(batch);
  } catch (error) {
    const refused = error instanceof StorageError ? [] : batch.tasks.map(refusalOf);
    if (refused.every((one) => one === undefined)) throw error;
    const tasks = batch.tasks.filter((_, index) => refused[index] === undefined);
    const rest = (await thread.run({ ...batch, tasks })).values();
    return refused.map((one) => one ?? (rest.next().value as TaskResult));
  }
}

/** Undefined where it can be sent to the commit thread. */
function refusalOf({ input }: Task): TaskResult | undefined {
  try {
    structuredClone(input);
    return undefined;
  } catch (error) {
    const message = `What was given cannot be sent to the commit thread: ${String(error)}`;
    return { error: { ...toTaskError(error), message } };
  }
}

function refuse({ reject }: Waiting): void {
  reject(new StorageError("epoch-stale", "Another process works on this inbox, or nobody does."));
}

function toError(result: { readonly error: TaskError | StorageError } | undefined): StorageError {
  if (result === undefined) return new StorageError("storage-failed", "The commit thread gave no result.");
  return result.error instanceof StorageError ? result.error : toStorageError(result.error);
}

function isStaleEpoch(result: Result | undefined): boolean {
  return result !== undefined && "error" in result && result.error.code === "epoch-stale";
}

/**
 * In one turn handlers begin, in the next they settle and more is claimed: it all goes with the next commit, as does what came
 * over the network meanwhile. Else each claim would miss one commit, and handlers fall behind.
 */
async function gather(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
