import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BenchError } from "./arguments.ts";

/** Whether a command can be started. */
export function isInstalled(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).error === undefined;
}

/** @throws BenchError with how to install it */
export function assertWrk(): void {
  if (isInstalled("wrk", ["--version"])) return;
  throw new BenchError("wrk, which sends the requests, is missing: apt-get install wrk (macOS: brew install wrk).");
}

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Whether the packages of the bench's own package.json are installed. */
export function hasPeers(): boolean {
  return existsSync(`${FOLDER}node_modules/.package-lock.json`);
}

/** @throws BenchError with how to continue without them */
export function installPeers(log: (line: string) => void): void {
  if (hasPeers()) return;
  log("Installing the peers: npm ci in test/bench (once, 35 MB).");
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: FOLDER,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0)
    throw new BenchError(
      "The peers could not be installed: run npm ci in test/bench, or choose contenders without peers, such as --only node,express,koa.",
    );
}

/** The environment that makes a process's disk slower. @throws BenchError without gcc or LD_PRELOAD */
export function slowSyncs(ms: number, folder: string): Readonly<Record<string, string>> {
  const library = join(folder, "slow-sync.so");
  const args = ["-shared", "-fPIC", "-O2", "-o", library, join(FOLDER, "servers/slow-sync.c"), "-ldl"];
  const { status } = process.platform === "linux" ? spawnSync("gcc", args, { stdio: "ignore" }) : { status: 1 };
  if (status !== 0) throw new BenchError("A slower disk needs Linux and gcc: apt-get install gcc libc6-dev.");
  return { LD_PRELOAD: library, HOOKLINE_BENCH_SYNC_MS: String(ms) };
}
