import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

/** A process that works and expands, and loses connections of its own, because its role may have no more. */
async function crowded(leaseMs: number) {
  const processes = await openProcesses();
  const { sql, rows } = processes;
  const role = `crowded_${randomBytes(4).toString("hex")}`;
  await sql.query(`create role ${role} login password 'p'`);
  const [database] = await rows<{ name: string }>("select current_database() as name");
  await sql.query(`grant create on database ${database?.name} to ${role}`);
  const first = await processes.start({ leaseMs }, role);
  return {
    processes,
    first,
    async startOther() {
      const other = await processes.start({ leaseMs });
      await processes.passing(() => expect(other.inbox.stats().workers?.share).toBe(0.5));
      return other;
    },
    async lose(name: string) {
      await sql.query(`alter role ${role} connection limit 0`);
      const end =
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1 and application_name";
      await sql.query(`${end} = $2`, [role, name]);
    },
    gain: () => sql.query(`alter role ${role} connection limit -1`),
  };
}

test("where the worker that expands has no connection to write with, another one expands", async () => {
  const { processes, first, startOther, lose } = await crowded(5_000);
  const other = await startOther();
  await storeAll(other.inbox, { ...mail(["waits"]), events: undefined });
  await lose("hookline store");
  await processes.passing(async () => {
    const found = await first.inbox.unexpanded(10);
    await first.inbox.expand(found.map(({ id }) => ({ id, cursor: undefined, events: [] }))).catch(() => {});
    expect(await other.inbox.unexpanded(10)).toHaveLength(1);
  });
  expect(await first.inbox.unexpanded(10)).toEqual([]);
});

test("a worker that has no connection to look at the others with leaves its jobs to them until it has one", async () => {
  const { processes, first, startOther, lose, gain } = await crowded(1_000);
  const other = await startOther();
  await lose("hookline other");
  await processes.passing(() => expect(other.inbox.stats().workers?.share).toBe(1));
  expect(first.heard.causes[0]).toMatchObject({ code: "worker-stalled" });
  await gain();
  await processes.passing(() => expect([other.inbox.stats().workers?.share, first.heard.begun]).toEqual([0.5, 2]));
});

test("so does one that was alone, where nothing of it runs", async () => {
  const { processes, first, lose } = await crowded(1_000);
  await processes.passing(() => expect(first.inbox.stats().workers?.share).toBe(1));
  await lose("hookline other");
  const other = await processes.start();
  await processes.passing(() => expect(other.inbox.stats().workers?.share).toBe(1));
});
