import { execFileSync, spawnSync, type ExecFileSyncOptionsWithStringEncoding } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { SCHEMA_VERSION } from "../../../adapters/inbox/sqlite/schema/tables.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { fullFile, handleAll, reopened } from "./damaged-file.ts";

const PAGE = 8_192;
const WHO = `PRAGMA application_id = 1212894286; PRAGMA user_version = ${SCHEMA_VERSION};`;

/** A file with so many jobs that its tables have several pages. */
async function longFile(): Promise<string> {
  const bench = await reopened(await fullFile());
  const records = Array.from({ length: 60 }, (_, index) => `long ${index}`);
  for (const id of records) await storeAll(bench.inbox, mail([id], { filler: "x".repeat(1_000) }));
  await bench.inbox.close();
  return bench.file;
}

/** What the shell of SQLite reads of a damaged file: by `.recover` where it was built for it, else by `.dump`. */
function recovered(file: string): string {
  const shell = (path: string, input: string): string => {
    const options: ExecFileSyncOptionsWithStringEncoding = {
      input,
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
      maxBuffer: 1e8,
    };
    try {
      return execFileSync("sqlite3", [path], options);
    } catch (error) {
      return (error as { readonly stdout: string }).stdout; // it tells the damage, and goes on
    }
  };
  const canRecover = shell(":memory:", "PRAGMA compile_options;").includes("DBPAGE");
  const sql = shell(file, canRecover ? ".recover" : ".dump").replace(/ROLLBACK;.*$/m, "COMMIT;");
  const to = `${file}-recovered`;
  shell(to, `${sql}\n${WHO}`);
  return to;
}

/** Pages of the leaves of a table. */
function leavesOf(file: string, table: string): number[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const pages = db.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'").all(table);
  db.close();
  return pages.map(({ pageno }) => Number(pageno));
}

/**
 * What `.recover` writes where the rows of a delivery are lost, also where no shell is there that can: the tables as they were made, their rows by
 * `INSERT OR IGNORE`, what it could not place in `lost_and_found`, and indexes last, where what it read of the rows allows them. Here it allows none.
 */
function asRecovered(file: string, change: string): string {
  const to = `${file}-recovered`;
  const db = new DatabaseSync(to);
  db.exec(`ATTACH '${file}' AS old`);
  const tables = db.prepare("SELECT name, sql FROM old.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
  for (const { name, sql } of tables.all())
    db.exec(`${String(sql)}; INSERT OR IGNORE INTO main.${String(name)} SELECT * FROM old.${String(name)};`);
  db.exec(`CREATE TABLE lost_and_found (rootpgno INTEGER, pgno INTEGER, nfield INTEGER, id INTEGER, c0, c1, c2);
    INSERT INTO lost_and_found VALUES (7, 9, 3, 4, 'x', NULL, x'00'); ${WHO} ${change}`);
  db.close();
  return to;
}

describe("a file that `.recover` wrote", () => {
  const RESOURCE = {
    source: undefined,
    subscription: 1001,
    accountId: 2002,
    resource: "/email/messages",
    family: "email",
  };
  const GAP = { ...RESOURCE, cause: "errored", from: 1_000, until: 2_000 } as const;

  async function fileWithResource(): Promise<string> {
    const { inbox, file } = await reopened(await fullFile());
    await inbox.gaps?.seen([RESOURCE], 5_000);
    await inbox.close();
    return file;
  }

  test("without a delivery works on: its job is removed, and all others are handled", async () => {
    const lost = "DELETE FROM delivery WHERE body LIKE '%\"lost\"%';";
    const bench = await reopened(asRecovered(await fileWithResource(), lost));
    expect((await handleAll(bench)).toSorted()).toEqual(["raw 1", "raw 2", "waits 1", "waits 2", "waits 3"]);
    expect(bench.log.of("job-without-delivery").length).toBeGreaterThan(0);
    expect(bench.inbox.stats()).toMatchObject({ waiting: 0, running: 0, unexpanded: 0, dead: 2, unhandled: 2 });
  });

  test("without indexes gets them back, one of each where rows are doubled", async () => {
    const doubled = `INSERT INTO subscribed_resource (source, subscription, account, resource, family, seen_at)
      SELECT source, subscription, account, resource, family, seen_at + 1 FROM subscribed_resource;`;
    const file = asRecovered(await fileWithResource(), doubled);
    const { inbox } = await reopened(file);
    await inbox.gaps?.add([GAP]);
    expect((await inbox.gaps?.find({ limit: 10 }))?.gaps).toEqual([GAP]);
    await inbox.close();
    const [names, all] = [indexesOf(file), indexesOf(await fullFile())];
    expect(names).toEqual(all);
  });
});

function indexesOf(file: string): unknown[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name");
  const found = rows.all();
  db.close();
  return found;
}

const HAS_SHELL = spawnSync("sqlite3", ["--version"]).status === 0;

test.skipIf(!HAS_SHELL).each(["delivery", "job", "state", "unexpanded", "dead", "unhandled", "job_list"])(
  "a file of which a page of %s was overwritten works on, once SQLite has read what it can",
  async (table) => {
    const file = await longFile();
    const leaves = leavesOf(file, table);
    const damaged = leaves[Math.floor(leaves.length / 2)] as number;
    const bytes = readFileSync(file);
    bytes.fill(0xa5, (damaged - 1) * PAGE, damaged * PAGE);
    writeFileSync(file, bytes);
    const bench = await reopened(recovered(file));
    const handled = await handleAll(bench);
    expect(handled.length).toBeGreaterThan(["delivery", "job", "unexpanded"].includes(table) ? 3 : 40);
    expect(bench.inbox.stats()).toMatchObject({ waiting: 0, running: 0, unexpanded: 0 });
    expect(await bench.inbox.store([mail(["fresh"])])).toMatchObject([{ expanded: true }]);
    expect(await handleAll(bench)).toEqual(["fresh"]);
    await bench.inbox.jobs.drop({ states: ["dead", "unhandled"] });
    expect(bench.inbox.stats()).toMatchObject({ dead: 0, unhandled: 0 });
  },
);
