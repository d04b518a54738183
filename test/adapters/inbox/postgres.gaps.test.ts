import type { Gap, Gaps, SubscribedResource, WorkingInbox } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { createPool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { lookAtDatabase } from "../../../adapters/inbox/postgres/inspect/inspect-database.ts";
import { prepareSchema } from "../../../adapters/inbox/postgres/schema/migrate.ts";
import { createPostgresGaps } from "../../../adapters/inbox/postgres/upkeep/gaps.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";

const mail: SubscribedResource = {
  source: undefined,
  subscription: 1,
  accountId: 7,
  resource: "/email/messages",
  family: "email",
};
const refused = (of: SubscribedResource): Gap => ({ ...of, cause: "refused", from: 1_000, until: 2_000 });

test("connections that change the same rows at once, in different orders, do not wait for each other in a circle", async () => {
  const { gaps } = await gapsOn(4);
  const rows = Array.from({ length: 500 }, (_, accountId) => ({ ...mail, accountId }));
  const orders = [rows, rows.toReversed(), [...rows.slice(250), ...rows.slice(0, 250)]];
  for (let round = 1; round <= 5; round += 1)
    await Promise.all([
      ...orders.map((order) => gaps.seen(order, round)),
      ...orders.map((order) => gaps.add([...order, ...order].map(refused))),
      gaps.remove(rows.toReversed().map(refused)),
      gaps.mark({ at: round * 1_000, afterMs: 100 }),
    ]);
  await Promise.all([gaps.forget(1, undefined), gaps.seen(rows, 1), gaps.forget(1, undefined)]);
});

test("of eight that mark at once one tells of the gap", async () => {
  const { gaps, pool } = await gapsOn(9);
  await gaps.mark({ at: 1_000, afterMs: 100 });
  const marks = await pool.transaction(async (queries) => {
    await queries.query("select from hookline.meta where key = 'alive' for update");
    const begun = Array.from({ length: 8 }, () => gaps.mark({ at: 2_000, afterMs: 100 }));
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await eventually(async () => {
      await queries.query("select pg_stat_clear_snapshot()");
      expect((await queries.query(waiting)).length).toBe(8);
    });
    return begun;
  });
  const told = await Promise.all(marks);
  expect(told.filter((since) => since !== undefined)).toEqual([1_000]);
});

test("two processes whose clocks differ by more than that find no gap while both live, and one when both were away", async () => {
  const { pool, gaps: slow } = await gapsOn(2);
  const fast = createPostgresGaps({ ident: () => '"hookline"', pool, isMine: () => true });
  await slow.mark({ at: 0, afterMs: 100 });
  // One that has just come knows of time the mark of another one alone.
  expect(await fast.mark({ at: 500, afterMs: 100 })).toBe(0);
  for (let at = 50; at <= 500; at += 50) {
    expect(await slow.mark({ at, afterMs: 100 })).toBeUndefined();
    expect(await fast.mark({ at: at + 500, afterMs: 100 })).toBeUndefined();
  }
  expect(await fast.mark({ at: 1_200, afterMs: 100 })).toBe(1_000);
});

test("a process that lives on while the server goes back to an older state finds the gap", async () => {
  const { pool, gaps } = await gapsOn(1);
  await gaps.mark({ at: 0, afterMs: 100 });
  const older = await pool.query<{ key: string; value: string }>("select * from hookline.meta");
  for (let at = 100; at <= 500; at += 100) await gaps.mark({ at, afterMs: 100 });
  for (const { key, value } of older)
    await pool.query("update hookline.meta set value = $2 where key = $1", [key, value]);
  expect(await gaps.mark({ at: 600, afterMs: 100 })).toBe(0);
  expect(await gaps.mark({ at: 700, afterMs: 100 })).toBeUndefined();
});

test("10,000 resources are seen in one statement, and get their gap with one mark", async () => {
  const { gaps } = await gapsOn(1);
  const many = Array.from({ length: 10_000 }, (_, accountId) => ({ ...mail, accountId }));
  await gaps.seen(many, 1_000);
  await gaps.mark({ at: 1_000, afterMs: 100 });
  await gaps.mark({ at: 2_000, afterMs: 100 });
  expect(await gaps.count()).toEqual([{ family: "email", count: 10_000, open: 0, from: 1_000, until: 2_000 }]);
  await gaps.remove(many.map(refused));
  expect(await gaps.count()).toEqual([]);
});

test("a path that is too long for an index, and has what no text may have, is one resource", async () => {
  const { gaps } = await gapsOn(1);
  const hostile = { ...mail, resource: `/calendars/\0\uD800${Array.from({ length: 9_000 }, String).join("")}` };
  await gaps.add([refused(hostile)]);
  await gaps.seen([hostile], 1_000);
  expect((await gaps.resourcesOf(1, undefined)).length).toBe(1);
  await gaps.remove([refused(hostile)]);
  expect(await gaps.count()).toEqual([]);
});

test("one who only looks finds them, counts them, and changes none", async () => {
  const { gaps, connectionString } = await gapsOn(1);
  await gaps.add([refused(mail)]);
  const looked = await lookAtDatabase({ connectionString });
  onTestFinished(() => looked.close());
  const { gaps: found } = looked.inbox("read") as WorkingInbox & { readonly gaps: Gaps };
  expect(await found.find({ limit: 10 })).toEqual({ gaps: [refused(mail)] });
  await expect(found.mark({ at: 1_000, afterMs: 100 })).rejects.toThrow("to read only");
  await expect(found.remove([refused(mail)])).rejects.toThrow("to read only");
  expect(await found.count()).toEqual([{ family: "email", count: 1, open: 0, from: 1_000, until: 2_000 }]);
});

async function gapsOn(connections: number) {
  const { connectionString, drop } = await newDatabase();
  const pool = createPool({ connection: { connectionString }, max: connections, applicationName: "test" });
  onTestFinished(async () => {
    await pool.close();
    await drop();
  });
  const ident = await prepareSchema(pool, { schema: "hookline", name: "default", migrate: true });
  return { connectionString, pool, gaps: createPostgresGaps({ ident: () => ident, pool, isMine: () => true }) };
}
