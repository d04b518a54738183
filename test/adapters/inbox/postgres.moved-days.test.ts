import { expect, test } from "vitest";
import { KEPT_DAY } from "../../../adapters/inbox/postgres/schema/tables.ts";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { waitsForLock } from "./postgres-rows.ts";
import { openTables } from "./postgres-tables.ts";

test.each([undefined, 1])(
  "jobs that are made while their delivery is moved out of its day keep their list beside it (up to entry %s)",
  async (cursor) => {
    const tables = await openTables();
    const { pool, ident } = tables;
    const { store, expand } = tables.join();
    const worker = await tables.work();
    const [id = ""] = await store(raw(mail(["a", "b"])));
    const [{ day } = { day: 0 }] = await pool.query<{ day: number }>(`select day from ${ident}.delivery`);
    await pool.query(`create function ${ident}.hold() returns trigger language plpgsql as 'begin perform pg_advisory_xact_lock(42); return null; end';
      create trigger hold after insert on ${ident}.job_list for each row execute function ${ident}.hold()`);
    let expanding: Promise<void> | undefined;
    let moving: Promise<unknown> | undefined;
    await pool.transaction(async (queries) => {
      await queries.query("select pg_advisory_xact_lock(42)");
      expanding = expand(worker.id, { id, events: mail(["a"]).events, cursor });
      await waitsForLock(tables);
      moving = pool.query(`select ${ident}.move_to_kept($1, $2)`, [day, [id]]);
      await waitsForLock(tables, 2);
    });
    await Promise.all([expanding, moving]);
    for (const table of ["delivery", "job_list"])
      expect(await pool.query(`select day from ${ident}.${table}`)).toEqual([{ day: KEPT_DAY }]);
  },
);
