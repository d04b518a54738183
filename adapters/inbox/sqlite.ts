import type { Inbox } from "../../src/index.ts";
import { createSqliteInbox } from "./sqlite/sqlite-inbox.ts";
import { resolveSqliteOptions, type SqliteInboxOptions } from "./sqlite/sqlite-options.ts";

export type { SqliteInboxOptions };

/**
 * Stores deliveries in an SQLite file: acknowledged deliveries survive a crash and a power cut. Any number of processes receive into one
 * file; one is the active worker, and another takes over within a second of its death. The file is opened at `start()` or at the first delivery.
 * @param file on a local disk; files of the same name with an ending lie beside it
 * @throws UsageError `option-invalid`
 * @example createReceiver({ secret: process.env.SIGNING_SECRET, inbox: sqliteInbox("inbox.db") });
 */
export function sqliteInbox(file: string | URL, options: SqliteInboxOptions = {}): Inbox<"disk"> {
  return createSqliteInbox(resolveSqliteOptions(file, options));
}
