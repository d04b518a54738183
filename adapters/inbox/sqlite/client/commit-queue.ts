import { setImmediate as nextTurn } from "node:timers/promises";
import { StorageError } from "../../../../src/adapter.ts";
import type { Operations } from "../thread/operations.ts";
import type { Mark } from "../thread/owner-epoch.ts";
import type { Task, TaskResult } from "../thread/transaction.ts";
import type { ThreadClient } from "./thread-client.ts";
import { isDoubtful, toStorageError } from "./to-storage-error.ts";

type Verb = keyof Operations;
type Output<V extends Verb> = ReturnType<Operations[V]>;

/** What one of several came to. */
type Outcome<T> = { readonly value: T } | { readonly error: StorageError };

/** Gathers what comes in one turn of the loop into one transaction; while that runs, the next one fills. */
export interface CommitQueue {
  /** Rejects with a StorageError: by itself where only this failed, with all others where the file did. */
  add<V extends Verb>(verb: V, input: unknown): Promise<Output<V>>;
  /** Several in one commit, in their order, each with a body and a result of its own. */
  addAll<V extends Verb>(verb: V, items: readonly Item[]): Promise<readonly Outcome<Output<V>>[]>;
  /** Another process took over: rejects queued tasks that only the worker may run. */
  rejectWorkerTasks(): void;
  /** Resolves when everything that was added has its result. */
  drained(): Promise<void>;
}

/** One of several. */
interface Item {
  /** A function is asked when the commit is put together. */
  readonly input: unknown;
  readonly body: Uint8Array | undefined;
}

export interface CommitQueueOptions {
  readonly channel: () => ThreadClient;
  readonly epoch: () => number | undefined;
  /** A commit is put together: before its tasks are. */
  readonly begin: () => void;
  /** What may be running once it holds, for its `mark`; undefined where that is as it was. */
  readonly mark: () => Mark | undefined;
  /** The stored running mark names too much: a commit is due even without tasks. */
  readonly isStale: () => boolean;
  /** A commit, with its mark, may not have succeeded. */
  readonly failed: () => void;
  /** Another process took over: this one has no epoch any more. */
  readonly fenced: () => void;
  /** A commit's outcome is unknown: the file must be reopened. */
  readonly distrust: (error: StorageError) => void;
}

/** What is not taken apart. */
interface Group {
  readonly verb: Verb;
  readonly items: readonly Item[];
  resolve(outcomes: readonly Outcome<unknown>[]): void;
}

/**
 * What ends a job goes first, then what is new, then what is read. What waited unexpanded goes before what is new, and is read after it:
 * else a steady stream would be stored unexpanded for ever, each delivery because of the one before.
 */
const PHASE: Partial<Record<Verb, number>> = { settle: 1, expand: 1, unexpanded: 3, deliveries: 3 };
const ANY = 2;

/** Only the active worker does this: never without its epoch. */
const WORKER_ONLY: ReadonlySet<Verb> = new Set(["settle", "expand", "reopen", "retain", "vacuum"]);
/** Only the active worker does this, or a process that holds the worker lock. */
const ADMIN: ReadonlySet<Verb> = new Set(["runRequest", "failRequest"]);

/** One transaction takes no more than this beside its first group, so that one giant body does not hold up the rest. */
const MAX_ITEMS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;

export function createCommitQueue(options: CommitQueueOptions): CommitQueue {
  const { channel, epoch, begin, mark, isStale, failed, fenced, distrust } = options;
  let queue: Group[] = [];
  let running = false;
  const idle: (() => void)[] = [];

  async function run(): Promise<void> {
    while (queue.length > 0 || isStale()) {
      await commit(nextBatch());
      // In one turn handlers begin, in the next they settle and more is claimed: it all goes with the next commit, as does what came
      // over the network meanwhile. Else each claim would miss one commit, and handlers fall behind.
      await nextTurn();
      await nextTurn();
    }
    running = false;
    for (const resolve of idle.splice(0)) resolve();
  }

  async function commit(batch: readonly Group[]): Promise<void> {
    const mine = epoch();
    const outcomes = await outcomesOf(batch);
    const isFenced =
      mine !== undefined && outcomes.some((outcome) => "error" in outcome && outcome.error.code === "epoch-stale");
    if (isFenced && epoch() === mine) fenced();
    let first = 0;
    const again: Group[] = [];
    for (const group of batch) {
      const own = outcomes.slice(first, first + group.items.length);
      first += group.items.length;
      // What a process may do that does not work was in the wrong company.
      if (needsNoEpoch(group) && own.length > 0 && own.every(isStaleOutcome)) again.push(group);
      else group.resolve(own);
    }
    queue = [...again, ...queue];
  }

  async function outcomesOf(batch: readonly Group[]): Promise<readonly Outcome<unknown>[]> {
    try {
      begin();
      const { tasks, bytes } = toTasks(batch);
      const marked = mark();
      // The mark goes last: its result then shifts no other result.
      if (marked !== undefined) tasks.push({ verb: "mark", input: marked });
      return look(await channel().run({ epoch: epoch(), tasks, bytes }));
    } catch (error) {
      failed();
      return batch.flatMap(({ items }) => items.map(() => ({ error: error as StorageError })));
    }
  }

  function look(results: readonly TaskResult[]): readonly Outcome<unknown>[] {
    const errors = results.flatMap((result) => ("error" in result ? result.error : []));
    if (errors.length === 0) return results as readonly { readonly value: unknown }[];
    failed();
    const doubtful = errors.find(isDoubtful);
    if (doubtful !== undefined) distrust(toStorageError(doubtful));
    return results.map((result) => ("error" in result ? { error: toStorageError(result.error) } : result));
  }

  function nextBatch(): readonly Group[] {
    let [count, items, bytes] = [0, 0, 0];
    for (const group of queue) {
      items += group.items.length;
      for (const { body } of group.items) bytes += body?.byteLength ?? 0;
      if (count > 0 && (items > MAX_ITEMS || bytes > MAX_BYTES)) break;
      count += 1;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    return batch.toSorted((a, b) => (PHASE[a.verb] ?? ANY) - (PHASE[b.verb] ?? ANY));
  }

  const addAll = <V extends Verb>(verb: V, items: readonly Item[]): Promise<readonly Outcome<Output<V>>[]> =>
    new Promise((resolve) => {
      const group: Group = { verb, items, resolve: resolve as Group["resolve"] };
      if (WORKER_ONLY.has(verb) && epoch() === undefined) return refuse(group);
      queue.push(group);
      if (running) return;
      running = true;
      setImmediate(() => void run());
    });

  return {
    addAll,
    async add(verb, input) {
      const [outcome] = await addAll(verb, [{ input, body: undefined }]);
      if (outcome === undefined || "error" in outcome) throw outcome?.error;
      return outcome.value;
    },
    rejectWorkerTasks() {
      const waiting = queue;
      queue = waiting.filter(needsNoEpoch);
      for (const group of waiting) if (!needsNoEpoch(group)) refuse(group);
    },
    async drained() {
      if (running) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}

function isStaleOutcome(outcome: Outcome<unknown>): boolean {
  return "error" in outcome && outcome.error.code === "epoch-stale";
}

function needsNoEpoch({ verb }: Group): boolean {
  return !WORKER_ONLY.has(verb) && !ADMIN.has(verb);
}

function refuse({ items, resolve }: Group): void {
  const error = new StorageError("epoch-stale", "Another process works on this inbox, or nobody does.");
  resolve(items.map(() => ({ error })));
}

/** Their tasks, with all bodies one behind the other in bytes that can be given away. */
function toTasks(batch: readonly Group[]): { readonly tasks: Task[]; readonly bytes: Uint8Array } {
  const items = batch.flatMap((group) => group.items);
  const bytes = new Uint8Array(items.reduce((sum, { body }) => sum + (body?.byteLength ?? 0), 0));
  let from = 0;
  const tasks = batch.flatMap(({ verb, items: own }) =>
    own.map(({ input: given, body }): Task => {
      const input: unknown = typeof given === "function" ? (given as () => unknown)() : given;
      if (body === undefined) return { verb, input };
      const to = from + body.byteLength;
      bytes.set(body, from);
      const task = { verb, input, from, to };
      from = to;
      return task;
    }),
  );
  return { tasks, bytes };
}
