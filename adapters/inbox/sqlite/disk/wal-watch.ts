import type { Logger } from "../../../../src/adapter.ts";
import { walBytes } from "./wal.ts";

/** A log this long has been stored from being written back. */
const TOO_LONG_BYTES = 1024 * 1024 * 1024;

/** Looks how long the write-ahead log of a file is, and says it once when it is too long. */
export function createWalWatch(fileOf: () => string, log: () => Logger): () => void {
  let isTold = false;
  return () => {
    const file = fileOf();
    const bytes = walBytes(file);
    const isLong = bytes > TOO_LONG_BYTES;
    if (isLong && !isTold)
      log().warn(
        { code: "wal-long", file: `${file}-wal`, bytes },
        "the write-ahead log of the inbox grows: some process reads the file without end, and nothing can be written back meanwhile; end that read",
      );
    isTold = isLong;
  };
}
