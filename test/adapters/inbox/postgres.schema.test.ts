import { expect, onTestFinished, test } from "vitest";
import { createPool, type Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { prepareSchema, schemaSql, type SchemaPlan } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";

const OPTIONS = { schema: "hookline", name: "default", migrate: true };
const WITHOUT = { ...OPTIONS, migrate: false };

/** Version 2 adds a column and changes a function; version 3 is not for the code of version 1 any more. */
const planOf = (version: number): SchemaPlan => ({
  version,
  worksWith: version < 3 ? 1 : 2,
  tables: (ident) => `create table ${ident}.meta (key text primary key, value text not null);
    create table ${ident}.writer (id int${version > 1 ? ", host text" : ""}); create table ${ident}.shard (id int); create table ${ident}.delivery (id int);
    insert into ${ident}.meta values ('version', '1');`,
  upgrades: [
    (ident: string) => `alter table ${ident}.writer add column host text;`,
    (ident: string) => `alter table ${ident}.shard add column owner int;`,
  ].slice(0, version - 1),
  functions: (ident) =>
    `create or replace function ${ident}.made_by() returns int language sql as $$ select ${version} $$;`,
});

test("makes the schema once, and then leaves it alone", async () => {
  const pool = await newPool();
  expect(await prepareSchema(pool, OPTIONS)).toBe('"hookline"');
  const before = await pool.query("select oid::int, xmin::text from pg_class order by oid");
  expect(await prepareSchema(pool, OPTIONS)).toBe('"hookline"');
  expect(await prepareSchema(pool, WITHOUT)).toBe('"hookline"');
  expect(await pool.query("select oid::int, xmin::text from pg_class order by oid")).toEqual(before);
  expect(await pool.query("select count(*)::int as shards from hookline.shard")).toEqual([{ shards: 65 }]);
});

test("several processes that start at once make one schema", async () => {
  const pool = await newPool();
  const all = [1, 2, 3, 4, 5, 6].map(() => prepareSchema(pool, OPTIONS));
  expect(new Set(await Promise.all(all))).toEqual(new Set(['"hookline"']));
  expect(await pool.query("select count(*)::int as shards from hookline.shard")).toEqual([{ shards: 65 }]);
});

test("each receiver has a schema of its own, whatever its name looks like", async () => {
  const pool = await newPool();
  expect(await prepareSchema(pool, { ...OPTIONS, name: "crm" })).toBe('"hookline_crm"');
  const odd = "Größe 2: a-b.c";
  const ident = await prepareSchema(pool, { ...OPTIONS, name: odd });
  expect(await pool.query(`select value from ${ident}.meta where key = 'name'`)).toEqual([{ value: odd }]);
  expect(await prepareSchema(pool, { ...OPTIONS, name: odd })).toBe(ident);
});

test("two receivers that come to one schema are kept apart", async () => {
  const pool = await newPool();
  await prepareSchema(pool, { ...OPTIONS, name: "crm_east" });
  await expect(prepareSchema(pool, { ...OPTIONS, schema: "hookline_crm", name: "east" })).rejects.toMatchObject({
    code: "name-differs",
    message: expect.stringContaining('with the name "crm_east", expected "east"'),
  });
});

test.each([
  ["hookline", "default", "hookline_aside"],
  ["hookline", "crm", "hookline_b_crm"],
  ["Größe 2: a-b.c", "default", "aside"],
])(
  "the schema of %j and %j that was renamed to %j is only read: its functions write to the old name",
  async (schema, name, to) => {
    const pool = await newPool();
    const from = await prepareSchema(pool, { schema, name, migrate: true });
    const others = await prepareSchema(pool, { schema: "others", name: "default", migrate: true });
    await pool.query(
      `create function ${from}.store() returns int language sql as 'select 1 from "pg_catalog".pg_class'`,
    );
    expect(await prepareSchema(pool, { schema, name, migrate: true })).toBe(from);
    await pool.query(`drop function ${from}.store(); alter schema ${from} rename to "${to}"`);
    const given = { schema: name === "default" ? to : to.slice(0, -name.length - 1), name };
    const refused = { code: "schema-renamed", message: expect.stringContaining(`"${to}" was made as ${from}`) };
    await expect(prepareSchema(pool, { ...given, migrate: true })).rejects.toMatchObject(refused);
    await expect(prepareSchema(pool, { ...given, migrate: false })).rejects.toMatchObject(refused);
    await expect(pool.query(schemaSql(given))).rejects.toThrow(`The schema ${to} was renamed`);
    expect(await prepareSchema(pool, { ...given, migrate: false, readsOnly: true })).toBe(`"${to}"`);
    await pool.query(`alter schema "${to}" rename to ${from}`);
    expect(await prepareSchema(pool, { schema, name, migrate: true })).toBe(from);
    expect(await prepareSchema(pool, { schema: "others", name: "default", migrate: false })).toBe(others);
  },
);

test.each(["n".repeat(60), "ü".repeat(28), "it's", 'a"b', "a$$b", "a\\b", "a\0b", "a\nb"])(
  "a receiver named %j is refused: PostgreSQL would cut it off, or read it as SQL",
  async (name) => {
    await expect(prepareSchema({} as Pool, { ...OPTIONS, name })).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringContaining("expected letters, digits"),
    });
    expect(() => schemaSql({ schema: "hookline", name })).toThrow(expect.objectContaining({ code: "option-invalid" }));
  },
);

test("a schema with tables of somebody else is left as it is", async () => {
  const pool = await newPool();
  await pool.query("create table public.meta (anything int)");
  await expect(prepareSchema(pool, { ...OPTIONS, schema: "public" })).rejects.toMatchObject({ code: "not-an-inbox" });
  expect(await pool.query("select tablename from pg_tables where schemaname = 'public'")).toEqual([
    { tablename: "meta" },
  ]);
});

test("an empty schema that was made for the role is used, without the right to make one", async () => {
  const pool = await newPool();
  const role = `app_${(await databaseOf(pool)).slice(-12)}`;
  await pool.query(`create role ${role} login password 'app'`);
  onTestFinished(() => pool.query(`drop owned by ${role} cascade`).then(() => void pool.query(`drop role ${role}`)));
  const app = await newPool(pool.url.replace(/postgres:\w+@/, `${role}:app@`));
  await expect(prepareSchema(app, OPTIONS)).rejects.toMatchObject({ code: "permission-missing" });
  await pool.query(`create schema hookline authorization ${role}`);
  expect(await prepareSchema(app, OPTIONS)).toBe('"hookline"');
});

test("without migrations an absent schema and an older one are refused, with the SQL's command", async () => {
  const pool = await newPool();
  const fix = expect.stringContaining("inbox migrate --print --schema hookline --name default");
  await expect(prepareSchema(pool, WITHOUT)).rejects.toMatchObject({ code: "schema-missing", fix });
  await prepareSchema(pool, OPTIONS, planOf(1));
  await expect(prepareSchema(pool, WITHOUT, planOf(2))).rejects.toMatchObject({ code: "schema-older", fix });
});

test("a newer version upgrades, once; the older code goes on with the newer functions", async () => {
  const pool = await newPool();
  await prepareSchema(pool, OPTIONS, planOf(1));
  await pool.query("insert into hookline.writer values (7)");
  await Promise.all([2, 2, 2].map((version) => prepareSchema(pool, OPTIONS, planOf(version))));
  await prepareSchema(pool, OPTIONS, planOf(1));
  expect(await pool.query("select id, host, hookline.made_by() as by from hookline.writer")).toEqual([
    { id: 7, host: null, by: 2 },
  ]);
});

test("an upgrade over two versions takes both steps", async () => {
  const pool = await newPool();
  await prepareSchema(pool, OPTIONS, planOf(1));
  await prepareSchema(pool, OPTIONS, planOf(3));
  expect(
    await pool.query(
      "select host, owner, made_by from hookline.made_by(), hookline.writer right join hookline.shard on true",
    ),
  ).toEqual([]);
  expect(await pool.query("select value from hookline.meta where key = 'version'")).toEqual([{ value: "3" }]);
});

test("code that is too old for a newer schema is refused, and changes nothing", async () => {
  const pool = await newPool();
  await prepareSchema(pool, OPTIONS, planOf(1));
  await prepareSchema(pool, OPTIONS, planOf(3));
  await expect(prepareSchema(pool, OPTIONS, planOf(1))).rejects.toMatchObject({
    code: "schema-newer",
    message: expect.stringContaining("has version 3, expected 1 at most"),
  });
  await expect(prepareSchema(pool, OPTIONS, planOf(2))).resolves.toBe('"hookline"');
  expect(await pool.query("select hookline.made_by() as by")).toEqual([{ by: 3 }]);
});

test("of two upgrades at once the older one does not undo what the newer one made", async () => {
  const pool = await newPool();
  await prepareSchema(pool, OPTIONS, planOf(1));
  const upgrades: Promise<string>[] = [];
  await pool.transaction(async (queries) => {
    await queries.query("select pg_advisory_xact_lock(hashtextextended('hookline schema hookline', 0))");
    for (const version of [3, 2]) {
      upgrades.push(prepareSchema(pool, OPTIONS, planOf(version)));
      const waiting =
        "select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())";
      await eventually(async () => expect(await pool.query(waiting)).toHaveLength(upgrades.length));
    }
  });
  await Promise.all(upgrades);
  const made = "select hookline.made_by() as by, value from hookline.meta where key = 'version'";
  expect(await pool.query(made)).toEqual([{ by: 3, value: "3" }]);
});

test("an upgrade that fails in the middle leaves the older version whole", async () => {
  const pool = await newPool();
  await prepareSchema(pool, OPTIONS, planOf(1));
  const failing = { ...planOf(2), functions: () => "perform 1 / 0;" };
  await expect(prepareSchema(pool, OPTIONS, failing)).rejects.toMatchObject({ code: "storage-failed" });
  await expect(pool.query("select host from hookline.writer")).rejects.toMatchObject({ cause: { code: "42703" } });
  await prepareSchema(pool, OPTIONS, planOf(2));
});

test("the printed SQL makes what the inbox accepts without migrations, also a second time", async () => {
  const pool = await newPool();
  const sql = schemaSql({ schema: "hookline", name: "crm" });
  await pool.query(sql);
  await pool.query(sql);
  expect(await prepareSchema(pool, { ...WITHOUT, name: "crm" })).toBe('"hookline_crm"');
});

async function newPool(url?: string): Promise<Pool & { readonly url: string }> {
  const database = url === undefined ? await newDatabase() : undefined;
  const connectionString = url ?? database?.connectionString ?? "";
  const pool = createPool({ connection: { connectionString }, max: 6, applicationName: "hookline test" });
  onTestFinished(async () => {
    await pool.close();
    await database?.drop();
  });
  return { ...pool, url: connectionString };
}

async function databaseOf(pool: Pool): Promise<string> {
  const [row] = await pool.query<{ name: string }>("select current_database() as name");
  return row?.name ?? "";
}
