import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { memoryInbox, type Inbox } from "../../../src/index.ts";

const MAX_JOBS = 20_000_000;

/** An inbox with room for everything: in memory, or in a file if the measure wants one. */
export function openInbox(file = inboxFile()): Inbox & WorkingInbox {
  const inbox: Inbox =
    file === undefined
      ? memoryInbox({ maxJobs: MAX_JOBS, maxBytes: 8 * 1024 ** 3 })
      : sqliteInbox(file, { maxJobs: MAX_JOBS });
  return inbox as WorkingInbox;
}

/** A file in a folder that is deleted with the process; undefined for a measure of the memory inbox. */
export function inboxFile(): string | undefined {
  if (process.env["HOOKLINE_BENCH_INBOX"] !== "sqlite") return undefined;
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "inbox.db");
}
