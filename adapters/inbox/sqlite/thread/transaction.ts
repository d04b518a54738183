import type { DatabaseSync } from "node:sqlite";
import { CODE, outOfFiles, primaryCode } from "../connection/file-errors.ts";
import type { OtherRecord, SettleRecord } from "./records.ts";
import { READS, type FileOperations, type Operations } from "./operations.ts";

/** One thing to do in a commit, by the name of its operation. */
export interface Task {
  readonly verb: keyof Operations;
  readonly input: unknown;
}

/** What shares one transaction. */
export interface Batch {
  /** Of the process that works; undefined for one that only receives. */
  readonly epoch: number | undefined;
  readonly tasks: readonly Task[];
  /** The deliveries that are to be stored: see delivery-record.ts. */
  readonly bytes: Uint8Array;
}

/** How one task ended: each has its own place. */
export type TaskResult = { readonly value: unknown } | { readonly error: TaskError };

export interface TaskError {
  readonly code: string;
  readonly message: string;
  readonly fix: string | undefined;
  /** SQLite's, where it is one of SQLite's. */
  readonly errcode: number | undefined;
}

/** SQLite's primary codes after which the whole file is in question, the disk, or the machine: no task of the batch was at fault. */
const OF_THE_FILE: ReadonlySet<number | undefined> = new Set([
  CODE.busy,
  CODE.locked,
  CODE.noMemory,
  CODE.readonly,
  CODE.ioError,
  CODE.corrupt,
  CODE.full,
  CODE.cannotOpen,
  CODE.protocol,
  CODE.notADatabase,
]);

/** Runs batches, each in one transaction. */
export function createBatchRunner(db: DatabaseSync, operations: FileOperations): (batch: Batch) => TaskResult[] {
  const sql = {
    read: db.prepare("BEGIN"),
    write: db.prepare("BEGIN IMMEDIATE"),
    commit: db.prepare("COMMIT"),
  };
  /** Jobs that are dead or removed, since their ends were refused, in a settle that was answered with another one's error. */
  const untold = new Set<number>();

  function transaction({ epoch, tasks, bytes }: Batch): TaskResult[] {
    (tasks.every(({ verb }) => READS.has(verb)) ? sql.read : sql.write).run();
    try {
      operations.begin(epoch);
      const results = tasks.map(({ verb, input }) => ({ value: (operations[verb] as Operation)(input, bytes) }));
      operations.end();
      sql.commit.run();
      return results;
    } catch (error) {
      operations.undo();
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  /** One of them does not fit the tables: the others are not to fail with it. */
  function alone(task: Task, batch: Batch): TaskResult {
    try {
      return transaction({ ...batch, tasks: [task] })[0] as TaskResult;
    } catch (error) {
      if (task.verb === "settle" && !isOfTheFile(error)) return settleApart(task.input as SettleRecord, batch);
      return { error: toTaskError(error) };
    }
  }

  /** What becomes of one job does not fit the tables: the others are settled, by halves, and it is dead, or else removed. */
  function settleApart(record: SettleRecord, batch: Batch): TaskResult {
    const settle = (input: Partial<SettleRecord>): void =>
      void transaction({ ...batch, tasks: [{ verb: "settle", input: { ...NOTHING, ...input } }] });
    const refused: number[] = [];
    let failure: TaskError | undefined;

    function settleHalves(ends: readonly End[]): void {
      const half = Math.ceil(ends.length / 2);
      for (const part of [ends.slice(0, half), ends.slice(half)]) {
        const [one] = part;
        if (one !== undefined)
          attempt(
            () => settle(together(part)),
            (cause) => (part.length > 1 ? settleHalves(part) : settleOtherwise(one, cause)),
          );
      }
    }

    function settleOtherwise({ id }: End, cause: unknown): void {
      // Of a window that is not written the worst is that a lane has its full time.
      if (id === undefined) return;
      const end = (input: Partial<SettleRecord>): void => {
        settle(input);
        refused.push(id);
      };
      attempt(
        () => end({ others: [toDead(id, cause)] }),
        () =>
          attempt(
            () => end({ done: [id] }),
            (last) => (failure ??= toTaskError(last)), // it is to come again, and the others are settled
          ),
      );
    }

    try {
      settleHalves(endsOf(record));
    } catch (error) {
      failure = toTaskError(error);
    }
    if (failure === undefined) return { value: refused };
    for (const id of refused) untold.add(id);
    return { error: failure };
  }

  /** With those of its jobs that ended otherwise in a try that failed for others: it finds nothing of them, and would count as how they ended. */
  function told({ verb, input }: Task, result: TaskResult): TaskResult {
    if (verb !== "settle" || untold.size === 0 || "error" in result) return result;
    const { done, released, others } = input as SettleRecord;
    const ids = [...done, ...released, ...others.map(({ id }) => id)].filter((id) => untold.delete(id));
    return { value: [...(result.value as readonly number[]), ...ids] };
  }

  function run(batch: Batch): TaskResult[] {
    const { tasks } = batch;
    try {
      return transaction(batch);
    } catch (error) {
      if (isOfTheFile(error) || (tasks.length === 1 && tasks[0]?.verb !== "settle"))
        return tasks.map(() => ({ error: toTaskError(error) }));
      return tasks.map((task) => alone(task, batch));
    }
  }

  return (batch) => run(batch).map((result, place) => told(batch.tasks[place]!, result));
}

const NOTHING: SettleRecord = { done: [], released: [], others: [], windows: [] };

/** How one job ends. Without an id: what its lane inherits. */
interface End extends Partial<SettleRecord> {
  readonly id: number | undefined;
}

function endsOf({ done, released, others, windows }: SettleRecord): readonly End[] {
  return [
    ...windows.map((window) => ({ id: undefined, windows: [window] })),
    ...done.map((id) => ({ id, done: [id] })),
    ...released.map((id) => ({ id, released: [id] })),
    ...others.map((other) => ({ id: other.id, others: [other] })),
  ];
}

function together(ends: readonly End[]): SettleRecord {
  return {
    done: ends.flatMap(({ done = [] }) => done),
    released: ends.flatMap(({ released = [] }) => released),
    others: ends.flatMap(({ others = [] }) => others),
    windows: ends.flatMap(({ windows = [] }) => windows),
  };
}

function toDead(id: number, cause: unknown): OtherRecord {
  const [at, message] = [Date.now(), `What became of this job could not be stored: ${String(cause)}`];
  return { id, to: "dead", attempts: 1, error: JSON.stringify({ name: "StorageError", message, at }), settledAt: at };
}

/** @throws what is the file's own fault */
function attempt(run: () => void, otherwise: (cause: unknown) => void): void {
  try {
    run();
  } catch (error) {
    if (isOfTheFile(error)) throw error;
    otherwise(error);
  }
}

type Operation = (input: unknown, bytes: Uint8Array) => unknown;

function isOfTheFile(error: unknown): boolean {
  return toTaskError(error).code === "epoch-stale" || OF_THE_FILE.has(primaryCode(error));
}

/** An error as it crosses between threads. */
export function toTaskError(error: unknown): TaskError {
  const { code, message, fix, errcode } = (outOfFiles(error) ?? error) as Partial<TaskError>;
  return {
    code: typeof code === "string" ? code : "storage-failed",
    message: String(message),
    fix: typeof fix === "string" ? fix : undefined,
    errcode: typeof errcode === "number" ? errcode : undefined,
  };
}
