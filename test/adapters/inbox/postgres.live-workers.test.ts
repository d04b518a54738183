import { expect, onTestFinished, test } from "vitest";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses } from "./postgres-processes.ts";

/** One that only receives. */
async function receiving(connectionString: string) {
  const clock = wallClock();
  const inbox = openDatabase(connectionString, { leaseMs: 1_000 });
  onTestFinished(() => inbox.close());
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  return { inbox, clock };
}

test("a worker whose heart stands still for a lease is no sign that jobs are worked on, though its row says that it lives", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const { inbox, clock } = await receiving(connectionString);
  const processes = await openProcesses(connectionString);
  const [worker] = await processes.rows<{ id: string }>("insert into hookline.worker default values returning id");
  const beat = async (): Promise<void> =>
    void (await processes.rows("update hookline.worker set beat = beat + 1 where id = $1", [worker?.id]));
  await storeAll(inbox, mail(["a"]));
  const workedOn = async (is: boolean): Promise<void> => {
    await clock.advance(1_000);
    expect(inbox.stats()).toMatchObject({ isWorkedOn: is, workers: { alive: is ? 1 : 0 } });
  };
  await eventually(() => workedOn(true));
  await eventually(() => workedOn(false));
  await eventually(async () => {
    await beat();
    await workedOn(true);
  });
  expect(await processes.rows("select alive from hookline.worker")).toEqual([{ alive: true }]);
});

test("a process whose clock is set back after a store that failed is ready again once the server answers", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const { inbox, clock } = await receiving(connectionString);
  const processes = await openProcesses(connectionString);
  await processes.rows("alter table hookline.writer rename to other");
  await inbox.store([mail(["a"])]);
  expect(inbox.ready()).toMatchObject({ ready: false });
  await processes.rows("alter table hookline.other rename to writer");
  clock.jump(-86_400_000 * 365);
  await eventually(async () => {
    await clock.advance(1_000);
    expect(inbox.ready()).toEqual({ ready: true });
  });
});
