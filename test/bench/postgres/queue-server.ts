import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isInstalled } from "../external-tools.ts";
import { freePort } from "../../support/postgres/free-port.ts";
import { startPostgres } from "../../support/postgres.ts";
import type { QueueContender } from "./queue.ts";

const REDIS = "redis-server";

/** A server for one contender, with a data folder of its own on the disk. */
export interface QueueServer {
  readonly connection: string;
  remove(): Promise<void>;
}

/** Why a contender cannot run here. */
export function whySkipped({ name, server }: QueueContender, hasPeers: boolean): string | undefined {
  if (name !== "hookline" && !hasPeers) return "the peers are not installed: run npm ci in test/bench";
  if (server === "redis" && !isInstalled(REDIS, ["--version"]))
    return "redis-server is missing: apt-get install redis-server";
  return undefined;
}

export async function startQueueServer(kind: QueueContender["server"]): Promise<QueueServer> {
  if (kind === "redis") return startRedis();
  // The settings are those of an installation. The test's default folder is in memory.
  const { connectionString, remove } = await startPostgres({ parent: tmpdir() });
  return { connection: connectionString, remove };
}

async function startRedis(): Promise<QueueServer> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-redis-"));
  const port = await freePort();
  const settings = { port, bind: "127.0.0.1", dir: folder, save: "", appendonly: "yes", appendfsync: "always" };
  const args = Object.entries({ ...settings, "maxmemory-policy": "noeviction" }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ]);
  const server = spawn(REDIS, args, { stdio: "ignore" });
  const ended = once(server, "close");
  const kill = () => server.kill("SIGKILL");
  process.once("exit", kill);
  while (!(await listens(port))) {
    if (server.exitCode !== null) throw new Error(`redis-server ended with ${server.exitCode}.`);
    await sleep(10);
  }
  return {
    connection: `redis://127.0.0.1:${port}`,
    async remove() {
      process.removeListener("exit", kill);
      server.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false)).once("connect", () => socket.destroy());
  });
}
