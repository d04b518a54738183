import { randomBytes } from "node:crypto";
import { postgresInbox } from "hookline/postgres";
import { expect, onTestFinished, test } from "vitest";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { checkPauseOfOther } from "../../support/pauses-of-processes.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses } from "./postgres-processes.ts";

test("a pause of another process holds here, also after it was killed, and after a restart", async () => {
  const database = await newDatabase();
  onTestFinished(() => database.drop());
  await checkPauseOfOther(database.connectionString, () => postgresInbox(database.connectionString));
});

test("the oldest job that waits is known also behind many that are paused", async () => {
  const database = await newDatabase();
  onTestFinished(() => database.drop());
  const { rows } = await openProcesses(database.connectionString);
  const clock = wallClock();
  const inbox = openDatabase(database.connectionString);
  await inbox.open({ name: "default", clock, log: logRecorder().logger, dedupeWindowMs: 86_400_000 });
  onTestFinished(() => inbox.close());
  await inbox.pauses?.put({ accountId: 1, reason: "an import", since: 1 });
  const add = (account: number, first: number, last: number) =>
    rows(
      `insert into hookline.job (shard, id, writer, day, delivery, entry, type, consumer, account, received_at)
       select g % 64, g, 1, 1, 1, 0, 'email.message.updated', 'crm', $1, 5000 + g from generate_series($2::bigint, $3) as g`,
      [account, first, last],
    );
  const passing = (oldestWaitingAt: number | undefined, waiting: number) =>
    eventually(async () => {
      await clock.advance(1_000);
      expect(inbox.stats()).toMatchObject({ oldestWaitingAt, waiting: expect.closeTo(waiting, -4) });
    });
  await add(1, 1, 25_000);
  await passing(undefined, 25_000);
  await rows("insert into hookline.pause values ('of nothing', '{}', null, null, null)");
  await add(2, 25_001, 25_001);
  await passing(30_001, 25_000);
  await inbox.pauses?.put({ accountId: 2, reason: "a moment", since: 1 });
  await passing(undefined, 25_000);
});

test.each(["pause", "tombstone"])(
  "who locks the table %s for long does not keep others from their connections",
  async (table) => {
    const processes = await openProcesses();
    const { inbox } = await processes.start();
    const other = await processes.sql.connect();
    try {
      await other.query("begin");
      await other.query(`lock table hookline.${table} in access exclusive mode`);
      const waiting = async () =>
        Number((await other.query("select count(*) from pg_locks where not granted")).rows[0].count);
      await processes.passing(async () => expect(await waiting()).toBeGreaterThan(0));
      await eventually(async () => expect(await waiting()).toBe(0));
      expect(inbox.ready()).toEqual({ ready: true });
      await inbox.claim({ max: 1, mergeMax: 1 });
    } finally {
      await other.query("rollback");
      other.release();
    }
  },
);

test("a consumer of any name can be paused, and resumed", async () => {
  const { inbox } = await (await openProcesses()).start();
  const consumer = randomBytes(4_000).toString("hex");
  await inbox.pauses?.put({ consumer, reason: "its service is down", since: 1 });
  await inbox.pauses?.put({ consumer, reason: "still", since: 2 });
  expect(inbox.pauses?.current()).toEqual([{ consumer, reason: "still", since: 2 }]);
  expect(await inbox.pauses?.remove({ consumer })).toBe(true);
});
