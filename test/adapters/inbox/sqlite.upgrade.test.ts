import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { assertVersion, CURRENT } from "../../../adapters/inbox/sqlite/schema/tables.ts";
import { startNode } from "../../cli/child.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { findAll, recordsIn } from "../../suites/inbox/verbs.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { handleAll } from "./damaged-file.ts";
import { openInline } from "./inline-thread.ts";
import { nextSchema, RELEASED } from "./next-schema.ts";
import { folderFor } from "./on-disk.ts";

/** The file of a version that was released, with rows of each kind, as its process left it. */
function releasedFile(version: number): string {
  const file = join(folderFor(), "inbox.db");
  const db = new DatabaseSync(file);
  db.exec("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL");
  db.exec(readFileSync(join(import.meta.dirname, `released/schema-${version}.sql`), "utf8"));
  db.close();
  return file;
}

/** All rows of all tables that any version knows, but for what a conversion changes. */
function rowsOf(file: string): unknown {
  const db = new DatabaseSync(file, { readOnly: true });
  const tables = ["meta", "state", "job_list", "unexpanded", "lane_window", "dead", "unhandled", "dedupe", "tombstone"];
  const rows = tables.map((table) => db.prepare(`SELECT * FROM ${table}`).all());
  const jobs = db.prepare("SELECT id, delivery, lane, attempts, run_at, error FROM job").all();
  const bodies = db.prepare("SELECT id, rtrim(signed_by, '!') AS signed_by, jobs, body FROM delivery").all();
  db.close();
  return [...rows, jobs, bodies];
}

function versionIn(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  const version = Number(db.prepare("PRAGMA user_version").get()?.["user_version"]);
  db.close();
  return version;
}

/** Opens a file as a newer version does, and closes it. */
function upgrade(file: string, plan = nextSchema()): void {
  openFile(file, "default", { plan, timeoutMs: 0 }).close();
}

const NEXT = CURRENT.version + 1;

describe.each(RELEASED)("a file of version %i", (version) => {
  test.each(["this version", "the next one"])("goes on in %s with all that it has", async (to) => {
    const file = releasedFile(version);
    const plan = to === "this version" ? CURRENT : nextSchema();
    const log = logRecorder();
    const make = () =>
      createSqliteInbox({
        file,
        openThread: (options, events) => openInline(options, events, { plan, converting: events.converting }),
      });
    const bench = await openBench({ make }, undefined, log.logger);
    onTestFinished(() => bench.end());
    const { inbox } = bench;
    expect(versionIn(file)).toBe(plan.version);
    expect(inbox.stats()).toMatchObject({ dead: 2, unhandled: 2, unexpanded: 2, waiting: 6, running: 0 });
    // Of a delivery with several the first record stands for it.
    const handled = ["1", "behind it", "done", "inherits", "skipped", "unexpanded", "with source"];
    expect((await handleAll(bench)).toSorted()).toEqual(handled);
    await bench.clock.advance(60_000);
    expect(await handleAll(bench)).toEqual(["retried"]);
    expect(await recordsIn(inbox, { states: ["dead"] })).toEqual(["dies of its window", "dead"]);
    expect((await findAll(inbox, { states: ["unhandled"] })).map(({ error }) => error)).toEqual([undefined, undefined]);
    expect(await inbox.tombstones.list()).toMatchObject([{ subscription: 77, reason: "not ours" }]);
    expect(inbox.subscriptions.errored()).toMatchObject([{ error: "The token has expired." }]);
    expect((await inbox.gaps?.find({ limit: 9 }))?.gaps).toMatchObject([{ source: "crm", cause: "down" }]);
    expect(await inbox.keyValues?.get("sync token")).toBe("value");
    expect(await inbox.jobs.replay({ states: ["dead"] })).toBe(2);
    expect((await inbox.jobs.erase(2002)).count).toBeGreaterThan(0);
    expect(log.of("inbox-converting").length + log.of("inbox-converted").length).toBe(version < plan.version ? 2 : 0);
  });

  test("is converted all at once, wherever its process is killed", { timeout: 120_000 }, async () => {
    const file = releasedFile(version);
    const before = rowsOf(file);
    for (const step of [0, 5, 11]) {
      const child = startNode(["test/adapters/inbox/converting-process.ts", file, String(step)]);
      await child.says("out", /^here\n/m);
      child.kill("SIGKILL");
      await child.ended;
      expect(versionIn(file)).toBe(version);
      expect(rowsOf(file)).toEqual(before);
    }
    const child = startNode(["test/adapters/inbox/converting-process.ts", file, "99"]);
    await child.says("out", /^here\n/m);
    child.kill("SIGKILL");
    await child.ended;
    expect(versionIn(file)).toBe(NEXT);
    expect(rowsOf(file)).toEqual(before);
  });

  test("is not converted while a process of its version has it open, and by the next one that is started", async () => {
    const file = releasedFile(version);
    const old = startNode(["test/adapters/inbox/holding-process.ts", file]);
    await old.says("out", /\n/);
    const busy = { code: "file-busy", fix: expect.stringContaining("stop every process of the older version") };
    expect(() => upgrade(file)).toThrow(expect.objectContaining(busy));
    expect(versionIn(file)).toBe(CURRENT.version);
    old.kill("SIGKILL");
    await old.ended;
    upgrade(file);
    expect(versionIn(file)).toBe(NEXT);
  });

  test("stays as it was where the disk has no room for what it becomes", () => {
    const file = releasedFile(version);
    const before = rowsOf(file);
    const plan = nextSchema();
    const conversions = [
      ...plan.conversions.slice(0, -1),
      (db: DatabaseSync, alive: () => void) => {
        db.exec("PRAGMA max_page_count = 1");
        plan.conversions.at(-1)?.(db, alive);
      },
    ];
    const full = { code: "disk-full", fix: expect.stringMatching(/Make room, at most \d+ MiB/) };
    expect(() => upgrade(file, { ...plan, conversions })).toThrow(expect.objectContaining(full));
    expect(versionIn(file)).toBe(version);
    expect(rowsOf(file)).toEqual(before);
    upgrade(file);
    expect(versionIn(file)).toBe(NEXT);
  });

  test("stays as it was where a conversion fails", () => {
    const file = releasedFile(version);
    const before = rowsOf(file);
    const plan = nextSchema((count) => {
      if (count === 3) throw new Error("a row is not as expected");
    });
    expect(() => upgrade(file, plan)).toThrow("a row is not as expected");
    expect(versionIn(file)).toBe(version);
    expect(rowsOf(file)).toEqual(before);
  });

  test("is converted once by several that are started at the same time", () => {
    const file = releasedFile(version);
    let conversions = 0;
    const converting = (): void => void (conversions += 1);
    upgrade(file);
    openFile(file, "default", { plan: nextSchema(), converting }).close();
    expect(conversions).toBe(0);
  });

  test("is told from one that only a receiver may convert", () => {
    const older = { code: "schema-older", fix: expect.stringContaining("Start the receiver") };
    expect(() => assertVersion(version, "inbox.db", nextSchema())).toThrow(expect.objectContaining(older));
    expect(() => assertVersion(version, "inbox.db", { ...CURRENT, version })).not.toThrow();
  });
});

test("a version refuses what a newer one has converted, and leaves it as it is", () => {
  const file = releasedFile(CURRENT.version);
  upgrade(file);
  const before = rowsOf(file);
  const named = expect.stringContaining(`${file} has schema version`);
  const newer = { code: "schema-newer", message: named, fix: expect.stringContaining("or a newer one") };
  expect(() => openFile(file, "default")).toThrow(expect.objectContaining(newer));
  expect(rowsOf(file)).toEqual(before);
});

test("a file from before the first release is not converted", () => {
  const file = releasedFile(CURRENT.version);
  const db = new DatabaseSync(file);
  db.exec("PRAGMA user_version = 3");
  db.close();
  const older = { code: "schema-older", fix: expect.stringContaining("move the file away") };
  expect(() => upgrade(file)).toThrow(expect.objectContaining(older));
});
