import { createHash } from "node:crypto";
import type { Pause } from "../../../../src/adapter.ts";
import { createPauses, type KnownPauses, type WaitingJobs } from "../../../../src/inbox/pauses.ts";
import { impatient } from "../connection/impatient.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { toText } from "../store/encode-batch.ts";

interface PausesDeps {
  readonly ident: () => string;
  readonly pool: Pool;
  /** For counts, which may take long. */
  readonly looks: Queries;
  readonly now: () => number;
}

/** Pauses in the tables: `refresh` reads them once a second. */
export function createPostgresPauses({ ident, pool, looks, now }: PausesDeps): KnownPauses {
  return createPauses(
    {
      async read() {
        const rows = await impatient(pool).query<{ value: string }>(`select value from ${ident()}.pause`);
        return rows.map(({ value }) => value);
      },
      // A transaction: only its commit is flushed whatever the role's settings are.
      write: (key, value, endedBefore) =>
        pool.transaction(async (queries) => {
          const table = `${ident()}.pause`;
          const id = createHash("sha256").update(key).digest("base64url");
          await queries.query(`delete from ${table} where until_at < $1 and key <> $2`, [endedBefore, id]);
          if (value === undefined)
            return (await queries.query(`delete from ${table} where key = $1 returning 1`, [id])).length > 0;
          const { accountId, consumer, until } = JSON.parse(value) as Pause;
          await queries.query(
            `insert into ${table} values ($1, $2, $3, $4, $5) on conflict (key) do update set value = excluded.value, until_at = excluded.until_at`,
            [id, toText(value), accountId ?? null, consumer === undefined ? null : toText(consumer), until ?? null],
          );
          return true;
        }),
      async waitingJobs(accounts, consumers) {
        const names = new Map(consumers.map((consumer) => [toText(consumer), consumer]));
        const rows = await looks.query<WaitingJobs>(
          /* sql */ `select case when account = any ($1::bigint[]) then account end as account, case when consumer = any ($2::text[]) then consumer end as consumer,
               count(*) as jobs from ${ident()}.job
             where id not in (select job from ${ident()}.worker as w cross join unnest(w.running) as job where w.alive) group by 1, 2`,
          [accounts, [...names.keys()]],
        );
        return rows.map(({ account, consumer, jobs }) => ({
          account,
          consumer: names.get(consumer ?? "") ?? null,
          jobs,
        }));
      },
    },
    now,
  );
}

/** Of the table `job`, as `j`: no pause holds it. One of nothing, which a hand may have made, holds nothing. */
export function isUnpaused(ident: string): string {
  return `not exists (select from ${ident}.pause as p where coalesce(p.account::text, p.consumer) is not null and (p.account is null or p.account = j.account)
    and (p.consumer is null or p.consumer = j.consumer) and (p.until_at is null or p.until_at > extract(epoch from clock_timestamp()) * 1000))`;
}
