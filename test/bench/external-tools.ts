import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BenchError } from "./arguments.ts";

/** Whether a command can be run, whatever it says. */
export function isInstalled(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).error === undefined;
}

/** @throws Problem with how to get it */
export function assertWrk(): void {
  if (isInstalled("wrk", ["--version"])) return;
  throw new BenchError("wrk is missing, which sends the requests: apt-get install wrk (macOS: brew install wrk).");
}

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Whether the packages of the bench's own package.json are here. */
export function hasPeers(): boolean {
  return existsSync(`${FOLDER}node_modules/.package-lock.json`);
}

/** @throws Problem with how to go on without them */
export function installPeers(say: (line: string) => void): void {
  if (hasPeers()) return;
  say("Installing what is compared with: npm ci in test/bench (once, 35 MB).");
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: FOLDER,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0)
    throw new BenchError(
      "What is compared with could not be installed: run npm ci in test/bench, or name what needs nothing, such as --only node,express,koa.",
    );
}

/** What makes a process's disk slower, as its environment. @throws Problem where there is no gcc, or no LD_PRELOAD */
export function slowSyncs(ms: number, folder: string): Readonly<Record<string, string>> {
  const library = join(folder, "slow-sync.so");
  const args = ["-shared", "-fPIC", "-O2", "-o", library, join(FOLDER, "servers/slow-sync.c"), "-ldl"];
  const { status } = process.platform === "linux" ? spawnSync("gcc", args, { stdio: "ignore" }) : { status: 1 };
  if (status !== 0) throw new BenchError("A slower disk needs Linux and gcc: apt-get install gcc libc6-dev.");
  return { LD_PRELOAD: library, HOOKLINE_BENCH_SYNC_MS: String(ms) };
}
