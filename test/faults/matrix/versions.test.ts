import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { integrityOf, readJobs, waitUntilDrained } from "./finish-and-check.ts";
import { createScenario, startWorker, terminate, type Fleet } from "./fleet.ts";
import { report } from "./rounds.ts";

test("row 23: a file of a newer version is refused and unchanged", async () => {
  const { fleet, service } = createScenario();
  const first = await startWorker(fleet);
  await service.deliver(makeDelivery("email"));
  await waitUntilDrained(first);
  await terminate(first);
  const db = new DatabaseSync(fleet.file);
  db.exec("PRAGMA user_version = 4711; PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  const before = shaOf(fleet.file);
  const second = fleet.start();
  const ended = await Promise.race([second.ended, second.prints(/^ready/m).then(() => undefined)]);
  if (ended === undefined) expect(await service.offer(makeDelivery("email"))).not.toBe(200);
  await eventually(() => expect(second.err()).toMatch(/schema version 4711/));
  second.signal("SIGKILL");
  await second.ended;
  expect(shaOf(fleet.file)).toBe(before);
  report("row 23, newer", { "exit code": ended ?? "none, it answers 503" });
});

test("row 23: a file of version 1 is opened, and all its waiting jobs succeed", async () => {
  const { fleet } = createScenario();
  const db = new DatabaseSync(fleet.file);
  // Timestamps moved to the present: retention deletes old rows.
  const shift = Date.now() - WRITTEN_AT;
  const sql = readFileSync(join(import.meta.dirname, "version-1.sql"), "utf8");
  db.exec(`PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;`);
  db.exec(sql.replaceAll(/\b1795279\d{6}\b/g, (time) => String(Number(time) + shift)));
  db.close();
  const worker = await startWorker(fleet);
  await waitUntilDrained(worker);
  await terminate(worker);
  const jobs = await readJobs(fleet);
  const states = Object.fromEntries(jobs.map(({ name, state, consumer }) => [`${name} ${consumer}`, state]));
  report("row 23, version 1", { jobs: jobs.length, states: [...new Set(Object.values(states))].join(" ") });
  expect(integrityOf(fleet.file)).toBe("ok");
  expect(Object.keys(states).toSorted()).toEqual([
    "behind-retry.0 default",
    "behind-running.0 default",
    "booking.0 default",
    "booking.0 search",
    "dead.0 default",
    "done.0 default",
    "done.1 default",
    "retry.0 default",
    "running.0 default",
    "tracking.0 default",
    "unexpanded.0 default",
    "unhandled.0 default",
  ]);
  expect(Object.values(states).filter((state) => state !== "done" && state !== "dead")).toEqual([]);
});

/** The newest time in the fixture. */
const WRITTEN_AT = 1_795_279_495_300;

function shaOf(file: Fleet["file"]): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
