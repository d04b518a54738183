import type { StorageError } from "../../../src/adapter.ts";
import type { Task, TaskResult } from "./batch.ts";
import { isDoubtful, toStorageError, type Channel } from "./channel.ts";
import type { Operations } from "./operations.ts";

type Verb = keyof Operations;
type Output<V extends Verb> = ReturnType<Operations[V]>;

/** Gathers what comes in one turn of the loop into one transaction; while that runs, the next one fills. */
export interface Commits {
  /** Rejects with a StorageError: by itself where only this failed, with all others where the file did. */
  add<V extends Verb>(verb: V, input: unknown, body?: Uint8Array): Promise<Output<V>>;
  /** Resolves when everything that was added has its result. */
  drained(): Promise<void>;
}

export interface CommitsOptions {
  readonly channel: () => Channel;
  readonly epoch: () => number | undefined;
  /** What may be running once the next commit holds, for its `mark`; undefined where that is as it was. */
  readonly mark: () => Readonly<Record<string, number>> | undefined;
  /** A commit may not have held, with its mark. */
  readonly failed: () => void;
  /** The file is to be opened anew: what was committed is not known. */
  readonly doubt: (error: StorageError) => void;
}

interface Waiting {
  readonly task: Task;
  readonly body: Uint8Array | undefined;
  resolve(value: unknown): void;
  reject(error: StorageError): void;
}

/** What ends a job goes first, then what is new, then what is read. */
const PHASE: Partial<Record<Verb, number>> = { settle: 1, deliveries: 3 };
const ANY = 2;

/** One transaction takes no more than this, so that one giant body does not hold up the rest. */
const MAX_TASKS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;

export function createCommits({ channel, epoch, mark, failed, doubt }: CommitsOptions): Commits {
  let queue: Waiting[] = [];
  let running = false;
  const idle: (() => void)[] = [];

  async function run(): Promise<void> {
    while (queue.length > 0) {
      const batch = nextBatch();
      let results: readonly TaskResult[];
      try {
        results = await channel().run({ epoch: epoch(), tasks: withMark(batch), bytes: gather(batch) });
      } catch (error) {
        failed();
        for (const { reject } of batch) reject(error as StorageError);
        continue;
      }
      look(results);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index] as TaskResult;
        if ("error" in result) reject(toStorageError(result.error));
        else resolve(result.value);
      }
    }
    running = false;
    for (const resolve of idle.splice(0)) resolve();
  }

  function look(results: readonly TaskResult[]): void {
    const errors = results.flatMap((result) => ("error" in result ? result.error : []));
    if (errors.length > 0) failed();
    const doubtful = errors.find(isDoubtful);
    if (doubtful !== undefined) doubt(toStorageError(doubtful));
  }

  function nextBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { body } of queue) {
      bytes += body?.byteLength ?? 0;
      if (count > 0 && (count >= MAX_TASKS || bytes > MAX_BYTES)) break;
      count += 1;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    return batch.toSorted((a, b) => (PHASE[a.task.verb] ?? ANY) - (PHASE[b.task.verb] ?? ANY));
  }

  /** The mark goes last, where its result is in nobody's place. */
  function withMark(batch: readonly Waiting[]): readonly Task[] {
    const tasks = batch.map(({ task }) => task);
    const marked = mark();
    return marked === undefined ? tasks : [...tasks, { verb: "mark", input: marked }];
  }

  return {
    add: (verb, input, body) =>
      new Promise((resolve, reject) => {
        queue.push({ task: { verb, input }, body, resolve, reject });
        if (running) return;
        running = true;
        setImmediate(() => void run());
      }),
    async drained() {
      if (running) await new Promise<void>((resolve) => idle.push(resolve));
    },
  };
}

/** The bodies, one behind the other, in a buffer that can be given away; each task is told where its own begins. */
function gather(batch: readonly Waiting[]): Uint8Array {
  const bytes = new Uint8Array(batch.reduce((sum, { body }) => sum + (body?.byteLength ?? 0), 0));
  let offset = 0;
  for (const { body, task } of batch) {
    if (body === undefined) continue;
    bytes.set(body, offset);
    Object.assign(task.input as object, { offset, length: body.byteLength });
    offset += body.byteLength;
  }
  return bytes;
}
