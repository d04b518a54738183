import { execFileSync, spawnSync, type ExecFileSyncOptionsWithStringEncoding } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { fullFile, handleAll, reopened } from "./damaged-file.ts";

const PAGE = 8_192;
const WHO = "PRAGMA application_id = 1212894286; PRAGMA user_version = 4;";

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
