import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { lookAtDatabase } from "../../../adapters/inbox/postgres/inspect/inspect-database.ts";
import { createPool, type Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { prepareSchema } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { SCHEMA_VERSION } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail, nobodys, notice, one, raw, told } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { openDatabase } from "./in-database.ts";
import { openTables, type Tables } from "./postgres-tables.ts";

/** The SQL of each released version of the schema, as `inbox migrate --print` of it wrote it. */
const RELEASED = [1, 2, 3, 4, 5, 6];
const sqlOf = (version: number): string =>
  readFileSync(new URL(`schemas/postgres-${version}.sql`, import.meta.url), "utf8");

const NAMED = { schema: "hookline", name: "default", migrate: true };
const UPGRADER = "hookline upgrade";

/** Tables of a version with something of each kind in each of them, and a worker of that version that goes on. */
async function filled(version: number) {
  const tables = await openTables(sqlOf(version));
  const { pool, ident } = tables;
  const { store, expand, jobs } = tables.join();
  const worker = await tables.work();
  const ids: string[] = [];
  for (const name of ["dead", "again", "retried", "running", "replayed"]) {
    await store(mail([one(name)]));
    const [row] = await pool.query<{ id: number }>(`select max(id) as id from ${ident}.job`);
    ids.push(String(row?.id));
  }
  const [dead = "", again = "", retried = "", running = "", replayed = ""] = ids;
  await worker.step([], { [dead]: "dead", [replayed]: "dead", [retried]: "retry", [again]: "unhandled" });
  await worker.step([running]);
  await jobs.replay({ ids: [replayed] });
  await store(mail([one("waiting"), nobodys("nobody")]), notice("no access"), told({ key: "k", content: "c" }));
  await store(mail(["dropped"]));
  const [row] = await pool.query<{ id: number }>(`select max(id) as id from ${ident}.job`);
  await jobs.drop({ ids: [String(row?.id)] });
  // From here on what is stored waits to be expanded.
  const [expanded = ""] = await store(raw(mail(["half", "rest"])));
  await store(raw(mail(["unexpanded"])));
  await expand(worker.id, { id: expanded, events: mail(["half"]).events, cursor: 1 });
  const [key, hash] = version < 3 ? ["", ""] : [", key", ", md5(lane)"]; // it was generated before
  await pool.query(
    `insert into ${ident}.lane_window (shard, lane, since, up_to${key}) select shard, lane, 5, id${hash} from ${ident}.job where id = $1`,
    [Number(retried)],
  );
  if (version >= 3) await pool.query(`insert into ${ident}.pause values ('a 99', '{"accountId":99,"since":1}', 99)`);
  await pool.query(`insert into ${ident}.tombstone values (1001, 'crm', false, 'left', 1, 2)`);
  await pool.query(
    `insert into ${ident}.subscribed_resource (account, key, subscription, resource, family, seen_at, cause, from_at)
     values (7, 'k', 1, '/contacts', 'contact', 5, 'down', 4)`,
  );
  return { ...tables, worker, running };
}

/** All rows, without what a later version added. Of the version itself, and of a worker's heart, only what stays. */
async function rowsOf({ pool, ident }: Pick<Tables, "pool" | "ident">) {
  const tables = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p') and not relispartition and relname not in ('ended_count', 'key_value') order by 1`,
    [ident],
  );
  const rows: Record<string, unknown> = {};
  for (const { name } of tables) {
    const row =
      name === "lane_window" ? "to_jsonb(t) - 'key'" : name === "worker" ? "to_jsonb(t) - 'beat'" : "to_jsonb(t)";
    const [found] = await pool.query<{ all: unknown[] }>(
      `select coalesce(jsonb_agg(row order by row), '[]') as all from (select ${row} as row from ${ident}.${name} as t) as rows
       where not row @> '{"key": "version"}'`,
    );
    rows[name] = found?.all;
  }
  return rows;
}

async function versionIn({ pool, ident }: Pick<Tables, "pool" | "ident">): Promise<number> {
  const [row] = await pool.query<{ version: string }>(
    `select value as version from ${ident}.meta where key = 'version'`,
  );
  return Number(row?.version);
}

function upgrader(connectionString: string): Pool {
  const pool = createPool({ connection: { connectionString }, max: 1, applicationName: UPGRADER });
  onTestFinished(() => pool.close());
  return pool;
}

const killUpgrader = async (pool: Pool): Promise<number> =>
  (await pool.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", [UPGRADER]))
    .length;

test.each(RELEASED)("the tables of version %i have rows of every kind", async (version) => {
  const tables = await filled(version);
  expect(await versionIn(tables)).toBe(version);
  for (const [name, rows] of Object.entries(await rowsOf(tables))) expect(rows, name).not.toEqual([]);
});

test.each(RELEASED)(
  "tables of version %i are upgraded by an upgrade that is killed over and over, and nothing is lost",
  async (version) => {
    const tables = await filled(version);
    const { pool, ident, connectionString, worker, running } = tables;
    const before = await rowsOf(tables);
    // In the middle of it, where it waits for a row of its last part, or for a table of its first one.
    const windows = [`select from ${ident}.lane_window for update`, `lock table ${ident}.lane_window in share mode`];
    for (const held of [
      `select from ${ident}.meta where key = 'version' for update`,
      ...(version < 3 ? windows : []), // from there on only functions change
    ])
      await pool.transaction(async (queries) => {
        await queries.query(held);
        const upgrading = prepareSchema(upgrader(connectionString), NAMED).then(
          () => "held",
          () => "killed",
        );
        await eventually(async () => {
          const waiting = "select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'";
          expect(await pool.query(waiting, [UPGRADER])).toHaveLength(1);
        });
        await killUpgrader(pool);
        expect(await upgrading).toBe("killed");
      });
    // And wherever it is, or when it has just ended. The old worker beats on beside it.
    for (let looks = 0; looks < 12 && (await versionIn(tables)) === version; looks += 1) {
      const killable = upgrader(connectionString);
      await killable.query("select 1");
      const upgrading = prepareSchema(killable, NAMED).then(
        () => "held",
        () => "killed",
      );
      for (let look = 0; look < looks; look += 1) await pool.query("select 1");
      await killUpgrader(pool);
      await upgrading;
      expect(await worker.step([running])).toEqual([running]);
    }
    await prepareSchema(upgrader(connectionString), NAMED);
    expect([await versionIn(tables), await rowsOf(tables)]).toEqual([SCHEMA_VERSION, { pause: [], ...before }]);
    const counted = await pool.query(`select state, sum(n)::int as n from ${ident}.ended_count group by 1 order by 1`);
    const rows = await pool.query(
      `select 'dead' as state, count(*)::int as n from ${ident}.dead union all select 'unhandled', count(*)::int from ${ident}.unhandled`,
    );
    expect(counted).toEqual(rows);
  },
);

test.each(RELEASED)(
  "a worker of version %i goes on beside a new one, and all that was stored is handled",
  async (version) => {
    const tables = await filled(version);
    const { pool, ident, connectionString, worker, running } = tables;
    const log = logRecorder();
    const inbox = openDatabase(connectionString, { leaseMs: 1_000 });
    onTestFinished(() => inbox.close());
    const clock = wallClock();
    await inbox.open({ name: "default", clock, log: log.logger, dedupeWindowMs: 86_400_000 });
    expect(log.of("schema-upgraded").map(({ facts }) => facts)).toMatchObject([
      { from: version, to: SCHEMA_VERSION },
      { from: version, to: SCHEMA_VERSION },
    ]);

    expect(await worker.step([], { [running]: "done" })).toEqual([]);
    await tables.join().store(mail([one("later")]));
    await pool.query(`update ${ident}.job set run_at = 0`);
    await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
    const seen: string[] = [];
    // The old worker stands still from now on, and is taken over from.
    await eventually(async () => {
      await clock.advance(500);
      const claims = await claimAll(inbox);
      seen.push(...recordsOf(claims).flat());
      await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => done) })));
      expect(seen).toHaveLength(5);
    });
    expect(seen.toSorted()).toEqual(["1", "half", "replayed", "retried", "waiting"]);
    expect(await inbox.unexpanded(10)).toHaveLength(3);
  },
);

test.each(RELEASED)("who only looks at version %i upgrades nothing", async (version) => {
  const tables = await filled(version);
  const before = await rowsOf(tables);
  await expect(lookAtDatabase({ connectionString: tables.connectionString })).rejects.toMatchObject({
    code: "schema-older",
  });
  const inbox = openDatabase(tables.connectionString, { migrate: false });
  await expect(
    inbox.open({ name: "default", clock: wallClock(), log: toLogger(false), dedupeWindowMs: 1 }),
  ).rejects.toMatchObject({ code: "schema-older" });
  expect([await versionIn(tables), await rowsOf(tables)]).toEqual([version, before]);
});
