import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { createPool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { prepareSchema } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { claimAll, firstAttempts, over, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { newDatabase } from "../../support/postgres.ts";
import { inDatabases } from "./in-database.ts";

/** Of a length that no index takes, and that does not get shorter when it is packed. */
const LONG = randomBytes(20_000).toString("base64");

test("a lane with a key of any length inherits the time of its first attempt, and in the next process", async () => {
  const bench = await openBench(inDatabases());
  onTestFinished(bench.end);
  const entries = ["a", "b", "c"].map((id) => ({ id, lane: LONG }));
  await storeAll(bench.inbox, mail(entries));
  const first = bench.clock.now();
  const [claim] = await claimAll(bench.inbox, { max: 1 });
  await settleAll(bench.inbox, claim!, over(bench));
  bench.clock.jump(1_000);
  const inbox = await bench.succeed();
  expect(await firstAttempts(inbox, over(bench))).toEqual([
    ["b", first],
    ["c", first],
  ]);
});

test("the tables of version 1 become those of the newest one, and lanes keep what they inherited", async () => {
  const { connectionString, drop } = await newDatabase();
  const pool = createPool({ connection: { connectionString }, max: 1, applicationName: "hookline test" });
  onTestFinished(async () => {
    await pool.close();
    await drop();
  });
  const options = { schema: "hookline", name: "default", migrate: true };
  await prepareSchema(pool, options);
  const columns = `select attname, attnotnull, attgenerated, pg_get_expr(adbin, adrelid) as made, pg_get_constraintdef(c.oid) as key from pg_attribute as a
    left join pg_attrdef as d on adrelid = attrelid and adnum = attnum join pg_constraint as c on conrelid = attrelid and contype = 'p'
    where attrelid = 'hookline.lane_window'::regclass and attnum > 0 and not attisdropped order by attname`;
  const made = await pool.query(columns);
  await pool.query("drop table hookline.lane_window, hookline.ended_count; drop index hookline.dead_of_group");
  for (const table of ["dead", "unhandled"])
    for (const change of ["insert", "delete"]) await pool.query(`drop trigger count_${change} on hookline.${table}`);
  await pool.query(
    "create table hookline.lane_window (shard smallint not null, lane text not null, since bigint not null, up_to bigint not null, primary key (shard, lane))",
  );
  await pool.query("insert into hookline.lane_window values (1, 'one', 2, 3)");
  await pool.query("update hookline.meta set value = '1' where key = 'version'");
  await prepareSchema(pool, options);
  expect(await pool.query(columns)).toEqual(made);
  expect(await pool.query("select shard, lane, since, up_to from hookline.lane_window")).toEqual([
    { shard: 1, lane: "one", since: 2, up_to: 3 },
  ]);
});
