import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Where there is one, a folder in memory: for files of tests that do not ask what survives a power cut. An fsync costs nothing there. */
export function quickFolder(): string {
  return existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
}
