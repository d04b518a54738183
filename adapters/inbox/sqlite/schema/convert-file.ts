import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { CODE, FileError, primaryCode } from "../connection/file-errors.ts";
import { OLDEST_VERSION, versionOf, type SchemaPlan } from "./tables.ts";

/** From which schema version to which a file is converted. */
export interface Converting {
  readonly from: number;
  readonly to: number;
  /** Of the file. */
  readonly bytes: number;
  /** Undefined: it has begun, or goes on. */
  readonly endedAfterMs: number | undefined;
}

export interface ConvertOptions {
  readonly plan: SchemaPlan;
  /** How long another may hold the file, milliseconds. */
  readonly timeoutMs: number;
  /** When it begins, as long as it goes on, and when it has ended. */
  readonly tell: (converting: Converting) => void;
}

/** Whether an open file is of an older version that can be converted. */
export function isConvertible(db: DatabaseSync, plan: SchemaPlan): boolean {
  const version = versionOf(db);
  return version >= OLDEST_VERSION && version < plan.version;
}

/**
 * Converts a file of an older version, all at once, while nobody else has it open: the code of that version, which may run on, knows nothing
 * of the new one. It is refused when it opens the file next.
 * @throws FileError `file-busy` where a process has it open, `disk-full`; the file is then as it was
 */
export function convertFile(file: string, { plan, timeoutMs, tell }: ConvertOptions): void {
  const began = performance.now();
  const bytes = statSync(file).size;
  const db = new DatabaseSync(file, { timeout: timeoutMs });
  let from: number | undefined;
  try {
    // In this mode of SQLite a file is had by no other connection, from the first look on.
    db.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; BEGIN IMMEDIATE");
    from = versionOf(db);
    const converting = { from, to: plan.version, bytes };
    // Another one that was started at the same time may have done it.
    if (isConvertible(db, plan)) {
      const alive = (): void => tell({ ...converting, endedAfterMs: undefined });
      alive();
      for (const convert of plan.conversions.slice(from - OLDEST_VERSION)) convert(db, alive);
      db.exec(`PRAGMA user_version = ${plan.version}; COMMIT`);
      tell({ ...converting, endedAfterMs: Math.round(performance.now() - began) });
    }
  } catch (error) {
    throw toConversionError(error, { plan, bytes });
  } finally {
    db.close(); // and what was not committed is gone
  }
}

function toConversionError(
  cause: unknown,
  { plan, bytes }: { readonly plan: SchemaPlan; readonly bytes: number },
): unknown {
  const what = `The inbox file cannot be converted to schema version ${plan.version}, and is as it was`;
  switch (primaryCode(cause)) {
    case CODE.busy:
      return new FileError("file-busy", `${what}: another process has it open.`, {
        cause,
        fix: "First stop every process of the older version of Hookline, and any other program that has the file open: `fuser inbox.db` lists them.",
      });
    case CODE.full:
      return new FileError("disk-full", `${what}: the disk has no room for it.`, {
        cause,
        fix: `Make room, at most ${Math.ceil(bytes / 1024 / 1024)} MiB as the file itself, and start again.`,
      });
    default:
      return cause;
  }
}
