import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Tombstone, Tombstones } from "../../../../src/adapter.ts";
import { createTombstoneCache } from "../../../../src/inbox/upkeep/tombstone-cache.ts";
import { impatient } from "../connection/impatient.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { SERVER } from "../schema/tables.ts";
import { toText } from "../store/encode-batch.ts";
import { forgetSubscription } from "./subscriptions.ts";

/** Tombstones in the tables, cached in memory for requests. */
export interface PostgresTombstones extends Tombstones {
  /** Reads changes of other processes. */
  refresh(): Promise<void>;
}

/** Between two looks. */
export const LOOK_MS = 500;
/** Others may have lifted some since: from an older copy no 422 is answered, and what comes is stored. */
const MOST_AGE_MS = 1_000;

interface Read {
  readonly version: string;
  readonly all: readonly (Omit<Tombstone, "source"> & { readonly source: string | null })[];
}

export function createPostgresTombstones({
  ident,
  pool,
  now,
}: {
  readonly ident: () => string;
  readonly pool: Pool;
  readonly now: () => number;
}): PostgresTombstones {
  /** Of the last look that was answered: when it began. By two clocks: the monotonic one may stand still while the machine is suspended. */
  let looked = { at: -Infinity, wall: -Infinity };
  const cache = createTombstoneCache({
    now,
    isCurrent: () => Math.max(performance.now() - looked.at, Math.abs(Date.now() - looked.wall)) < MOST_AGE_MS,
    writeHit,
    toKey,
  });
  /** Which tombstones of which tables these are. */
  let seen: { readonly of: string; readonly version: string } | undefined;
  let begun = 0;
  let read = 0;

  async function refresh(): Promise<void> {
    const mine = (begun += 1);
    const of = ident();
    const known = seen?.of === of ? seen.version : null;
    const asked = { at: performance.now(), wall: Date.now() };
    // Those of other tables stand for nothing, even where these cannot be read.
    if (known === null) cache.clear();
    // Who holds a lock on the tombstones alone keeps nobody from knowing that they have not changed.
    else if ((await readVersion(of)) === known) {
      if (asked.at > looked.at) looked = asked;
      return;
    }
    const row = await oneRow<Read>(
      impatient(pool),
      /* sql */ `select v.version, (
         select coalesce(jsonb_agg(jsonb_build_object('subscription', subscription, 'source', case when any_source then null else source end,
           'reason', reason, 'since', since, 'lastHit', last_hit)), '[]') from ${of}.tombstone) as all
       from (select ${versionIn(of)} as version) as v`,
    );
    // A later look, or a change by this process, may have come before.
    if (mine < read) return;
    read = mine;
    looked = asked;
    seen = { of, version: row.version };
    cache.load(row.all.map((one) => Object.assign(one, { source: one.source ?? undefined })));
  }

  async function readVersion(of: string): Promise<string> {
    return (await oneRow<Pick<Read, "version">>(impatient(pool), `select ${versionIn(of)} as version`)).version;
  }

  /** Others read all again when the version is another one. */
  async function change(run: (queries: Queries, of: string) => Promise<void>): Promise<void> {
    const of = ident();
    await pool.transaction(async (queries) => {
      await queries.query(
        `insert into ${of}.meta as m values ('tombstones', '1') on conflict (key) do update set value = (m.value::bigint + 1)::text`,
      );
      await run(queries, of);
    });
  }

  async function writeHit({ subscription, source, lastHit }: Tombstone): Promise<void> {
    await change(async (queries, of) => {
      await queries.query(
        `update ${of}.tombstone set last_hit = greatest(last_hit, $1) where subscription = $2 and any_source = $3 and source = $4`,
        [lastHit, subscription, source === undefined, toKey(source ?? "")],
      );
    });
  }

  return {
    refresh,
    get isEmpty() {
      return cache.isEmpty;
    },
    find: cache.find,
    async put({ subscription, source, reason }) {
      const time = now();
      await change(async (queries, of) => {
        await queries.query(
          /* sql */ `insert into ${of}.tombstone values ($1, $2, $3, $4, $5, $5) on conflict (subscription, any_source, source)
           do update set reason = excluded.reason, since = excluded.since, last_hit = excluded.last_hit`,
          [subscription, toKey(source ?? ""), source === undefined, toText(reason), time],
        );
        await forgetSubscription(queries, of, { subscription, source });
      });
      await refresh();
    },
    async lift(subscription, source) {
      await change(async (queries, of) => {
        await queries.query(
          `delete from ${of}.tombstone where subscription = $1 and ($2::text is null or (not any_source and source = $2))`,
          [subscription, source === undefined ? null : toKey(source)],
        );
      });
      await refresh();
      // Until then another process may answer 422 by its copy, which would delete what was just taken back: also where a third one, or a call
      // before this, has taken it back a moment ago.
      await sleep(MOST_AGE_MS);
      await refresh().catch(() => {}); // the own copy is as old by now
    },
    async list() {
      await refresh();
      return cache.all();
    },
  };
}

/** With the server and the database: after a fail-over or a restore it may lack the last changes, and count others by the same numbers. */
const versionIn = (ident: string): string =>
  `${SERVER} || ' ' || (select oid from pg_database where datname = current_database()) || ' ' || coalesce((select value from ${ident}.meta where key = 'tombstones'), '0')`;

/** Characters that fit an index, whatever they are. */
const MOST_SOURCE = 500;

/** A longer one is stored by its begin and a hash: a mount may take it from the request. */
function toKey(source: string): string {
  const text = toText(source);
  if (text.length <= MOST_SOURCE) return text;
  return `${toText(text.slice(0, MOST_SOURCE - 100))} … ${createHash("sha256").update(text).digest("hex")}`;
}
