import { setTimeout as pause } from "node:timers/promises";
import { StorageError, type Logger } from "../../../../src/adapter.ts";
import { UsageError } from "../../../../src/index.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { isLockTimeout } from "../connection/classify-error.ts";
import { functionsOf } from "./functions.ts";
import { changeFunctions, hashLaneWindows, makePublishable, SCHEMA_VERSION, sweepLater, tablesOf } from "./tables.ts";

/** What a version of Hookline makes. Its SQL takes the quoted name of the schema. */
export interface SchemaPlan {
  readonly version: number;
  /** The oldest version whose code works on it. */
  readonly worksWith: number;
  /** The newest tables, for a schema that has none. They say that they are of version 1. */
  readonly tables: (ident: string) => string;
  /** From each version to the next; the first one makes version 2. */
  readonly upgrades: readonly ((ident: string) => string)[];
  readonly functions: (ident: string) => string;
}

/**
 * In a rolling deploy the old and the new code run at the same time, on the schema of the newer one; the functions are the newer one's.
 * So an upgrade only adds: a column with a default, a table, an index. A function is replaced under its name only where the old code
 * cannot tell the difference: else the new code calls one of a new name, and the old one stays. What no code from \`worksWith\` on uses
 * any more is dropped by the upgrade that raises \`worksWith\`, a release after the code stopped using it.
 */
const CURRENT: SchemaPlan = {
  version: SCHEMA_VERSION,
  worksWith: 1,
  tables: tablesOf,
  upgrades: [hashLaneWindows, makePublishable, changeFunctions, changeFunctions, sweepLater, changeFunctions],
  functions: functionsOf,
};

export interface SchemaName {
  /** The option `schema`. */
  readonly schema: string;
  /** The receiver's. */
  readonly name: string;
  /** The schema's own name, for one who looks at what is there: it may have been renamed. @default what is made of both */
  readonly whole?: string | undefined;
}

interface Preparing {
  readonly migrate: boolean;
  /** It is only read: that calls no function. @default false */
  readonly readsOnly?: boolean;
  readonly log?: Pick<Logger, "info">;
  /** How long others may hold locks on the tables. @default 300_000 */
  readonly patienceMs?: number;
}

/**
 * Makes the schema of a receiver or upgrades it, as the role of the connection. Others that do so at the same time wait for each other.
 * @returns its quoted name
 * @throws StorageError `schema-newer`, `schema-older`, `schema-missing`, `schema-renamed`, `name-differs`, `not-an-inbox`
 * @throws UsageError `option-invalid` for a name that is too long, or has quotes, backslashes or dollars
 */
export async function prepareSchema(
  pool: Pool,
  { migrate, readsOnly = false, log, patienceMs = PATIENCE_MS, ...given }: SchemaName & Preparing,
  plan: SchemaPlan = CURRENT,
): Promise<string> {
  const schema = schemaOf(given);
  const before = await stateOf(pool, schema);
  const isBehind = before.version === undefined || before.version < plan.version;
  if (before.isForeign) throw foreign(schema);
  if (before.madeAs !== undefined && !readsOnly) throw renamed(schema, before.madeAs);
  if (isBehind && !migrate) throw notMade(before.version, schema, given);
  const facts = { code: "schema-upgraded", schema, from: before.version, to: plan.version };
  const isUpgrade = isBehind && before.version !== undefined;
  if (isUpgrade) log?.info(facts, "the tables of an older version are upgraded: other processes wait for it");
  const waits = (): void =>
    log?.info(
      { ...facts, code: "schema-waits" },
      "others hold locks on the tables, such as pg_dump: the upgrade is tried again until they end",
    );
  if (isBehind) await runWaiting(pool, migrationOf(given, plan), { waits, patienceMs });
  if (isUpgrade) log?.info(facts, "the tables are upgraded");
  const { version, worksWith, name } = isBehind ? await stateOf(pool, schema) : before;
  if (name !== undefined && name !== given.name) throw otherName(schema, name, given.name);
  if (version !== undefined && version > plan.version && worksWith > plan.version)
    throw new StorageError(
      "schema-newer",
      `The schema ${quoted(schema)} has version ${version}, expected ${plan.version} at most.`,
      {
        fix: "A newer Hookline has upgraded it: install that version here too, or restore a backup of before.",
      },
    );
  return quoted(schema);
}

/**
 * What `prepareSchema` runs, for the command line. Running it again changes nothing.
 * @param role that gets what the inbox needs: all rows, and no right to make or drop anything
 * @throws UsageError `option-invalid`
 */
export function schemaSql(given: SchemaName, role?: string): string {
  const who =
    role === undefined
      ? "the role of the application, which owns the tables then; or add --role for one that only changes rows"
      : `the owner of the tables, not as ${role}`;
  return `-- Run it as ${who}.\n-- A lock timeout: others hold locks on the tables, such as pg_dump, and nothing is changed. Run it again.\n${migrationOf(given, CURRENT, role)};\n`;
}

function schemaOf({ schema, name, ...given }: SchemaName): string {
  const whole = given.whole ?? (name === "default" ? schema : `${schema}_${name}`);
  if (PLAIN.test(whole) && Buffer.byteLength(whole) <= MOST_NAME_BYTES) return whole;
  throw new UsageError(
    "option-invalid",
    `The receiver's schema would be named ${JSON.stringify(whole)}, expected letters, digits, spaces and any of _.:- in at most ${MOST_NAME_BYTES} bytes.`,
    { fix: "Change `name` of the receiver, or the option `schema` of the inbox: the name is made of both." },
  );
}

/** Between two tries, so that who waits behind one has its turn. */
const TRY_AGAIN_MS = 1_000;
/** A dump of a large database takes longer than any wait that helps. */
const PATIENCE_MS = 5 * 60_000;

/** A table that others read for long is not waited for in one go: all that comes later would wait behind. */
async function runWaiting(
  pool: Pool,
  sql: string,
  { waits, patienceMs }: { readonly waits: () => void; readonly patienceMs: number },
): Promise<void> {
  const until = performance.now() + patienceMs;
  for (let tries = 1; ; tries += 1)
    try {
      // A statement is a transaction of its own: all of it or nothing.
      await pool.query(sql);
      return;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      if (performance.now() >= until)
        throw new StorageError(
          "storage-failed",
          `Others have held locks on the tables for ${patienceMs / 1_000} s: they are as they were.`,
          {
            cause: error,
            fix: "Look at `pg_locks` for who holds them, such as pg_dump or a transaction that was left open; end it or wait for its end, and start again.",
          },
        );
      if (tries === 1) waits();
      await pause(TRY_AGAIN_MS);
    }
}

/** Quotes, backslashes and dollars have a meaning inside the bodies of functions. */
const PLAIN = /^[\p{L}\p{N} _.:-]+$/u;

/** A longer one would be cut off, and be another receiver's. */
const MOST_NAME_BYTES = 63;

/** In one block: an error in it undoes all of it, and it needs no session. */
function migrationOf(
  given: SchemaName,
  { version, worksWith, tables, upgrades, functions }: SchemaPlan,
  role?: string,
): string {
  const schema = schemaOf(given);
  const ident = quoted(schema);
  const steps = upgrades.map((upgrade, index) => `if made < ${index + 2} then\n${upgrade(ident)}\nend if;`);
  return /* sql */ `do ${TAG}
declare
  made int;
begin
set local lock_timeout = '500ms';
perform pg_advisory_xact_lock(hashtextextended(${text(`hookline schema ${schema}`)}, 0));
if not exists (select from pg_catalog.pg_namespace where nspname = ${text(schema)}) then
create schema ${ident};
end if;
if to_regclass(${text(`${ident}.meta`)}) is null then
${tables(ident)}
insert into ${ident}.meta values ('name', ${text(given.name)});
else
if ${madeAsOf(text(schema))} is not null then raise exception 'The schema % was renamed: its functions write to the one of its old name.', ${text(schema)}; end if;
made := (select value::int from ${ident}.meta where key = 'version');
${steps.join("\n")}
end if;
if made is null or made < ${version} then
${functions(ident)}
insert into ${ident}.meta values ('version', '${version}'), ('works_with', '${worksWith}')
on conflict (key) do update set value = excluded.value;
end if;
${role === undefined ? "" : grantsOf(ident, role)}
end ${TAG}`;
}

/** Partitions that are made later need none: rows are reached through their parent. */
function grantsOf(ident: string, role: string): string {
  if (!PLAIN.test(role) || Buffer.byteLength(role) > MOST_NAME_BYTES)
    throw new UsageError(
      "option-invalid",
      `The role is named ${JSON.stringify(role)}, expected letters, digits, spaces and any of _.:- in at most ${MOST_NAME_BYTES} bytes.`,
    );
  const to = quoted(role);
  return `grant usage on schema ${ident} to ${to};
grant select, insert, update, delete on all tables in schema ${ident} to ${to};
grant usage, select on all sequences in schema ${ident} to ${to};
grant execute on all functions in schema ${ident} to ${to};`;
}

/** No part of the SQL contains it. */
const TAG = "$hookline_migration$";

interface SchemaState {
  /** Undefined: it has no tables of Hookline. */
  readonly version: number | undefined;
  readonly worksWith: number;
  readonly name: string | undefined;
  /** Where it was renamed, what it was named when its functions were made: they have that name in their text. */
  readonly madeAs: string | undefined;
  /** It has tables, and not of Hookline. */
  readonly isForeign: boolean;
}

/** What a schema was named when its functions were made, unless it has that name still. @param schema its name, as SQL */
function madeAsOf(schema: string): string {
  return /* sql */ `(select case when not bool_or(position(format('"%s".', ${schema}) in p.prosrc) > 0) then min(substring(p.prosrc from '"([^"]+)"[.]')) end
    from pg_catalog.pg_proc as p join pg_catalog.pg_namespace as n on n.oid = p.pronamespace where n.nspname = ${schema} and p.proname = 'store')`;
}

async function stateOf(queries: Queries, schema: string): Promise<SchemaState> {
  const { tables, ours, madeAs } = await oneRow<{ tables: number; ours: number; madeAs: string | null }>(
    queries,
    /* sql */ `select count(*)::int as tables, (count(*) filter (where c.relname in ('meta', 'writer', 'shard', 'delivery')))::int as ours,
       ${madeAsOf("$1::text")} as "madeAs"
     from pg_catalog.pg_class as c join pg_catalog.pg_namespace as n on n.oid = c.relnamespace where n.nspname = $1`,
    [schema],
  );
  if (ours < OUR_TABLES)
    return { version: undefined, worksWith: 0, name: undefined, madeAs: undefined, isForeign: tables > 0 };
  const rows = await queries.query<{ key: string; value: string }>(`select key, value from ${quoted(schema)}.meta`);
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  const [version, worksWith] = [Number(meta.get("version")), Number(meta.get("works_with"))];
  return { version, worksWith, name: meta.get("name"), madeAs: madeAs ?? undefined, isForeign: false };
}

/** Those that `stateOf` asks for. */
const OUR_TABLES = 4;

function notMade(version: number | undefined, schema: string, { name, schema: option }: SchemaName): StorageError {
  const fix = `Run the SQL of \`npx hookline inbox migrate --print --schema ${option} --name ${name}\` as the owner of the tables, with \`--role\` if the connection has another role, or leave \`migrate\` out.`;
  return version === undefined
    ? new StorageError("schema-missing", `The schema ${quoted(schema)} is not there, and \`migrate\` is false.`, {
        fix,
      })
    : new StorageError(
        "schema-older",
        `The schema ${quoted(schema)} is of version ${version}, and \`migrate\` is false.`,
        { fix },
      );
}

function foreign(schema: string): StorageError {
  return new StorageError(
    "not-an-inbox",
    `The schema ${quoted(schema)} has tables that are not Hookline's; it is left as it is.`,
    {
      fix: "Name a schema that is empty or not there yet: `postgresInbox(connection, { schema })`.",
    },
  );
}

function renamed(schema: string, madeAs: string): StorageError {
  return new StorageError(
    "schema-renamed",
    `The schema ${quoted(schema)} was made as ${quoted(madeAs)}, and renamed: its functions still write to ${quoted(madeAs)}.`,
    {
      fix: `Stop whatever uses ${quoted(madeAs)}, and give the name back: alter schema ${quoted(schema)} rename to ${quoted(madeAs)}. Until then its jobs can be listed, shown and exported, and not changed.`,
    },
  );
}

function otherName(schema: string, has: string, given: string): StorageError {
  return new StorageError(
    "name-differs",
    `The schema ${quoted(schema)} belongs to a receiver with the name "${has}", expected "${given}".`,
    { fix: "Choose `schema` and `name` so that no two receivers come to the same `<schema>_<name>`." },
  );
}

function quoted(schema: string): string {
  return `"${schema}"`;
}

/** Of a name that `schemaOf` has accepted. */
function text(value: string): string {
  return `'${value}'`;
}
