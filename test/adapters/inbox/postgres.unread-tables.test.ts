import { randomBytes } from "node:crypto";
import { createReceiver, type Receiver } from "hookline";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import type { WorkingInbox } from "../../../src/adapter.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { claimOne, done, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { openDatabase } from "./in-database.ts";
import { lockTables } from "../../support/postgres/lock-tables.ts";
import { openProcesses } from "./postgres-processes.ts";

const SECRET = "a signing secret";

/** No store needs them. */
const ASIDE = ["dead", "unhandled", "tombstone", "subscription", "pause"];

/** As where its first page is broken on the disk. */
async function broken(sql: pg.Pool, table: string): Promise<() => Promise<void>> {
  await sql.query(`
    create function hookline.broken() returns boolean stable language plpgsql as $$ begin raise data_corrupted using message = 'invalid page'; end $$;
    alter table hookline.${table} rename to kept;
    create view hookline.${table} as select * from hookline.kept where hookline.broken()`);
  return async () => {
    await sql.query(
      `drop view hookline.${table}; alter table hookline.kept rename to ${table}; drop function hookline.broken()`,
    );
  };
}

/** On tables that an earlier process made, and in which it paused the account 9. */
async function database() {
  const { connectionString, drop } = await newDatabase();
  const sql = new pg.Pool({ connectionString, max: 4 });
  const receivers: Receiver[] = [];
  onTestFinished(async () => {
    await Promise.all(receivers.map((each) => each.close({ drainMs: 0 })));
    await sql.end();
    await drop();
  });
  function receiver() {
    const log = logRecorder();
    const inbox = openDatabase(connectionString) as WorkingInbox<"network">;
    const made = createReceiver({ secret: SECRET, storeTimeoutMs: 60_000, inbox, log: log.logger });
    receivers.push(made);
    const seen: unknown[] = [];
    made.on("email", ({ id }) => void seen.push(id));
    const send = async (id: string, accountId = 1): Promise<number> => {
      const body = bodyOf({ accountId, subscription: accountId, payloads: [change(id)] });
      return (await made.receive(signedRequest(body, { secret: SECRET, at: new Date() }))).status;
    };
    const health = async () => {
      const { ready, problems } = await made.health();
      return { ready, problems: problems.map(({ code }) => code) };
    };
    return { made, log, seen, send, health };
  }
  const before = receiver();
  await before.made.start();
  await before.made.flow.pause({ accountId: 9 }, { reason: "test" });
  await before.made.close();
  return { sql, receiver };
}

const UNKNOWN = { ready: true, problems: ["inbox-stats-failed"] };

test.each(ASIDE)(
  "a process that starts while %s is broken receives, and health() says so until it can be read",
  async (table) => {
    const { sql, receiver } = await database();
    const repair = await broken(sql, table);
    const { made, log, seen, send, health } = receiver();
    await made.start();
    expect(await send("a")).toBe(200);
    expect(await send("paused", 9)).toBe(200);
    expect(await health()).toMatchObject({ ready: true, problems: expect.arrayContaining(UNKNOWN.problems) });
    expect(log.of("inbox-stats-failed")[0]).toMatchObject({ facts: { err: { message: /invalid page/ } } });
    if (table !== "pause") await eventually(() => expect(seen).toEqual(["a"]));
    await repair();
    await eventually(async () => expect((await health()).problems).not.toContain("inbox-stats-failed"));
    expect(await send("b")).toBe(200);
    await eventually(() => expect(seen).toEqual(["a", "b"]));
    expect((await made.health()).waiting).toBe(1);
  },
);

test.each(ASIDE)("a process that starts while somebody holds a lock on %s receives", async (table) => {
  const { sql, receiver } = await database();
  const release = await lockTables(sql, table);
  const { made, seen, send, health } = receiver();
  await made.start();
  expect(await send("a")).toBe(200);
  expect(await send("paused", 9)).toBe(200);
  expect(await health()).toMatchObject({ ready: true, problems: expect.arrayContaining(UNKNOWN.problems) });
  if (table !== "pause") await eventually(() => expect(seen).toEqual(["a"]));
  await release();
  await eventually(() => expect(seen).toEqual(["a"]));
  await eventually(async () => expect((await health()).problems).not.toContain("inbox-stats-failed"));
  expect((await made.health()).waiting).toBe(1);
});

test("a process stays ready while a table is broken that no store needs, and its jobs are handled", async () => {
  const processes = await openProcesses();
  const { inbox, log } = await processes.start();
  await broken(processes.sql, "dead");
  await processes.passing(() => expect(log.of("inbox-stats-failed")).not.toEqual([]));
  expect(inbox.ready()).toEqual({ ready: true });
  expect(inbox.stats()).toMatchObject({ failure: { message: expect.stringContaining("invalid page") } });
  await storeAll(inbox, mail(["a"]));
  await settleAll(inbox, await claimOne(inbox), done);
  expect(log.of("inbox-stats-failed")).toHaveLength(1);
});

test("while somebody holds a lock on dead jobs, all else is counted, and health() says so", async () => {
  const processes = await openProcesses();
  const [{ inbox, log }, { inbox: other }] = [await processes.start(), await processes.start()];
  await lockTables(processes.sql, "dead");
  await storeAll(other, ...["a", "b", "c"].map((id) => raw(mail([id], { receivedAt: 5 }))));
  await processes.passing(() => expect(inbox.stats()).toMatchObject({ unexpanded: 3, oldestWaitingAt: 5 }));
  await processes.rows("delete from hookline.unexpanded");
  await processes.passing(() => expect(inbox.stats()).toMatchObject({ oldestWaitingAt: undefined }));
  await processes.passing(() =>
    expect(inbox.stats()).toMatchObject({ failure: { message: expect.stringContaining("lock timeout") } }),
  );
  expect(log.of("inbox-stats-failed")).toHaveLength(1);
});

// Tombstones are not read again until they change.
test.each(ASIDE.filter((table) => table !== "tombstone"))(
  "a process whose role may not read %s any more stays ready, and says so",
  async (table) => {
    const { connectionString, drop } = await newDatabase();
    onTestFinished(drop);
    const role = `reader_${randomBytes(6).toString("hex")}`;
    onTestFinished(() => dropRole(connectionString, role)); // after the processes are closed
    const processes = await openProcesses(connectionString);
    const { inbox: owner } = await processes.start();
    await owner.close();
    await processes.sql.query(`create role ${role}; grant usage on schema hookline to ${role};
    grant all on all tables in schema hookline to ${role}; grant all on all sequences in schema hookline to ${role};
    grant execute on all functions in schema hookline to ${role}`);
    const { inbox } = await processes.start({ connection: { connectionString, options: `-c role=${role}` } });
    await processes.sql.query(`revoke select on hookline.${table} from ${role}`);
    const ready = new Set<boolean>();
    await processes.passing(() => {
      ready.add(inbox.ready().ready);
      expect(inbox.stats()).toMatchObject({ failure: { code: "permission-missing" } });
    });
    for (let look = 0; look < 5; look += 1) await processes.passing(() => void ready.add(inbox.ready().ready));
    expect([...ready]).toEqual([true]);
  },
);

async function dropRole(connectionString: string, role: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(`drop owned by ${role}; drop role ${role}`);
  await client.end();
}

test("a tombstone that could not be read when the process started answers nothing, and is found when it can be", async () => {
  const processes = await openProcesses();
  const { inbox: other } = await processes.start();
  await other.tombstones.put({ subscription: 7, source: undefined, reason: "gone" });
  const repair = await broken(processes.sql, "tombstone");
  const { inbox } = await processes.start();
  expect(inbox.tombstones.find(7, undefined)).toBeUndefined();
  await repair();
  await processes.passing(() => expect(inbox.tombstones.find(7, undefined)).toBeDefined());
});

test("a table that is not there, or may not be read, still stops opening", async () => {
  const { connectionString, drop } = await newDatabase();
  const sql = new pg.Pool({ connectionString, max: 1 });
  onTestFinished(async () => {
    await sql.end();
    await drop();
  });
  const open = async () => {
    const inbox = openDatabase(connectionString);
    const { logger: log } = logRecorder();
    await inbox.open({ name: "default", clock: { now: Date.now, setTimer }, log, dedupeWindowMs: 1 });
    await inbox.close();
  };
  await open();
  await sql.query("alter table hookline.dead rename to gone");
  await expect(open()).rejects.toMatchObject({ code: "schema-missing" });
});

function setTimer(run: () => void, ms: number) {
  const timer = setTimeout(run, ms);
  return { clear: () => clearTimeout(timer), unref: () => timer.unref() };
}
