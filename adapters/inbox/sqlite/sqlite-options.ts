import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { assertOptions, kindOf, oneText, wholeNumber } from "../../../src/adapter.ts";
import { DEFAULT_MAX_JOBS } from "../../../src/inbox/parking.ts";
import { DEFAULT_KEEP_DAYS } from "../../../src/inbox/upkeep/retention.ts";
import { UsageError } from "../../../src/index.ts";
import { DEFAULT_MIN_FREE_DISK_BYTES } from "./connection/disk-shortage.ts";
import type { SqliteOptions } from "./sqlite-inbox.ts";

/** Limits of an SQLite inbox. */
export interface SqliteInboxOptions {
  /** Done and skipped jobs, and their deliveries. @default 7 */
  keepDoneDays?: number | undefined;
  /** Unhandled jobs. @default 7 */
  keepUnhandledDays?: number | undefined;
  /** Dead letters, since they were settled. @default no limit */
  keepDeadDays?: number | undefined;
  /** "until-done": a body goes within 60 s after its last job is done or skipped. @default "retention": with its delivery */
  keepBodies?: "retention" | "until-done" | undefined;
  /** With less room on the disk deliveries get 503, and what is stored is still handled. @default 256 MiB */
  minFreeDiskBytes?: number | undefined;
  /** Waiting in memory, some 350 B each; more wait in the file alone, those that wait for a retry first. @default 500_000 */
  maxJobs?: number | undefined;
  /** Where a bundler put the commit thread's file, which is `hookline/sqlite-thread`. @default where the package has it */
  threadUrl?: URL | undefined;
}

/**
 * The options of `sqliteInbox`, checked and with their defaults.
 * @throws UsageError `option-invalid`
 */
export function resolveSqliteOptions(file: string | URL, options: SqliteInboxOptions): SqliteOptions {
  assertOptions("sqliteInbox", options, ALLOWED);
  const { keepDoneDays = DEFAULT_KEEP_DAYS, keepUnhandledDays = DEFAULT_KEEP_DAYS } = options;
  const { minFreeDiskBytes = DEFAULT_MIN_FREE_DISK_BYTES, maxJobs = DEFAULT_MAX_JOBS } = options;
  const { keepDeadDays, threadUrl } = options;
  return {
    file: toPath(file),
    keepDoneMs: positive("keepDoneDays", keepDoneDays) * DAY_MS,
    keepUnhandledMs: positive("keepUnhandledDays", keepUnhandledDays) * DAY_MS,
    keepDeadMs: keepDeadDays === undefined ? undefined : positive("keepDeadDays", keepDeadDays) * DAY_MS,
    keepBodies: oneText(["retention", "until-done"], {
      where: "sqliteInbox",
      name: "keepBodies",
      value: options.keepBodies ?? "retention",
    }),
    minFreeDiskBytes: whole("minFreeDiskBytes", minFreeDiskBytes, 0),
    maxJobs: whole("maxJobs", maxJobs, 1),
    threadUrl: threadUrl === undefined ? undefined : toThreadUrl(threadUrl),
  };
}

const ALLOWED: Readonly<Record<keyof SqliteInboxOptions, true>> = {
  keepDoneDays: true,
  keepUnhandledDays: true,
  keepDeadDays: true,
  keepBodies: true,
  minFreeDiskBytes: true,
  maxJobs: true,
  threadUrl: true,
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
        fix: 'Write sqliteInbox("inbox.db"), sqliteInbox(new URL("file:///var/lib/app/inbox.db")), or "./" before a name with a colon. A connection string of PostgreSQL begins with "postgres://".',
      },
    );
  if (typeof file === "string" && file !== "" && file !== ":memory:") return file;
  throw new UsageError(
    "option-invalid",
    `sqliteInbox got ${file === "" ? '""' : String(file)}, expected the path or file: URL of a file.`,
    {
      fix: 'Name a file on a local disk, such as sqliteInbox("inbox.db"); memoryInbox() keeps nothing on a disk.',
    },
  );
}

/** Looked at now: a thread that is missing would be noticed by the first delivery only. */
function toThreadUrl(url: unknown): URL {
  if (url instanceof URL && url.protocol === "file:" && existsSync(url)) return url;
  const got = url instanceof URL ? url.href : kindOf(url);
  throw new UsageError("option-invalid", `sqliteInbox got threadUrl ${got}, expected the file: URL of a file there.`, {
    fix: 'Make `hookline/sqlite-thread` an entry of the build, and name its output: `threadUrl: new URL("./sqlite-thread.js", import.meta.url)`. See docs/deploy/bundlers.md.',
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
