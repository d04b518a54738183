import { StorageError } from "../../../../src/adapter.ts";
import { oneRow } from "../connection/one-row.ts";
import { HEARS_WARNINGS, type Pool, type Queries } from "../connection/pool.ts";
import { sqlStateOf } from "../connection/classify-error.ts";
import { StatementError } from "../connection/to-storage-error.ts";
import { shardOf, toText, type EncodedBatch } from "./encode-batch.ts";

/** What stores, one transaction after the other: then its last id says exactly what of it is there. */
export interface Writer {
  /** @param fence the worker that expands. @throws StorageError */
  store(batch: EncodedBatch, fence?: number): Promise<StoredBatch>;
  /** In one transaction, the only one that waits for its turn, with the lock on this process's row taken as soon as `make` is called. */
  transaction<T>(run: (queries: Queries, make: Make) => Promise<T>): Promise<T>;
  /** Resolves when nothing is under way. */
  drained(): Promise<void>;
}

export interface StoredBatch {
  readonly writer: number;
  /** Ids are behind it: at the places that the batch gave them. */
  readonly base: number;
  /** So many deliveries, the first ones, became jobs. */
  readonly expanded: number;
  /** Places of deliveries that were stored before. */
  readonly repeated: readonly number[];
  /** Places of deliveries or expansions of which jobs were made. */
  readonly made: readonly number[];
  /** Of the natural keys. */
  readonly duplicates: readonly number[];
  readonly conflicts: readonly number[];
  /** When the oldest delivery was received that waits to be expanded. */
  readonly oldest: number | null;
  /** Another process expands. */
  readonly fenced?: true;
}

/** Makes waiting jobs of deliveries that were expanded before. @returns their ids */
export type Make = (jobs: readonly JobToMake[]) => Promise<readonly number[]>;

interface JobToMake {
  readonly delivery: number;
  readonly day: number;
  readonly entry: number;
  readonly type: string;
  readonly consumer: string;
  readonly lane: string | undefined;
  readonly mergeKey: string | undefined;
  readonly account: number | null;
  readonly subscription: number | null;
  readonly receivedAt: number;
  readonly replayOf: number | undefined;
}

export interface WriterDeps {
  /** One connection. */
  readonly pool: Pool;
  readonly ident: () => string;
  readonly now: () => number;
  /** Makes the partitions of the next days. */
  readonly ensureDays: (queries: Queries) => Promise<void>;
}

interface Caller {
  readonly id: number;
  /** The worker that expands. */
  readonly fence: number | undefined;
}

/**
 * All that comes later waits for it, so it gives up where others hold a lock: later than what holds one for a moment, such as the drop of a day,
 * and so early that three of it are less than what a delivery waits to be stored.
 */
const GIVES_UP = "set_config('lock_timeout', '1500ms', true)";

/** Of a row that belongs in no partition. */
const NO_PARTITION = "23514";

export function createWriter({ pool, ident, now, ensureDays }: WriterDeps): Writer {
  /** What an earlier one still commits is found under its own row. */
  let writer: number | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let lastTransaction: Promise<unknown> = Promise.resolve();

  async function register(queries: Queries = pool): Promise<number> {
    const text = `insert into ${ident()}.writer default values returning id`;
    const { id } = await oneRow<{ id: number }>(queries, text);
    return id;
  }

  /**
   * Runs after what was given before it. After an error of what may hold, the next one is another writer's: it waits for nothing of that.
   * Else the row stays in use, so that errors leave no rows, which all workers read.
   */
  function serially<T>(run: (id: number) => Promise<T>): Promise<T> {
    const mine = last.then(async () => {
      try {
        writer ??= await register();
        return await run(writer);
      } catch (error) {
        if (error instanceof StatementError && error.mayHold) writer = undefined;
        throw error;
      }
    });
    last = mine.catch(() => {});
    return mine;
  }

  /** @throws StorageError */
  async function call(batch: EncodedBatch, { id, fence }: Caller, attempt = 1): Promise<StoredBatch> {
    try {
      const { stored } = await oneRow<{ stored: Omit<StoredBatch, "writer"> | null }>(
        pool,
        `select ${GIVES_UP}, ${ident()}.store($1, $2, $3, $4) as stored, ${HEARS_WARNINGS}`,
        [id, fence ?? null, JSON.stringify(batch.batch), batch.bodies],
      );
      if (stored !== null) return { ...stored, writer: id };
    } catch (error) {
      if (attempt > 1 || sqlStateOf(error) !== NO_PARTITION) throw error;
      await ensureDays(pool);
      return call(batch, { id, fence }, attempt + 1);
    }
    // It was idle for so long that its row was removed.
    if (attempt > 1) throw new StorageError("storage-failed", "The row of this process was removed twice.");
    writer = await register();
    return call(batch, { id: writer, fence }, attempt + 1);
  }

  async function append(queries: Queries, jobs: readonly JobToMake[], id: number): Promise<number[]> {
    const batch = encodeJobs(jobs, now());
    const base = (await appendAs(queries, id)) ?? (await appendAs(queries, (writer = await register(queries))));
    if (base === null) throw new StorageError("storage-failed", "The row of this process was removed twice.");
    return jobs.map((_, place) => base + 1 + place);

    async function appendAs(on: Queries, as: number): Promise<number | null> {
      const values = [as, JSON.stringify(batch)];
      const made = await oneRow<{ base: number | null }>(on, `select ${ident()}.append($1, $2) as base`, values);
      return made.base;
    }
  }

  return {
    store: (batch, fence) => serially((id) => call(batch, { id, fence })),
    transaction(run) {
      // Each may wait for a lock: what is stored meanwhile comes before the next one.
      const mine = lastTransaction.then(() =>
        serially((id) => pool.transaction((queries) => run(queries, (jobs) => append(queries, jobs, id)))),
      );
      lastTransaction = mine.catch(() => {});
      return mine;
    },
    async drained() {
      await lastTransaction;
      await last;
    },
  };
}

/** Each has a list of its own. */
function encodeJobs(given: readonly JobToMake[], now: number) {
  const origins = given.map(({ delivery: id, day, receivedAt: received, account, subscription, ...job }) => {
    const { entry, type, consumer, lane = null, mergeKey = null } = job;
    const jobs = JSON.stringify([[entry, type, consumer, lane, mergeKey]]);
    return { id, day, received, account, subscription, jobs };
  });
  const jobs = given.map(({ entry: e, type: t, consumer, lane, mergeKey, replayOf: r }, place) => {
    const [c, l, m] = [toText(consumer), lane && toText(lane), mergeKey && toText(mergeKey)];
    return { s: shardOf(c, l), at: 1 + place, o: place, e, t, c, l, m, r };
  });
  return { now, size: given.length, origins, jobs };
}
