import { randomUUID } from "node:crypto";
import { completionOf, type Claim, type CompletedCall, type Transactional } from "../../../src/adapter.ts";
import { HooklineError, type Context } from "../../../src/index.ts";
import type { Queries } from "./connection/pool.ts";
import { toStorageError } from "./connection/to-storage-error.ts";
import { DATABASE, transactionLockOf } from "./schema/tables.ts";
import type { TransactionLike } from "./transaction-like.ts";

/**
 * Settles this call's jobs in your transaction, on the same database as the inbox: what the transaction does happens exactly once. Call it
 * in the transaction's last place, and let every error leave the handler.
 * @param ctx the handler's own
 * @param tx a client of `pg` with an open transaction, or what `fromKysely` and the others make of another library's
 * @throws HooklineError `claim-lost` when the jobs were taken away: the transaction must roll back
 * @throws StorageError `permission-missing` when the transaction's role lacks rights on the inbox's tables
 * @throws HooklineError `not-transactional` for a context of another inbox, of `receiver.handle` or of a test, and where no transaction is
 *   open, as on a pool, or it is in another database: nothing was changed
 * @example
 * receiver.on("email", async (event, ctx) => {
 *   const client = await pool.connect();
 *   try {
 *     await client.query("begin");
 *     await client.query("insert into mail (id) values ($1)", [event.id]);
 *     await complete(ctx, client);
 *     await client.query("commit");
 *   } catch (error) {
 *     await client.query("rollback");
 *     throw error;
 *   } finally {
 *     client.release();
 *   }
 * });
 */
export async function complete(ctx: Context, tx: TransactionLike): Promise<void> {
  const completion = completionOf(ctx);
  if (completion === undefined)
    throw new HooklineError("not-transactional", "The jobs of this context cannot be completed in a transaction.", {
      fix: "Pass the handler's own `ctx`, not a copy, of a receiver with a `postgresInbox`; in a test of the handler replace the call.",
    });
  await completion.complete(tx);
}

/** A job's row. */
interface JobPlace {
  readonly shard: number;
  readonly id: number;
}

interface Claimed {
  readonly worker: number;
  readonly database: string;
  readonly rows: readonly JobPlace[];
}

export interface TransactionsDeps {
  readonly ident: () => string;
  readonly queries: Queries;
  /** The rows of a claim's jobs, and the worker that has claimed them in its database; undefined once the claim has ended. */
  readonly claimed: (claim: Claim) => Claimed | undefined;
  /** Its rows are to go, perhaps: that they are gone does not mean that the claim was lost. */
  readonly completed: (claim: Claim) => void;
  /** Before another look at a transaction that is open. */
  readonly pause: () => Promise<void>;
}

/**
 * The transaction locks the row of the shard, not that of the worker, whose heartbeats go on; who takes the shard over waits for the
 * transaction, or has been first: then its owner is another one, and nothing is deleted. An advisory lock has whose jobs they are, so that
 * others can end the transaction once that worker is dead.
 */
export function createTransactions({ ident, queries, claimed, completed, pause }: TransactionsDeps): Transactional {
  return {
    async complete(call, transaction) {
      const places = placesOf(call);
      const { worker, database } = claimed(call.claim) ?? {};
      if (database === undefined || places === undefined) throw claimLost();
      const mark = randomUUID();
      await transaction.query(MARK_SQL, [mark]);
      completed(call.claim);
      const given = JSON.stringify({ worker, database, jobs: places, mark });
      const { rows } = await settleIn(transaction, completeSql(ident()), given);
      const [row] = rows as readonly { readonly gone: number; readonly open: number; readonly database: string }[];
      if (Number(row?.open) !== 1) throw noTransaction();
      if (row?.database !== database) throw otherDatabase(row?.database, database);
      if (Number(row?.gone) !== places.length) throw claimLost();
    },
    async isCompleted(call) {
      const places = placesOf(call);
      if (places === undefined) return false;
      const rows = await queries.query<{ there: number; free: number }>(lookSql(ident()), [
        JSON.stringify({ jobs: places }),
      ]);
      const [{ there, free }] = rows as readonly [{ there: number; free: number }]; // counts are always one row
      if (there === 0) return true;
      if (free === there) return false;
      await pause();
      return undefined;
    },
  };

  /** `[shard, id]` of each job; undefined once the claim has ended. */
  function placesOf({ claim, jobs }: CompletedCall): readonly (readonly [number, number])[] | undefined {
    const ids = new Set(jobs.map(({ id }) => Number(id)));
    const own = claimed(claim)?.rows.filter(({ id }) => ids.has(id));
    return own?.map(({ shard, id }) => [shard, id] as const);
  }
}

/** @throws StorageError `permission-missing`; any other error as it is: the application may know it by its fields */
async function settleIn(
  transaction: Parameters<Transactional["complete"]>[1],
  sql: string,
  given: string,
): Promise<{ readonly rows: readonly unknown[] }> {
  try {
    return await transaction.query(sql, [given]);
  } catch (error) {
    const known = toStorageError(error, "statement");
    throw known.code === "permission-missing" ? known : error;
  }
}

/** One text as its value: every library takes that. Rows are found by the index, whatever the statistics of a queue say. */
const GIVEN = `given as materialized (
  select (j->>0)::smallint as shard, (j->>1)::bigint as id from jsonb_array_elements($1::text::jsonb->'jobs') as j
)`;

/** The setting ends with the transaction: the next statement sees it only inside the same one. */
const MARK_SQL = "select set_config('hookline.transaction', $1, true)";
const IS_MARKED = "current_setting('hookline.transaction', true) is not distinct from $1::text::jsonb->>'mark'";

const completeSql = (ident: string): string => /* sql */ `
with ${GIVEN},
mine as materialized (
  select id from ${ident}.shard
  where id in (select shard from given) and owner = ($1::text::jsonb->>'worker')::bigint and ${IS_MARKED}
    and ${DATABASE} = $1::text::jsonb->>'database'
    and pg_advisory_xact_lock_shared(${transactionLockOf(ident, "($1::text::jsonb->>'worker')")}) is not null for share
),
found as (
  select job.at from given join mine on mine.id = given.shard cross join lateral (
    select ctid as at from ${ident}.job where job.shard = given.shard and job.id = given.id for update offset 0) as job
),
gone as (delete from ${ident}.job using found where job.ctid = found.at returning 1)
select count(*)::int as gone, (${IS_MARKED})::int as open, ${DATABASE} as database from gone`;

const lookSql = (ident: string): string => /* sql */ `
with ${GIVEN},
free as (
  select 1 from given cross join lateral (
    select 1 from ${ident}.job where job.shard = given.shard and job.id = given.id for key share skip locked offset 0) as job
)
select (select count(*)::int from free) as free, (
  select count(*)::int from given where exists (select from ${ident}.job where job.shard = given.shard and job.id = given.id)) as there`;

function noTransaction(): HooklineError {
  return new HooklineError("not-transactional", "No transaction is open: `complete` has changed nothing.", {
    fix: 'Run "begin" on a client of the pool and pass that client, or pass what the transaction of your library gives: not the pool, nor the database object.',
  });
}

function otherDatabase(actual: string | undefined, expected: string): HooklineError {
  const text = `The transaction is in the database ${actual}, expected the inbox's, ${expected}: \`complete\` has changed nothing.`;
  return new HooklineError("not-transactional", text, {
    fix: "Pass a client of the inbox's own database. Where only its server was started anew, let the error leave the handler: the job runs again.",
  });
}

function claimLost(): HooklineError {
  return new HooklineError(
    "claim-lost",
    "The jobs of this call were taken away: another process has them, or they were erased.",
    {
      fix: "Let the error leave the handler, so that the transaction rolls back; where the jobs remain they run again.",
    },
  );
}
