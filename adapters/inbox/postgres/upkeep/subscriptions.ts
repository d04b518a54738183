import type { ErroredSubscription, Subscriptions } from "../../../../src/adapter.ts";
import type { Pool, Queries } from "../connection/pool.ts";
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
      const rows = await pool.query<ErroredSubscription & { readonly source: string | null }>(
        `select subscription, account as "accountId", resource, source, error from (
           select * from ${ident()}.subscription where error is not null order by seq desc limit ${MOST}) as newest order by seq`,
      );
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
      await forgetSubscription(pool, ident(), { subscription, source });
      await refresh();
    },
    trim: () => trimSubscriptions(pool, ident()),
  };
}

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
  await queries.query(
    `delete from ${ident}.subscription where seq = any (array(
       select seq from ${ident}.subscription order by error is null, seq desc offset ${MOST}))`,
  );
}
