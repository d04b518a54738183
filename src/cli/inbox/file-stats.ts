import { lookAtFile, statsOfFile } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { toPlain } from "../terminal/escape-terminal.ts";
import { sizeText } from "../terminal/format.ts";
import type { InboxStats } from "./stats.ts";

/** What `hookline inbox stats` prints of a file. */
export function fileStats(file: string, now: number): InboxStats {
  const { path, name, schemaVersion, isWorkedOn } = lookAtFile(file);
  const { oldestUnexpandedAt, oldestOpenAt, ...counts } = statsOfFile(path, now);
  const oldest = Math.min(oldestUnexpandedAt ?? Infinity, oldestOpenAt ?? Infinity);
  const oldestWaitingAt = oldest === Infinity ? undefined : new Date(oldest);
  const json = { file, receiver: name, schemaVersion, isWorkedOn, ...counts, oldestWaitingAt };
  return {
    ...json,
    json,
    where: [["file", toPlain(file)]],
    sizes: [
      ["file size", sizeText(counts.fileBytes)],
      ["write-ahead log", sizeText(counts.walBytes)],
      ["free disk", sizeText(counts.freeDiskBytes)],
    ],
  };
}
