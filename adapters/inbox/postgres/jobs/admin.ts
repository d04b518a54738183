import { setTimeout as pause } from "node:timers/promises";
import {
  addErased,
  NOTHING_ERASED,
  toStored,
  type ErasedRows,
  type InboxJobs,
  type JobSelection,
  type JobState,
  type StoredJob,
} from "../../../../src/adapter.ts";
import {
  findStored,
  readPages,
  toId,
  toStoredJob as asStoredJob,
  type FindInput,
  type FoundPage,
} from "../../../../src/inbox/jobs/found-jobs.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { isUnreadable, sqlStateOf } from "../connection/classify-error.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import { createLossLog, type LossLog } from "../loss-log.ts";
import { REMOVED } from "../schema/body-functions.ts";
import { BLOCK, KEPT_DAY } from "../schema/tables.ts";
import type { Writer } from "../store/writer.ts";
import { countJobs, findBlocked } from "./count-jobs.ts";
import { eraseAccount, sweepWindows } from "./erase-account.ts";
import { findByIds, findPage, planByIndexes, type TableJob } from "./find-jobs.ts";
import { findUnhandled } from "./find-unhandled.ts";
import { reopenedAs, replaceJobs, replayOf } from "./replace-jobs.ts";

export interface PostgresJobsDeps {
  readonly ident: () => string;
  readonly pool: Pool;
  readonly writer: Pick<Writer, "transaction">;
  /** Whether unhandled jobs of a type are this process's to look at. @default all */
  readonly looksAt?: (type: string) => boolean;
  /** @default nobody is told */
  readonly loss?: LossLog;
  /** Many counts of dead jobs are to be folded: one who only looks writes nothing. */
  readonly fold?: () => void;
  /** Something was made or removed: memory is to follow. */
  readonly changed: () => Promise<void>;
}

/** Jobs of one transaction. */
const PAGE = 200;
/** Between two tries of what another transaction holds up. */
const AGAIN_MS = 50;
/** A page that gets no locks is tried so often. Each try waits for a second at most. */
const MOST_TRIES = 30;
/** SQLSTATE: a row moved to another partition, deadlock, lock timeout. */
const HELD_UP = new Set(["40001", "40P01", "55P03"]);

/** Queries and admin commands, from any process: the owners of the shards need not answer. */
export function createPostgresJobs({
  ident,
  pool,
  writer,
  looksAt = () => true,
  loss = createLossLog(() => undefined),
  fold = () => {},
  changed,
}: PostgresJobsDeps): InboxJobs {
  /** Reads of one snapshot: a job that ends meanwhile is found once. */
  const snapshot = <T>(run: (queries: Queries) => Promise<T>): Promise<T> =>
    pool.transaction(async (queries) => {
      await queries.query("set transaction isolation level repeatable read, read only");
      await planByIndexes(queries);
      return run(queries);
    });

  const readPage = (input: FindInput): Promise<FoundPage<TableJob>> =>
    snapshot((queries) => findPage(queries, ident(), input));

  /** All that is there now has a lower id than what is made from now on. */
  async function lastId(): Promise<number> {
    const { last } = await oneRow<{ last: number }>(pool, `select last_value as last from ${ident()}.block`);
    return (last + 1) * BLOCK - 1;
  }

  /** Runs for pages of what is selected, and adds up. */
  async function forPages(
    selection: JobSelection,
    states: readonly JobState[],
    run: (ids: readonly number[]) => Promise<number>,
  ): Promise<number> {
    let count = 0;
    if ("ids" in selection) {
      const ids = [...new Set(selection.ids)].flatMap((id) => toId(id) ?? []);
      for (let place = 0; place < ids.length; place += PAGE)
        count += await again(() => run(ids.slice(place, place + PAGE)));
    } else {
      const until = await lastId();
      const wanted = { ...selection, states: selection.states.filter((state) => states.includes(state)) };
      for (let after: number | undefined = 0; after !== undefined && wanted.states.length > 0 && after < until;) {
        const { jobs, next }: FoundPage<TableJob> = await readPages(
          { ...wanted, after: String(after), limit: PAGE },
          readPage,
        );
        after = next;
        const ids = jobs.map(({ id }) => id).filter((id) => id <= until);
        if (ids.length > 0) count += await again(() => run(ids));
      }
    }
    if (count > 0) await changed();
    return count;
  }

  const replace = (ids: readonly number[], replacementsOf: Parameters<typeof replaceJobs>[2]): Promise<number> =>
    writer.transaction((queries, make) => replaceJobs({ queries, make, ident: ident() }, ids, replacementsOf));

  async function eraseDeliveries(given: readonly number[]): Promise<ErasedRows> {
    let sum = NOTHING_ERASED;
    // What a transaction of the application has in hand is not waited for while workers stand still.
    for (let ids = given; ; await pause(AGAIN_MS)) {
      const { erased } = await again(() =>
        oneRow<{ erased: ErasedPage }>(pool, `select ${ident()}.erase_deliveries($1) as erased`, [ids]),
      );
      const { held, ...rows } = erased;
      sum = addErased(sum, rows);
      ids = held;
      if (ids.length === 0) return sum;
    }
  }

  return {
    find: (query) => findStored(query, readPage, toStoredJob),
    summary: (query) => countJobs({ queries: pool, ident: ident(), fold }, query),
    async blocked(query) {
      const found = await snapshot((queries) => findBlocked(queries, ident(), query));
      return found.map(({ job, behind }) => ({ job: toStoredJob(job), behind }));
    },
    async get(id) {
      const number = toId(id);
      if (number === undefined) return undefined;
      const read = (body: string): Promise<ReadJob | undefined> =>
        snapshot(async (queries) => {
          const [job] = await findByIds(queries, ident(), [number]);
          if (job === undefined) return undefined;
          const [row] = await queries.query<DeliveryRow | (Omit<DeliveryRow, "headers"> & { readonly headers: null })>(
            `select id, received_at, sent_at, source, signed_by, signature, nullif(headers, ${REMOVED}) as headers, ${body} as body from ${ident()}.delivery where id = $1 and day in ($2, ${KEPT_DAY}) limit 1`,
            [job.delivery, job.day],
          );
          if (row === undefined) return undefined;
          // Without headers its body is removed.
          const delivery = row.headers === null ? undefined : toStored(String(row.id), toDelivery(row));
          return { job: toStoredJob(job), delivery };
        });
      return read("body").catch((error: unknown) => {
        // A body that is broken on the server's disk hides no job.
        if (isUnreadable(error)) return read("''::bytea");
        throw error;
      });
    },
    replay: (selection) =>
      forPages(selection, ["done", "skipped", "dead", "unhandled"], (ids) => replace(ids, replayOf)),
    async drop(selection) {
      const has = (state: JobState): boolean => !("states" in selection) || selection.states.includes(state);
      const count = await forPages(selection, ["waiting", "dead", "unhandled"], async (ids) => {
        // What has left the states that are selected meanwhile stays.
        const { dropped } = await oneRow<{ dropped: number }>(
          pool,
          `select ${ident()}.drop_jobs($1, $2, $3, $4) as dropped`,
          [ids, has("waiting"), has("dead"), has("unhandled")],
        );
        return dropped;
      });
      // What is left of them does no harm, and goes with the next removal.
      if (count > 0) await sweepWindows(pool, ident()).catch(() => {});
      return count;
    },
    async erase(accountId) {
      const until = await lastId();
      const erased = await eraseAccount(pool, ident(), { accountId, until, erasePage: eraseDeliveries, loss });
      await changed();
      return erased;
    },
    unhandled: ({ handled, after, limit }) =>
      findUnhandled(
        { queries: pool, ident: ident(), loss },
        { handled: handled.filter(({ type }) => looksAt(type)), after: toId(after) ?? 0, limit },
      ),
    async reopen(replacements) {
      const byId = new Map(replacements.map((one) => [Number(one.id), one]));
      const count = await again(() => replace([...byId.keys()], (old) => reopenedAs(old, byId.get(old.id))));
      if (count > 0) await changed();
    },
  };
}

type ErasedPage = Pick<ErasedRows, "count" | "deliveries" | "tombstones"> & { readonly held: readonly number[] };

type ReadJob = NonNullable<Awaited<ReturnType<InboxJobs["get"]>>>;

/** A page is one transaction: where others held it up, nothing of it holds. */
async function again<T>(run: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === MOST_TRIES || !HELD_UP.has(String(sqlStateOf(error)))) throw error;
      await pause(AGAIN_MS);
    }
  }
}

const toStoredJob = (job: TableJob): StoredJob => asStoredJob(job, job.error ?? undefined);
