import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { createPool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { prepareSchema } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { openTables } from "./postgres-tables.ts";

/** Those of this database that have a lock on the windows, or wait for one; other tests are on the same server. */
const LOCKED =
  "select from pg_locks join pg_stat_activity as a using (pid) where relation = 'hookline.lane_window'::regclass and database = (select oid from pg_database where datname = current_database())";
const NAMED = { schema: "hookline", name: "default", migrate: true };

/** Tables of version 1, and one who reads them for long, as pg_dump does. */
async function dumped() {
  const tables = await openTables(readFileSync(new URL("schemas/postgres-1.sql", import.meta.url), "utf8"));
  const pool = createPool({
    connection: { connectionString: tables.connectionString },
    max: 1,
    applicationName: "new",
  });
  const dump = createPool({
    connection: { connectionString: tables.connectionString },
    max: 1,
    applicationName: "dump",
  });
  let end = (): void => {};
  onTestFinished(async () => {
    end(); // a pool that closes waits for its transactions
    await Promise.all([pool.close(), dump.close()]);
  });
  const ended = new Promise<void>((resolve) => (end = resolve));
  let isOpen = false;
  const reading = dump.transaction(async (queries) => {
    await queries.query("lock table hookline.lane_window in access share mode");
    isOpen = true;
    await ended;
  });
  await eventually(() => expect(isOpen).toBe(true));
  return { ...tables, upgrader: pool, endDump: () => (end(), reading) };
}

test("an upgrade beside one who reads for long lets the others write meanwhile, says so once, and holds when that one has ended", async () => {
  const { pool, upgrader, endDump } = await dumped();
  const log = logRecorder();
  let isUpgraded = false;
  const upgrading = prepareSchema(upgrader, { ...NAMED, log: log.logger }).then(() => (isUpgraded = true));
  await eventually(() => expect(log.of("schema-waits")).toHaveLength(1));
  for (const shard of [1, 2, 3]) {
    await eventually(async () => expect(await pool.query(`${LOCKED} and wait_event_type = 'Lock'`)).toHaveLength(1));
    await pool.query("insert into hookline.lane_window (shard, lane, since, up_to) values ($1, 'a', 1, 1)", [shard]);
  }
  expect([isUpgraded, log.of("schema-waits").length]).toEqual([false, 1]);
  await endDump();
  await upgrading;
  expect(await pool.query("select shard from hookline.lane_window where key = md5('a') order by 1")).toHaveLength(3);
});

test("an upgrade that others never let have its locks fails, says what to do, and leaves nothing that waits", async () => {
  const { pool, upgrader, endDump } = await dumped();
  await expect(prepareSchema(upgrader, { ...NAMED, patienceMs: 0 })).rejects.toMatchObject({
    code: "storage-failed",
    fix: expect.stringContaining("pg_locks"),
  });
  expect(await pool.query(`${LOCKED} and application_name = 'new'`)).toEqual([]);
  await endDump();
});
