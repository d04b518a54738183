import { setTimeout as pause } from "node:timers/promises";
import { StorageError, type InboxJobs, type Tombstones, type WorkingInbox } from "../../../../src/adapter.ts";
import { createPool, type Pool, type Queries } from "../connection/pool.ts";
import { createPostgresJobs } from "../jobs/admin.ts";
import { createPostgresInbox, type PostgresOptions } from "../postgres-inbox.ts";
import { toConnection } from "../postgres-options.ts";
import { prepareSchema } from "../schema/migrate.ts";
import { createPostgresGaps } from "../upkeep/gaps.ts";
import { findLiveWorkers } from "../workers/list-workers.ts";
import { createPostgresPauses } from "../upkeep/pauses.ts";
import { readStats, type SharedStats } from "../upkeep/read-stats.ts";
import { createPostgresTombstones } from "../upkeep/tombstones.ts";

/** Which tables an inbox has in a database. */
interface DatabaseFacts {
  /** The whole name of the schema. */
  readonly schema: string;
  /** Of the receiver that it belongs to. */
  readonly name: string;
  readonly schemaVersion: number;
}

/** How much there is in it, and on the server's disk. */
interface DatabaseStats extends SharedStats {
  /** Lanes whose head waits for its retry. */
  readonly blockedLanes: number;
  readonly tombstones: number;
  readonly jobBytes: number;
  readonly deliveryBytes: number;
  /** Of all tables of the inbox. */
  readonly tableBytes: number;
  readonly databaseBytes: number;
}

/** An inbox in a database, for one who looks or changes jobs by hand: it makes no tables, and works on nothing. */
export interface LookedAtDatabase {
  readonly facts: DatabaseFacts;
  /** `read` writes nothing, so that a standby and a role that only reads are enough. */
  inbox(access: "read" | "change"): WorkingInbox<"network">;
  /** @param now milliseconds since the epoch */
  stats(now: number): Promise<DatabaseStats>;
  /** How many processes work now. @param enough stops counting */
  workersAlive(enough?: number): Promise<number>;
  close(): Promise<void>;
}

interface LookOptions {
  readonly connectionString: string;
  /** The whole name of the schema. @default that of the only inbox there */
  readonly schema?: string | undefined;
}

/**
 * Looks at a database without making or changing anything.
 * @throws StorageError `inbox-missing`, `schema-newer`, `schema-older`, and those of a connection; UsageError `option-invalid`
 */
export async function lookAtDatabase({ connectionString, schema }: LookOptions): Promise<LookedAtDatabase> {
  const connection = toConnection("connection", connectionString);
  const pool = createPool({ connection, max: 2, applicationName: "hookline inbox" });
  try {
    const whole = oneOf(await inboxesIn(pool), schema);
    const { name, version } = await metaOf(pool, whole);
    const schemaOption = name !== "default" && whole.endsWith(`_${name}`) ? whole.slice(0, -name.length - 1) : whole;
    const named = { schema: schemaOption, whole, name };
    const ident = await prepareSchema(pool, { ...named, migrate: false, readsOnly: true }).catch((error: unknown) => {
      throw (error as Partial<StorageError>).code === "schema-older" ? older(whole, version) : error;
    });
    const options = { ...ADMIN, connection, schema: schemaOption, whole };
    return {
      facts: { schema: whole, name, schemaVersion: version },
      inbox: (access) => (access === "change" ? createPostgresInbox(options) : openToRead(pool, ident, options)),
      stats: (now) => statsOf(pool, ident, now),
      workersAlive: (enough) => beating(pool, ident, enough),
      close: () => pool.close(),
    };
  } catch (error) {
    await pool.close();
    throw error;
  }
}

/** For an inbox that works on nothing: what it keeps, and for how long, is the receivers' matter. */
const ADMIN = {
  migrate: false,
  leaseMs: 5_000,
  keepDoneMs: Infinity,
  keepUnhandledMs: Infinity,
  keepDeadMs: Infinity,
  keepBodies: "retention",
  maxJobs: 1,
} as const;

/** The schemas with tables of Hookline. */
async function inboxesIn(queries: Queries): Promise<readonly string[]> {
  const rows = await queries.query<{
    schema: string;
  }>(/* sql */ `select n.nspname as schema from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
     where c.relname in ('meta', 'writer', 'shard', 'delivery') and c.relkind in ('r', 'p') group by 1 having count(*) = 4 order by 1`);
  return rows.map(({ schema }) => schema);
}

function oneOf(inboxes: readonly string[], wanted: string | undefined): string {
  const [only] = inboxes;
  if (wanted === undefined && inboxes.length === 1 && only !== undefined) return only;
  if (wanted !== undefined && inboxes.includes(wanted)) return wanted;
  const there = inboxes.length === 0 ? "no inbox of Hookline" : `the inboxes ${inboxes.join(", ")}`;
  throw new StorageError(
    "inbox-missing",
    wanted === undefined ? `The database has ${there}.` : `The database has no inbox ${wanted}, but ${there}.`,
    {
      fix:
        inboxes.length === 0
          ? "Name the database that the receiver was given: postgresInbox(connection). A receiver makes its tables when it starts."
          : "Say which one: --schema.",
    },
  );
}

async function metaOf(queries: Queries, schema: string) {
  const rows = await queries.query<{ key: string; value: string }>(
    `select key, value from "${schema.replaceAll('"', '""')}".meta`,
  );
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  return { name: String(meta.get("name")), version: Number(meta.get("version")) };
}

function older(schema: string, version: number): StorageError {
  return new StorageError(
    "schema-older",
    `The schema ${schema} has version ${version}, which this Hookline upgrades.`,
    {
      fix: "Run the version of Hookline that the receiver has, or start a receiver of this version first.",
    },
  );
}

/** Between two looks at what is paused: whoever looks may do so for hours. */
const FOLLOW_MS = 1_000;

/** What is written is not reached: the inbox beneath is never opened. */
function openToRead(pool: Pool, ident: string, options: PostgresOptions): WorkingInbox<"network"> {
  const named = { ident: () => ident, pool };
  const unchanged = { ...named, pool: { ...pool, transaction: refuse } };
  const pauses = createPostgresPauses({ ...unchanged, looks: pool, now: Date.now });
  let following: NodeJS.Timeout | undefined;
  const tombstones: Tombstones = createPostgresTombstones({ ...unchanged, now: Date.now });
  const jobs: InboxJobs = createPostgresJobs({
    ...named,
    writer: { transaction: refuse },
    changed: () => Promise.resolve(),
  });
  return {
    ...createPostgresInbox(options),
    async open() {
      await pauses.refresh();
      following ??= setInterval(() => void pauses.refresh().catch(() => {}), FOLLOW_MS).unref();
    },
    async close() {
      clearInterval(following);
    },
    tombstones,
    pauses,
    liveWorkers: () => findLiveWorkers(pool, ident),
    gaps: createPostgresGaps({ ...unchanged, isMine: () => false }),
    jobs,
  };
}

function refuse(): Promise<never> {
  return Promise.reject(new StorageError("storage-failed", "The inbox was opened to read only: it changes nothing."));
}

async function statsOf(queries: Queries, ident: string, now: number): Promise<DatabaseStats> {
  const [stats, [more]] = await Promise.all([
    readStats(queries, ident),
    queries.query<Omit<DatabaseStats, keyof SharedStats>>(
      /* sql */ `with sizes as (
         select c.relname as name, pg_total_relation_size(c.oid) as bytes from pg_class as c
         where c.relnamespace = (select relnamespace from pg_class where oid = $1::regclass) and c.relkind = 'r')
       select (select count(distinct lane)::int from ${ident}.job where run_at > $2) as "blockedLanes",
         (select count(*)::int from ${ident}.tombstone) as tombstones, pg_database_size(current_database()) as "databaseBytes",
         (select sum(bytes)::bigint from sizes) as "tableBytes", (select bytes from sizes where name = 'job') as "jobBytes",
         (select coalesce(sum(bytes), 0)::bigint from sizes where name like 'delivery\\_%' or name like 'job\\_list\\_%') as "deliveryBytes"`,
      [`${ident}.meta`, now],
    ),
  ]);
  return { ...stats, ...(more as Omit<DatabaseStats, keyof SharedStats>) };
}

/** A heart that stands still for so long is no sign of life: it beats twice a second. */
const STILL_MS = 3_000;
/** Between two looks. */
const LOOK_MS = 100;

/** The row of a process that was killed says that it lives, until another one takes over from it. */
async function beating(queries: Queries, ident: string, enough = Infinity): Promise<number> {
  const look = (): Promise<readonly { id: number; beat: number }[]> =>
    queries.query(`select id, beat from ${ident}.worker where alive`);
  const first = new Map((await look()).map(({ id, beat }) => [id, beat]));
  const until = performance.now() + STILL_MS;
  for (let alive = 0; ; await pause(LOOK_MS)) {
    const now = await look();
    alive = now.filter(({ id, beat }) => first.get(id) !== beat).length;
    if (alive >= Math.min(enough, now.length) || performance.now() > until) return alive;
  }
}
