import { fileURLToPath } from "node:url";
import { assertOptions, kindOf, wholeNumber } from "../../src/adapter.ts";
import { UsageError, type Inbox } from "../../src/index.ts";
import { createSqliteInbox } from "./sqlite/sqlite-inbox.ts";

/** Limits of an SQLite inbox. */
export interface SqliteInboxOptions {
  /** Done and skipped jobs, and their deliveries. @default 7 */
  keepDoneDays?: number | undefined;
  /** Unhandled jobs. Dead jobs are stored without limit. @default 7 */
  keepUnhandledDays?: number | undefined;
  /** With less room on the disk deliveries get 503, and what is stored is still handled. @default 256 MiB */
  minFreeDiskBytes?: number | undefined;
  /** Waiting in memory, some 600 B each; more wait on disk. @default 500_000 */
  maxJobs?: number | undefined;
}

/**
 * Stores deliveries in an SQLite file: acknowledged deliveries survive a crash and a power cut. Any number of processes receive into one
 * file; one is the active worker, and another takes over within a second of its death. The file is opened at `start()` or at the first delivery.
 * @param file on a local disk; files of the same name with an ending lie beside it
 * @throws UsageError `option-invalid`
 * @example createReceiver({ secret: process.env.SIGNING_SECRET, inbox: sqliteInbox("inbox.db") });
 */
export function sqliteInbox(file: string | URL, options: SqliteInboxOptions = {}): Inbox<"disk"> {
  assertOptions("sqliteInbox", options, ALLOWED);
  const { keepDoneDays = 7, keepUnhandledDays = 7, minFreeDiskBytes = 256 * 1024 * 1024, maxJobs = 500_000 } = options;
  const inbox: Inbox<"disk"> = createSqliteInbox({
    file: toPath(file),
    keepDoneMs: positive("keepDoneDays", keepDoneDays) * DAY_MS,
    keepUnhandledMs: positive("keepUnhandledDays", keepUnhandledDays) * DAY_MS,
    minFreeDiskBytes: whole("minFreeDiskBytes", minFreeDiskBytes, 0),
    maxJobs: whole("maxJobs", maxJobs, 1),
  });
  return inbox;
}

const ALLOWED: Readonly<Record<keyof SqliteInboxOptions, true>> = {
  keepDoneDays: true,
  keepUnhandledDays: true,
  minFreeDiskBytes: true,
  maxJobs: true,
};

const DAY_MS = 24 * 60 * 60 * 1_000;

/** SQLite reads such a text as a URI, any other as a path. A single letter is a Windows drive. */
const ADDRESS = /^[a-z][a-z\d+.-]+:/i;

function toPath(file: unknown): string {
  if (file instanceof URL && file.protocol === "file:") return fileURLToPath(file);
  if (typeof file === "string" && ADDRESS.test(file))
    throw new UsageError(
      "option-invalid",
      `sqliteInbox got ${file}, expected the path of a file, or a URL that is no text.`,
      {
        fix: 'Write sqliteInbox("inbox.db"), sqliteInbox(new URL("file:///var/lib/app/inbox.db")), or "./" before a name with a colon.',
      },
    );
  if (typeof file === "string" && file !== "" && file !== ":memory:") return file;
  throw new UsageError("option-invalid", `sqliteInbox got ${String(file)}, expected the path or file: URL of a file.`, {
    fix: 'Name a file on a local disk, such as sqliteInbox("inbox.db"); memoryInbox() keeps nothing on a disk.',
  });
}

function whole(name: string, value: unknown, least: number): number {
  return wholeNumber({ where: "sqliteInbox", name, value, least });
}

/** Days may be parts of one. */
function positive(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  throw new UsageError("option-invalid", `sqliteInbox got ${name} ${kindOf(value)}, expected a positive number.`);
}
