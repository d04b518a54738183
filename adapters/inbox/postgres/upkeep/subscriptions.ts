import type {
  AskedUnsubscribe,
  ErroredSubscription,
  KnownSubscription,
  Subscriptions,
} from "../../../../src/adapter.ts";
import { impatient } from "../connection/impatient.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { isLockTimeout } from "../connection/classify-error.ts";
import { toText } from "../store/encode-batch.ts";

/** Subscriptions in the tables, cached in memory for health checks. */
export interface PostgresSubscriptions extends Subscriptions {
  /** Reads changes of this and other processes. */
  refresh(): Promise<void>;
  /** Forgets what is too much. */
  trim(): Promise<void>;
}

/** Beyond it those that work are forgotten first, then the oldest. */
const MOST = 1_000;

const HOUR_MS = 60 * 60 * 1_000;

export function createPostgresSubscriptions({
  ident,
  pool,
}: {
  readonly ident: () => string;
  readonly pool: Pool;
}): PostgresSubscriptions {
  let errored: readonly ErroredSubscription[] = [];
  let begun = 0;
  let read = 0;
  let reading = 0;

  async function refresh(): Promise<void> {
    const mine = (begun += 1);
    reading += 1;
    try {
      // Of what is to be forgotten, nothing is told.
      const rows = await impatient(pool).query<
        ErroredSubscription & { readonly source: string | null }
      >(/* sql */ `select subscription, account as "accountId", resource, source, error from (
           select * from ${ident()}.subscription where error is not null order by seq desc limit ${MOST}) as newest order by seq`);
      // One connection may be slower than the other.
      if (mine < read) return;
      read = mine;
      errored = rows.map(({ source, ...row }) => Object.assign(row, { source: source ?? undefined }));
    } finally {
      reading -= 1;
    }
  }

  return {
    refresh,
    errored() {
      // Runs in the background; the next call returns what it finds.
      if (reading === 0) refresh().catch(() => {});
      return errored;
    },
    async forget(subscription, source) {
      await pool.transaction((queries) => forgetSubscription(queries, ident(), { subscription, source }));
      await refresh();
    },
    async record({ subscription, accountId, resource, error }, { source, sentAt }) {
      const texts = [resource, source, error].map((text) => (text === undefined ? null : toText(text)));
      // The key is that of the notices of deliveries.
      await pool.transaction((queries) =>
        queries.query(
          /* sql */ `insert into ${ident()}.subscription as s (key, subscription, account, sent_at, resource, source, error)
         values (md5(jsonb_build_array($5::text, $1::bigint, $4::text)::text), $1, $2, $3, $4, $5, $6)
         on conflict (key) do update set account = excluded.account, sent_at = excluded.sent_at, error = excluded.error, seq = default
         where s.sent_at <= excluded.sent_at`,
          [subscription, accountId, sentAt, ...texts],
        ),
      );
      await refresh();
    },
    async known() {
      const rows = await impatient(pool).query<Nullable<KnownSubscription>>(
        `select subscription, account as "accountId", resource, source, error, sent_at as "sentAt" from ${ident()}.subscription order by seq`,
      );
      return rows.map(({ source, error, ...row }) =>
        Object.assign(row, { source: source ?? undefined, error: error ?? undefined }),
      );
    },
    trim: () => trimSubscriptions(pool, ident()),
  };
}

/** As the driver gives it. */
type Nullable<T extends { readonly source: unknown; readonly error: unknown }> = Omit<T, "source" | "error"> & {
  readonly source: string | null;
  readonly error: string | null;
};

/** Without a source: in every source. */
export async function forgetSubscription(
  queries: Queries,
  ident: string,
  { subscription, source }: { readonly subscription: number; readonly source: string | undefined },
): Promise<void> {
  await queries.query(
    `delete from ${ident}.subscription where subscription = $1 and ($2::text is null or source = $2)`,
    [subscription, source === undefined ? null : toText(source)],
  );
}

export async function trimSubscriptions(queries: Queries, ident: string): Promise<void> {
  await queries.query(/* sql */ `delete from ${ident}.subscription where seq = any (array(
       select seq from ${ident}.subscription order by error is null, seq desc offset ${MOST}))`);
}

/**
 * Counts the unsubscribes of all processes in one row: who comes second waits for the first one's commit, and goes on from there. The time
 * is the server's, because the clocks of processes differ. Where others hold a lock on the row, those that came while one waited for it fail
 * with that one: a gate may ask at every delivery.
 * @param pool whose transactions do not wait for long
 */
export function createUnsubscribeCount(pool: Pool, ident: () => string): (asked: AskedUnsubscribe) => Promise<boolean> {
  let last: Promise<unknown> = Promise.resolve();
  let lockTimeouts = 0;
  let lockTimeout: unknown;

  async function ask({ subscription, source, maxPerHour }: AskedUnsubscribe): Promise<boolean> {
    const key = `${subscription} ${toText(source ?? "")}`;
    // A transaction, because a permission that a crash of the server forgets would be given again.
    const [row] = await pool.transaction((queries) =>
      queries.query<{ allowed: boolean }>(
        /* sql */ `insert into ${ident()}.meta as m values ('unsubscribes', ${countSql("'{}'")})
       on conflict (key) do update set value = ${countSql("m.value")}
       returning $2::float8 >= 1 and (value::jsonb->'allowed') ? $1 as allowed`,
        [key, maxPerHour],
      ),
    );
    return row?.allowed === true;
  }

  return (asked) => {
    const before = lockTimeouts;
    const mine = last.then(async () => {
      if (lockTimeouts > before) throw lockTimeout;
      try {
        return await ask(asked);
      } catch (error) {
        if (isLockTimeout(error)) [lockTimeouts, lockTimeout] = [lockTimeouts + 1, error];
        throw error;
      }
    });
    last = mine.catch(() => {});
    return mine;
  };
}

/**
 * The count after one more was asked for: when each subscription of the last hour was allowed, by the latest time that the server's clock gave,
 * `at`. A clock that goes ahead and comes back gives nothing until it is there again.
 */
const countSql = (before: string): string => `(
  select jsonb_build_object('at', now,
    'allowed', case when asked.more then recent || jsonb_build_object($1::text, now) else recent end)::text
  from (select ${before}::jsonb as count offset 0) as was
  cross join lateral (
    select greatest((extract(epoch from clock_timestamp()) * 1000)::float8, (count->>'at')::float8) as now offset 0) as clock
  cross join lateral (
    select (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each(count->'allowed')
      where now - value::float8 < ${HOUR_MS}) as recent offset 0) as passed
  cross join lateral (
    select not recent ? $1::text and (select count(*) from jsonb_object_keys(recent)) + 1 <= $2::float8 as more
    offset 0) as asked)`;
