import type { DatabaseSync } from "node:sqlite";
import { CODE, outOfFiles, primaryCode } from "../disk/file-errors.ts";
import type { Counters } from "./counters.ts";
import type { Operations } from "./operations.ts";

/** One thing to do in a commit, by the name of its operation. */
export interface Task {
  readonly verb: keyof Operations;
  readonly input: unknown;
  /** Where its body is in the bytes of the batch. */
  readonly from?: number;
  readonly to?: number;
}

/** What shares one transaction. */
export interface Batch {
  /** Of the process that works; undefined for one that only receives. */
  readonly epoch: number | undefined;
  readonly tasks: readonly Task[];
  /** The bodies of what is to be stored, one behind the other. */
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

/** SQLite's primary codes after which the whole file is in question, or the disk: no task of the batch was at fault. */
const OF_THE_FILE: ReadonlySet<number | undefined> = new Set([
  CODE.busy,
  CODE.locked,
  CODE.readonly,
  CODE.ioError,
  CODE.corrupt,
  CODE.full,
  CODE.cannotOpen,
  CODE.notADatabase,
]);

/** Runs batches, each in one transaction. */
export function createBatchRunner(
  db: DatabaseSync,
  operations: Operations,
  counters: Counters,
): (batch: Batch) => TaskResult[] {
  function transaction({ epoch, tasks, bytes }: Batch): TaskResult[] {
    db.exec("BEGIN IMMEDIATE");
    try {
      operations.begin(epoch);
      counters.begin();
      const results = tasks.map(({ verb, input, from, to }) => ({
        value: (operations[verb] as Operation)(input, bytes.subarray(from, to)),
      }));
      counters.end();
      db.exec("COMMIT");
      return results;
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  }

  return (batch) => {
    try {
      return transaction(batch);
    } catch (error) {
      if (batch.tasks.length === 1 || isOfTheFile(error)) return batch.tasks.map(() => ({ error: toTaskError(error) }));
      // One of them does not fit the tables: the others are not to fail with it.
      return batch.tasks.flatMap((task) => {
        try {
          return transaction({ ...batch, tasks: [task] });
        } catch (own) {
          return { error: toTaskError(own) };
        }
      });
    }
  };
}

type Operation = (input: unknown, body: Uint8Array) => unknown;

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
