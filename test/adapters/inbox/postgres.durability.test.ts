import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, makeDelivery } from "../../support/make-delivery.ts";
import { newDatabase, startPostgres } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

// `fsync` is a floor: with these settings a commit is confirmed when it is on the primary's disk, and later with some of them.
test.each([
  ["off", "on"],
  ["local", "local"],
  ["remote_write", "remote_write"],
  ["on", "on"],
  ["remote_apply", "remote_apply"],
])("a database with synchronous_commit %s stores with %s: what is confirmed is on the disk", async (given, used) => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  await query(
    connectionString,
    `do $$ begin execute format('alter database %I set synchronous_commit = ${given}', current_database()); end $$`,
  );
  const { inbox, store } = await opened(connectionString);
  await query(connectionString, SEEN_AT_COMMIT);
  await store();
  expect(await query(connectionString, "select distinct setting from seen")).toEqual([{ setting: used }]);
  expect(inbox.capabilities.durability).toBe("fsync");
});

test("a server with synchronous standbys is not taken for a quorum: a role may not wait for them", async () => {
  const server = await startPostgres({
    settings: { synchronous_standby_names: "nobody", synchronous_commit: "local" },
  });
  onTestFinished(server.remove);
  const { inbox, store } = await opened(server.connectionString);
  await store();
  expect(inbox.capabilities.durability).toBe("fsync");
});

test("a store that a standby did not confirm fails, also where the role hears of errors alone", async () => {
  const { connectionString, remove } = await startPostgres({ settings: {} });
  onTestFinished(remove);
  const { inbox, store } = await opened(connectionString, { options: "-c client_min_messages=error" });
  await store();
  await query(connectionString, "alter system set synchronous_standby_names = nobody");
  await query(connectionString, "select pg_reload_conf()");
  let isOver = false;
  const cancelling = eventually(async () => {
    const cancel = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
    expect(isOver || (await query(connectionString, cancel))).not.toEqual([]);
  });
  // The connection may not have heard of it at the first.
  const message = expect.stringContaining("A synchronous standby did not confirm");
  await eventually(async () => expect(await inbox.store(ONE)).toMatchObject([{ code: "storage-failed", message }]));
  isOver = true;
  await cancelling;
});

const ONE = [{ delivery: makeDelivery(bodyOf()), events: undefined }];

/** Deferred triggers run when the transaction commits. */
const SEEN_AT_COMMIT = `
create table seen (setting text);
create function see() returns trigger language plpgsql as $$
  begin insert into public.seen values (current_setting('synchronous_commit')); return null; end $$;
create constraint trigger see after insert on hookline.unexpanded initially deferred for each row execute function see()`;

async function opened(connectionString: string, options: Readonly<Record<string, unknown>> = {}) {
  const inbox = openDatabase(connectionString, { connection: { connectionString, ...options } });
  await inbox.open({ name: "default", clock: fakeClock(), log: logRecorder().logger, dedupeWindowMs: 1 });
  onTestFinished(() => inbox.close());
  return {
    inbox,
    async store(): Promise<void> {
      const stored = await inbox.store(ONE);
      expect(stored).toMatchObject([{ expanded: false }]);
    },
  };
}

async function query(connectionString: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query(text)).rows as readonly unknown[];
  } finally {
    await client.end();
  }
}
