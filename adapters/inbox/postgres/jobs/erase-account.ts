import { accountOf, addErased, ERASED_REASON, NOTHING_ERASED, type ErasedRows } from "../../../../src/adapter.ts";
import { withoutReason } from "../../../../src/inbox/pauses.ts";
import type { Queries } from "../connection/pool.ts";
import { isUnreadable } from "../connection/classify-error.ts";
import type { LossLog } from "../loss-log.ts";

/** What a page erases. A delivery that alone is more goes all the same. */
const PAGE = { deliveries: 200, jobs: 5_000, bytes: 4 * 1024 * 1024 };

/** One page, tried again as long as others hold what it needs. */
export type ErasePage = (deliveries: readonly number[]) => Promise<ErasedRows>;

/**
 * Erases all of an account with ids up to `until`. A delivery that waits to be expanded belongs to the account that its body names, and so does
 * one that an older version expanded without noting it; once it was expanded, its lists have the account: so those without one come first.
 */
export async function eraseAccount(
  queries: Queries,
  ident: string,
  { accountId, until, erasePage, loss }: Range & { readonly erasePage: ErasePage },
): Promise<ErasedRows> {
  const reasons = await queries.query(
    /* sql */ `update ${ident}.tombstone set reason = '${ERASED_REASON}' where reason <> '${ERASED_REASON}' and subscription in (
       select subscription from ${ident}.subscription where account = $1
       union select subscription from ${ident}.subscribed_resource where account = $1) returning 1`,
    [accountId],
  );
  let pauses = 0;
  for (const { key, value } of await queries.query<{ key: string; value: string }>(
    `select key, value from ${ident}.pause where account = $1`,
    [accountId],
  )) {
    const erased = withoutReason(value, accountId);
    if (erased === undefined) continue;
    await queries.query(`update ${ident}.pause set value = $1 where key = $2 and value = $3`, [erased, key, value]);
    pauses += 1;
  }
  const notices = await queries.query(
    /* sql */ `delete from ${ident}.subscription where key in (
       select key from ${ident}.subscription where account = $1 order by key for update) returning 1`,
    [accountId],
  );
  const resources = await queries.query(
    /* sql */ `delete from ${ident}.subscribed_resource where (account, key) in (
       select account, key from ${ident}.subscribed_resource where account = $1 order by account, key for update) returning 1`,
    [accountId],
  );
  const tokens = await queries.query(`delete from ${ident}.key_value where account = $1 returning 1`, [accountId]);
  let sum = {
    ...NOTHING_ERASED,
    tombstones: reasons.length,
    pauses,
    notices: notices.length,
    resources: resources.length,
    tokens: tokens.length,
  };
  for (const pages of [unnamedOf, deliveriesOf])
    for await (const page of pages(queries, ident, { accountId, until, loss }))
      sum = addErased(sum, await erasePage(page));
  // What others have in memory has the old reasons.
  if (sum.tombstones > 0)
    await queries.query(
      `insert into ${ident}.meta as m values ('tombstones', '1') on conflict (key) do update set value = (m.value::bigint + 1)::text`,
    );
  await sweepWindows(queries, ident); // names of lanes may be of the account
  return sum;
}

/** What lanes inherited of which nothing is left. */
export async function sweepWindows(queries: Queries, ident: string): Promise<void> {
  await queries.query(`select ${ident}.sweep_unused_windows()`);
}

interface Range {
  readonly accountId: number;
  readonly until: number;
  readonly loss: Pick<LossLog, "unreadable">;
}

async function* unnamedOf(
  queries: Queries,
  ident: string,
  { accountId, until, loss }: Range,
): AsyncGenerator<readonly number[]> {
  const unnamed = `from ${ident}.delivery as one where account is null and id > $1 and id <= $2 and not exists (
    select from ${ident}.job_list as list where list.delivery = one.id and list.account is not null) order by id limit ${PAGE.deliveries}`;
  const bodyOf = (id: string): string =>
    `(select body from ${ident}.delivery as one where one.id = ${id} limit 1) as body`;

  const read = (after: number): Promise<readonly Unnamed[]> =>
    queries.query(
      /* sql */ `select id, ${bodyOf("sized.id")} from (
         select id, sum(octet_length(body)) over (order by id) as bytes, row_number() over (order by id) as nth
         from (select id, body ${unnamed}) as unnamed) as sized
       where nth = 1 or bytes <= ${PAGE.bytes} order by id`,
      [after, until],
    );

  /** One that cannot be read is left as it is: it keeps no other from being erased. */
  async function readSingly(after: number): Promise<readonly Unnamed[]> {
    const found: Unnamed[] = [];
    for (const { id } of await queries.query<{ id: number }>(`select id ${unnamed}`, [after, until])) {
      const [row] = await queries
        .query<Pick<Unnamed, "body">>(`select ${bodyOf("$1")}`, [id])
        .catch((error: unknown) => {
          if (!isUnreadable(error)) throw error;
          loss.unreadable("erased", id, error);
          return [];
        });
      found.push({ id, body: row?.body ?? null });
    }
    return found;
  }

  for (let after = 0; ;) {
    const rows = await read(after).catch((error: unknown) => {
      if (isUnreadable(error)) return readSingly(after);
      throw error;
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
    const page = rows.flatMap(({ id, body }) => (body !== null && accountOf(body) === accountId ? id : []));
    if (page.length > 0) yield page;
  }
}

interface Unnamed {
  readonly id: number;
  /** Null: it cannot be read, or was removed meanwhile. */
  readonly body: Uint8Array | null;
}

/** By the account that they have, then by that of lists that were made later. */
async function* deliveriesOf(
  queries: Queries,
  ident: string,
  { accountId, until }: Range,
): AsyncGenerator<readonly number[]> {
  const sources = [
    `select id as place, id, jobs from ${ident}.delivery where account = $1 and id > $2 and id <= $3 order by id`,
    `select first_job as place, delivery as id, jobs from ${ident}.job_list where account = $1 and first_job > $2 and delivery <= $3 order by first_job`,
  ];
  for (const source of sources)
    for (let after = 0; ;) {
      const rows = await queries.query<{ place: number; id: number }>(
        /* sql */ `select place, id from (
           select place, id, row_number() over (order by place) as nth, sum(bytes) over (order by place) as bytes,
             sum(count) over (order by place) as jobs
           from (${source} limit ${PAGE.deliveries}) as page cross join lateral (
             select octet_length(one.body) as bytes, ${ident}.list_length(page.jobs) as count from ${ident}.delivery as one
             where one.id = page.id limit 1) as size) as sized
         where nth = 1 or (bytes <= ${PAGE.bytes} and jobs <= ${PAGE.jobs}) order by place`,
        [accountId, after, until],
      );
      const last = rows.at(-1);
      if (last === undefined) break;
      after = last.place;
      yield [...new Set(rows.map(({ id }) => id))];
    }
}
