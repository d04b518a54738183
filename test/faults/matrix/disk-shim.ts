import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { report } from "./rounds.ts";

/** Makes the disk fail for processes that are started with `env`. */
export interface DiskShim {
  readonly env: Readonly<Record<string, string>>;
  /** Injects this fault from now on, until the next `set` or `clear`. */
  set(fault: DiskFault): void;
  clear(): void;
  /** How often a fault was injected so far; `over`: how often a fault ended. */
  faultCount(what: DiskFault["what"] | "over"): number;
}

export interface DiskFault {
  readonly call: "sync" | "write";
  readonly what: "eio" | "enospc" | "short" | "stall" | "kill";
  /** 1: the next one. @default 1 */
  readonly from?: number;
  /** 0: always. @default 1 */
  readonly times?: number;
  /** Duration of a stall. @default 0 */
  readonly ms?: number;
}

/** @returns undefined, with a report, without a C compiler or LD_PRELOAD */
export function createDiskShim(row: string, file: string): DiskShim | undefined {
  const folder = mkdtempSync(join(tmpdir(), "hookline-shim-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [library, path] = [join(folder, "shim.so"), join(folder, "switch")];
  const source = join(import.meta.dirname, "disk-shim.c");
  try {
    if (process.platform !== "linux") throw new Error(`LD_PRELOAD is not on ${process.platform}`);
    execFileSync("gcc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], { stdio: "pipe" });
  } catch (error) {
    report(row, { "not tried, because": String(error) });
    return undefined;
  }
  let count = 0;
  const put = (text: string): void => {
    // Atomically: a partial text would be another command.
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const logged = (): readonly string[] => {
    try {
      return readFileSync(`${path}.log`, "utf8").split("\n");
    } catch {
      return [];
    }
  };
  return {
    env: { LD_PRELOAD: library, HOOKLINE_SHIM: path, HOOKLINE_SHIM_FILE: file },
    set({ call, what, from = 1, times = 1, ms = 0 }) {
      put(`${call} ${what} ${from} ${times} ${ms} ${(count += 1)}`);
    },
    clear: () => put(""),
    faultCount: (what) => logged().filter((line) => line === what).length,
  };
}
