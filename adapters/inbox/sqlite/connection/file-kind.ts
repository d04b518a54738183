import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { FileError } from "./file-errors.ts";
import { walBytes } from "./wal.ts";

/** What a database is: an inbox of any version, an empty one, or one of another program. */
export type FileKind = "inbox" | "new" | "other";

/** `HKLN`: stands in the header of each inbox from the commit on that makes its tables. */
export const APPLICATION_ID = 0x484b4c4e;

/** What an open database is. */
export function kindOf(db: DatabaseSync): FileKind {
  const numberOf = (sql: string): number => Number(Object.values(db.prepare(sql).get() ?? {})[0]);
  const application = numberOf("PRAGMA application_id");
  if (application === APPLICATION_ID) return "inbox";
  const isEmpty =
    application === 0 && numberOf("PRAGMA user_version") === 0 && numberOf("SELECT count(*) FROM sqlite_schema") === 0;
  return isEmpty ? "new" : "other";
}

/** @throws FileError `not-an-inbox` */
export function assertOurs(kind: FileKind, file: string): void {
  if (kind !== "other") return;
  throw new FileError("not-an-inbox", `${file} is a database of another program, and is left as it is.`, {
    fix: 'Name a file that is the inbox\'s own, such as sqliteInbox("inbox.db").',
  });
}

/** Opens a file as one that does not change: SQLite then locks nothing, and makes nothing beside it. */
export function openImmutable(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { readOnly: true });
}

/**
 * The same of a file that is not open, and stays as it is with all that is beside it. One that is not there is new.
 * @throws SQLite's error where it cannot be read
 */
export function kindOfFile(file: string, timeoutMs: number): FileKind {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.size === 0 || !found.isFile()) return "new";
  // Else SQLite makes a log beside a file that has none, and it stays there.
  const db =
    walBytes(file) === 0 ? openImmutable(file) : new DatabaseSync(file, { readOnly: true, timeout: timeoutMs });
  try {
    return kindOf(db);
  } finally {
    db.close();
  }
}
