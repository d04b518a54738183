import { expect, onTestFinished, test } from "vitest";
import type { InboxHost } from "../../../src/adapter.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { until, watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { makeDelivery } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { lockTables } from "../../support/postgres/lock-tables.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses } from "./postgres-processes.ts";

test("an inbox that a receiver has open is refused to another one, until it is closed", async () => {
  const inbox = await ofDatabase();
  const [one, two] = [host(), host()];
  await inbox.open(one);
  await expect(inbox.open(two)).rejects.toMatchObject({ code: "inbox-shared", fix: expect.any(String) });
  await inbox.open(one);
  await inbox.close();
  await inbox.open(two);
  await expect(inbox.open(one)).rejects.toMatchObject({ code: "inbox-shared" });
});

test("an inbox whose close waits for a lock is opened by the next receiver after it, and stays open", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  const release = await lockTables(processes.sql, "shard");
  const closed = watch(inbox.close());
  const opened = watch(inbox.open(host()));
  await eventually(async () => expect(await processes.rows(WAITING)).not.toEqual([]));
  expect([closed.ended, opened.ended]).toEqual([false, false]);
  await release();
  await until(() => closed.ended && opened.ended);
  expect([closed.error, opened.error]).toEqual([undefined, undefined]);
  await storeAll(inbox, mail(["a"]));
  await inbox.close();
  await eventually(async () => expect(await processes.rows(CONNECTED)).toEqual([]));
});

test("an inbox that did not open is free for another receiver", async () => {
  const inbox = await ofDatabase({ migrate: false });
  await expect(inbox.open(host())).rejects.toMatchObject({ code: "schema-missing" });
  await expect(inbox.open(host())).rejects.toMatchObject({ code: "schema-missing" });
});

test("an inbox that is not open says so, and allows no unsubscribe", async () => {
  const inbox = await ofDatabase();
  const asked = { subscription: 1, source: undefined, maxPerHour: 10 };
  const notOpen = { code: "storage-failed", message: "The inbox is not open." };
  await expect(inbox.allowUnsubscribe!(asked)).rejects.toMatchObject(notOpen);
  await inbox.open(host());
  expect(await inbox.allowUnsubscribe!(asked)).toBe(true);
  await inbox.close();
  await expect(inbox.allowUnsubscribe!(asked)).rejects.toMatchObject(notOpen);
});

test("an inbox that may no longer keep its process alive still stores, and counts what waits for a worker", async () => {
  const inbox = await ofDatabase();
  inbox.unref!();
  await inbox.open(host());
  expect(inbox.stats()).toMatchObject({ unexpanded: 0, oldestWaitingAt: undefined, workers: { alive: 0, share: 0 } });
  inbox.unref!();
  const delivery = makeDelivery();
  expect(await inbox.store([{ delivery, events: undefined }])).toMatchObject([{ expanded: false }]);
  expect(inbox.stats()).toMatchObject({
    unexpanded: 1,
    blockedLanes: 0,
    oldestWaitingAt: delivery.receivedAt,
    isWorkedOn: false,
  });
});

const WAITING = "select from pg_locks where not granted and relation = 'hookline.shard'::regclass";
const CONNECTED =
  "select application_name from pg_stat_activity where datname = current_database() and application_name like 'hookline%'";

async function ofDatabase(options: Parameters<typeof openDatabase>[1] = {}) {
  const { connectionString, drop } = await newDatabase();
  const inbox = openDatabase(connectionString, options);
  onTestFinished(async () => {
    await inbox.close();
    await drop();
  });
  return inbox;
}

function host(): InboxHost {
  return { name: "default", clock: fakeClock(), log: logRecorder().logger, dedupeWindowMs: 1 };
}
