import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, dead, killAll, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { openInline } from "./inline-thread.ts";
import { folderFor } from "./on-disk.ts";

/** An inbox on a file that its successor takes over, and a hand that reaches into the file. */
async function fileBench(file = join(folderFor(), "inbox.db")) {
  const make = () => createSqliteInbox({ file, openThread: openInline });
  const bench = await openBench({ make });
  onTestFinished(() => bench.end());
  const byHand = (sql: string): void => {
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
  };
  return { bench, byHand, file };
}

const DEAD = { states: ["dead"] } as const;

test("a file of the version before is counted when it is converted", () => {
  const file = join(folderFor(), "inbox.db");
  const db = new DatabaseSync(file);
  db.exec("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
  db.exec(readFileSync(join(import.meta.dirname, "released/schema-4.sql"), "utf8"));
  db.close();
  openFile(file, "default").close();
  const converted = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => converted.close());
  expect(converted.prepare("SELECT state, type, error, count FROM ended_count").all()).toMatchObject([
    { state: "dead", type: "email.updated", error: "Error", count: 2 },
    { state: "unhandled", type: "email.updated", error: "", count: 1 },
    { state: "unhandled", type: "lifecycle.error", error: "", count: 1 },
  ]);
  const names = "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY name";
  const anew = new DatabaseSync(":memory:");
  onTestFinished(() => anew.close());
  anew.exec(readFileSync(join(import.meta.dirname, "released/schema-5.sql"), "utf8"));
  expect(converted.prepare(names).all()).toEqual(anew.prepare(names).all());
});

test("counts that a damaged file has wrong are made anew by the process that takes over", async () => {
  const { bench, byHand } = await fileBench();
  await killAll(bench, "a", "b");
  byHand("DELETE FROM ended_count");
  expect(await bench.inbox.jobs.summary?.(DEAD)).toMatchObject({ groups: [], count: 0 });
  const next = await bench.succeed();
  expect(await next.jobs.summary?.(DEAD)).toMatchObject({ groups: [{ error: "Error", count: 2 }], count: 2 });
});

test("an error that cannot be read keeps no dead job from being counted and removed", async () => {
  const { bench, byHand } = await fileBench();
  await killAll(bench, "a", "b", "c");
  byHand("UPDATE dead SET error = 'no json' WHERE id = (SELECT min(id) FROM dead)");
  byHand("UPDATE dead SET error = x'00ff' WHERE id = (SELECT max(id) FROM dead)");
  expect(await bench.inbox.jobs.drop(DEAD)).toBe(3);
  expect(await bench.inbox.jobs.find({ limit: 10 })).toEqual({ jobs: [] });
});

test("names that all differ are counted up to the largest ten thousand", async () => {
  const { bench, byHand } = await fileBench();
  const [id] = await killAll(bench, "a");
  byHand(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10100)
    INSERT INTO dead SELECT ${id} + i, 1, 0, 'email.updated', 'default', 1, 1, 1, NULL, 1, json_object('name', 'E' || i), 1 FROM n`);
  const summary = await bench.inbox.jobs.summary?.(DEAD);
  expect(summary).toMatchObject({ count: 10_000, isCut: true });
  expect(summary?.groups).toHaveLength(100);
});

test("a page of blocked lanes reads no job that waits behind others, or was not tried", async () => {
  const { bench, file } = await fileBench();
  await storeAll(bench.inbox, mail([{ id: "failed" }]));
  for (const claim of await claimAll(bench.inbox))
    await settleAll(bench.inbox, claim, { ...dead(bench), to: "retry", at: 9e12, delayMs: 1, counted: true } as never);
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  const plan = db
    .prepare(
      "EXPLAIN QUERY PLAN SELECT id FROM job WHERE run_at > 0 AND (run_at, id) > (?, ?) ORDER BY run_at, id LIMIT 50",
    )
    .all(1, 1)
    .map(({ detail }) => detail);
  expect(plan).toEqual([expect.stringContaining("USING COVERING INDEX job_retry")]);
});
