import { fileURLToPath } from "node:url";
import type { Inbox } from "../../src/index.ts";
import { createSqliteInbox } from "./sqlite/sqlite-inbox.ts";

/** How much an inbox in a file may hold, and for how long. */
export interface SqliteInboxOptions {
  /** Waiting in memory, some 600 B each; more wait on disk. @default 500_000 */
  maxJobs?: number | undefined;
}

/**
 * Keeps deliveries in an SQLite file: what is acknowledged survives a crash and a power cut. Any number of processes receive into one file;
 * one of them works, and another takes over within a second when it dies. Opens the file at `start()` or at the first delivery.
 * @param file on a local disk
 * @example createReceiver({ secret: process.env.SIGNING_SECRET, inbox: sqliteInbox("inbox.db") });
 */
export function sqliteInbox(file: string | URL, { maxJobs = 500_000 }: SqliteInboxOptions = {}): Inbox<"disk"> {
  return createSqliteInbox({ file: typeof file === "string" ? file : fileURLToPath(file), maxJobs });
}
