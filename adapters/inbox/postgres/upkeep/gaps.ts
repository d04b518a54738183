import { createHash } from "node:crypto";
import {
  RESOURCE_LIFE_MS,
  type Gap,
  type GapCount,
  type Gaps,
  type SubscribedResource,
} from "../../../../src/adapter.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { toText } from "../store/encode-batch.ts";

export interface PostgresGapsDeps {
  readonly ident: () => string;
  readonly pool: Pool;
  readonly isMine: () => boolean;
}

/** Rows are locked in this order alone: processes that change the same ones do not wait for each other in a circle. */
const IN_ORDER = "order by r.account, r.key for update of r";

/** The gap `g` joins the one that the row `r` has. Of an error that ended early, and of one that was not told, the end tells. */
const JOINED = `
  cause = case when r.from_at is null or g.until is null then g.cause else r.cause end,
  from_at = least(r.from_at, g."from", case when g.cause = 'errored' and g.until is not null and r.told_at > 0 then r.told_at end),
  until_at = case when g.until is null or (r.from_at is not null and r.until_at is null and (g.cause = 'silent' or g.until < r.told_at)) then null
    else greatest(r.until_at, g.until) end`;

/** Resources that deliveries came for, and their gaps, in the tables. Pages go by account. */
export function createPostgresGaps({ ident, pool, isMine }: PostgresGapsDeps): Gaps {
  const table = (): string => `${ident()}.subscribed_resource`;
  /** The last mark of this process: when it was, by its own clock, and how many there had been of all processes. */
  let lastMark = { at: Number.NEGATIVE_INFINITY, count: 0 };
  const seeSql =
    (): string => /* sql */ `insert into ${table()} as r (account, key, source, subscription, resource, family, seen_at)
     select account, key, source, subscription, resource, family, $2
     from jsonb_to_recordset($1::jsonb) as one (account bigint, key text, source text, subscription bigint, resource text, family text)
     order by account, key on conflict (account, key) do update set seen_at = excluded.seen_at where r.seen_at < excluded.seen_at`;

  /** A change is durable once it resolves, which a statement without a transaction need not be. */
  async function change(text: string, values: readonly unknown[]): Promise<void> {
    await pool.transaction((queries) => queries.query(text, values));
  }

  async function countMark(queries: Queries): Promise<number> {
    const sql = `insert into ${ident()}.meta as m values ('marks', '1') on conflict (key) do update set value = (m.value::bigint + 1)::text returning value`;
    const [counted] = await queries.query<{ value: string }>(sql);
    return Number(counted?.value);
  }

  return {
    seen: (resources, at) => change(seeSql(), [JSON.stringify(roundsOf(resources.map(toRow))[0] ?? []), at]),
    forget: (subscription, source) =>
      change(
        /* sql */ `delete from ${table()} where (account, key) in (
           select r.account, r.key from ${table()} as r where r.subscription = $1 and ($2::text is null or r.source = $2) ${IN_ORDER})`,
        [subscription, source === undefined ? null : toText(source)],
      ),
    async resourcesOf(subscription, source) {
      const rows = await pool.query<Nullable<SubscribedResource, "source">>(
        /* sql */ `select source, subscription, account as "accountId", resource, family from ${table()}
         where subscription = $1 and ($2::text is null or source = $2) order by account, key`,
        [subscription, source === undefined ? null : toText(source)],
      );
      return rows.map((row) => Object.assign(row, { source: row.source ?? undefined }));
    },
    add: (gaps) =>
      pool.transaction(async (queries) => {
        const rounds = roundsOf(gaps.map((gap) => ({ ...toRow(gap), ...windowOf(gap) })));
        // The first round has each row: all are locked, in order, before one is changed.
        await queries.query(seeSql(), [JSON.stringify(rounds[0] ?? []), 0]);
        for (const round of rounds)
          await queries.query(
            /* sql */ `update ${table()} as r set ${JOINED}, seen_at = greatest(r.seen_at, coalesce(g.until, g."from")),
               told_at = case g.cause when 'errored' then coalesce(g.until, g."from") else r.told_at end
             from jsonb_to_recordset($1::jsonb) as g (account bigint, key text, cause text, "from" bigint, until bigint)
             where r.account = g.account and r.key = g.key and (g.cause <> 'errored' or r.told_at < g."from" or r.told_at <= g.until)`,
            [JSON.stringify(round)],
          );
      }),
    async find({ families, accountId, hasEnded = false, after = START, limit }) {
      const rows = await pool.query<Nullable<Gap, "source" | "until"> & { readonly key: string }>(
        /* sql */ `select key, source, subscription, account as "accountId", resource, family, cause, from_at as "from", until_at as until
         from ${table()} where from_at is not null and (account, key) > ($1, $2) and ($3::bigint is null or account = $3)
           and ($4::text[] is null or family = any ($4)) and (not $5 or until_at is not null) order by account, key limit $6`,
        [...after.split(" "), accountId ?? null, families ?? null, hasEnded, limit + 1],
      );
      const page = rows.slice(0, limit);
      const last = rows.length > limit ? page.at(-1) : undefined;
      return {
        gaps: page.map(({ key: _key, source, until, ...gap }) =>
          Object.assign(gap, { source: source ?? undefined, until: until ?? undefined }),
        ),
        ...(last === undefined ? {} : { next: `${last.accountId} ${last.key}` }),
      };
    },
    async count() {
      const rows = await pool.query<
        Nullable<GapCount, "until">
      >(/* sql */ `select family, count(*)::int as count, (count(*) filter (where until_at is null))::int as open, min(from_at) as "from",
           max(until_at) as until from ${table()} where from_at is not null group by family`);
      return rows.map((row) => Object.assign(row, { until: row.until ?? undefined }));
    },
    remove: (gaps) =>
      change(
        /* sql */ `update ${table()} set cause = null, from_at = null, until_at = null where (account, key) in (
           select r.account, r.key from ${table()} as r
           join jsonb_to_recordset($1::jsonb) as g (account bigint, source text, resource text, until bigint)
             on r.account = g.account and r.resource = g.resource and r.source is not distinct from g.source
           where r.from_at is not null and (g.until is null or r.until_at <= g.until) ${IN_ORDER})`,
        [JSON.stringify(gaps.map((gap) => ({ ...toRow(gap), ...windowOf(gap) })))],
      ),
    async mark({ at, afterMs }) {
      let count = 0;
      const since = await pool.transaction(async (queries) => {
        const meta = `${ident()}.meta`;
        // Who comes second waits here, and finds the first one's mark.
        const [row] = await queries.query<{ value: string }>(
          `select value from ${meta} where key = 'alive' for update`,
        );
        await queries.query(
          `insert into ${meta} values ('alive', $1) on conflict (key) do update set value = excluded.value`,
          [String(at)],
        );
        count = await countMark(queries);
        // Its own clock says more than the mark of another process, whose clock may differ; unless the server lost what held, and its own mark too.
        const wasAlive = at >= lastMark.at && at - lastMark.at <= afterMs && count > lastMark.count;
        if (row === undefined) return undefined;
        const before = Number(row.value);
        await queries.query(
          /* sql */ `delete from ${table()} where (account, key) in (
             select r.account, r.key from ${table()} as r where r.from_at is null and r.seen_at < $1 ${IN_ORDER})`,
          [Math.min(before, at) - RESOURCE_LIFE_MS],
        );
        if (wasAlive || at - before <= afterMs) return undefined;
        await queries.query(
          /* sql */ `update ${table()} as r set ${JOINED}, seen_at = least(r.seen_at + g.until - g."from", g.until) from (select 'down' as cause, $1::bigint as "from", $2::bigint as until) as g
           where (r.account, r.key) in (select r.account, r.key from ${table()} as r ${IN_ORDER})`,
          [before, at],
        );
        return before;
      });
      lastMark = { at, count };
      return since;
    },
    isMine,
  };
}

/** The `after` of the first page. */
const START = `${Number.MIN_SAFE_INTEGER} `;

/** As the driver gives it. */
type Nullable<T, K extends keyof T> = Omit<T, K> & { readonly [Name in K]: NonNullable<T[Name]> | null };

interface Row {
  readonly account: number;
  /** Of its source, subscription, account and path, which is too long for an index. */
  readonly key: string;
  readonly source: string | null;
  readonly subscription: number;
  readonly resource: string;
  readonly family: string;
}

function toRow(one: SubscribedResource): Row {
  const { subscription, accountId: account, family } = one;
  const [source, resource] = [one.source === undefined ? null : toText(one.source), toText(one.resource)];
  const whole = JSON.stringify([source, subscription, account, resource]);
  const key = createHash("sha256").update(whole).digest("hex").slice(0, 32);
  return { account, key, source, subscription, resource, family };
}

function windowOf({ cause, from, until }: Gap): Pick<Gap, "cause" | "from" | "until"> {
  return { cause, from, until };
}

/** A statement changes a row once: what comes again is of the next round. */
function roundsOf<T extends Row>(rows: readonly T[]): readonly (readonly T[])[] {
  const rounds: T[][] = [];
  const counts = new Map<string, number>();
  for (const row of rows) {
    const round = counts.get(row.key) ?? 0;
    counts.set(row.key, round + 1);
    (rounds[round] ??= []).push(row);
  }
  return rounds;
}
