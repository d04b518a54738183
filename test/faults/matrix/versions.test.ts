import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeDelivery } from "./deliveries.ts";
import { waitUntilDrained } from "./finish-and-check.ts";
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

test("row 23: a file of version 1 is refused with what to do, and unchanged", async () => {
  const { fleet, service } = createScenario();
  const db = new DatabaseSync(fleet.file);
  db.exec("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
  db.exec(readFileSync(join(import.meta.dirname, "version-1.sql"), "utf8"));
  db.close();
  const before = shaOf(fleet.file);
  const refused = fleet.start();
  const ended = await Promise.race([refused.ended, refused.prints(/^ready/m).then(() => undefined)]);
  if (ended === undefined) expect(await service.offer(makeDelivery("email"))).not.toBe(200);
  await eventually(() => expect(refused.err()).toMatch(/schema-older/));
  expect(refused.err()).toMatch(/handle what waits, then move the file away/);
  refused.signal("SIGKILL");
  await refused.ended;
  expect(shaOf(fleet.file)).toBe(before);
  report("row 23, version 1", { "exit code": ended ?? "none, it answers 503" });
});

function shaOf(file: Fleet["file"]): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
