import { realpathSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "../../../../src/adapter.ts";
import { CODE, primaryCode } from "../connection/file-errors.ts";
import { openImmutable } from "../connection/file-kind.ts";
import { walBytes } from "../connection/wal.ts";

/** A file that is only read. */
export interface LookedAt {
  readonly db: DatabaseSync;
  /**
   * To be called behind each read.
   * @throws StorageError `file-busy` where another process wrote meanwhile: what was read may be wrong
   */
  assertUnchanged(): void;
}

/**
 * Opens a file to look, where nothing may be written beside it too, as in a copy that was put away. SQLite shares a log by a
 * file of its own beside it: where it cannot make that one, a file without a log is read as one that does not change.
 *
 * @throws StorageError `file-forbidden` where a log holds commits that only SQLite can read
 * @throws SQLite's error where the file cannot be read
 */
export function openToLook(file: string, timeoutMs: number): LookedAt {
  const shared = new DatabaseSync(file, { readOnly: true, timeout: timeoutMs });
  try {
    shared.prepare("PRAGMA user_version").get();
    return { db: shared, assertUnchanged() {} };
  } catch (error) {
    shared.close();
    const code = primaryCode(error);
    if (code !== CODE.readonly && code !== CODE.cannotOpen) throw error;
    return openUnshared(file, error);
  }
}

/**
 * For where SQLite has said that it cannot make what it shares.
 * @param cause what it said
 */
export function openUnshared(file: string, cause: unknown): LookedAt {
  const path = realpathSync(file);
  if (walBytes(path) > 0)
    throw new StorageError(
      "file-forbidden",
      `${path}-wal holds commits that cannot be read without writing beside it.`,
      {
        cause,
        fix: "Copy it together with the file itself into a folder that this user may write, and look at the copy there.",
      },
    );
  const before = stateOf(path);
  return {
    db: openImmutable(path),
    assertUnchanged() {
      if (stateOf(path) === before) return;
      throw new StorageError("file-busy", `${file} was written to while it was read.`, { fix: "Look once more." });
    },
  };
}

/** Another text after any write: what is committed comes into the log first. */
function stateOf(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true });
  return [ino, size, mtimeNs, walBytes(path)].join(" ");
}
