import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "../postgres/free-port.ts";
import { guard } from "../postgres/guard.ts";

/** A server of a queue, on a port and with a folder of its own. It ends with the process that started it. */
export interface QueueServer {
  readonly port: number;
  kill(): Promise<void>;
  /** On the same folder and port. */
  start(): Promise<void>;
  remove(): Promise<void>;
}

/** How to run it. */
interface ServerProgram {
  /** As it is called in the path. */
  readonly name: string;
  readonly arguments: (port: number, folder: string) => readonly string[];
}

function findProgram(name: string): string | undefined {
  return [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
}

/** For `describe.skipIf`: why tests with that server cannot run here. */
export function whyWithout(name: string): string | undefined {
  return findProgram(name) === undefined ? `skipped: ${name} is not installed` : undefined;
}

async function startServer({ name, arguments: given }: ServerProgram): Promise<QueueServer> {
  const program = findProgram(name);
  if (program === undefined) throw new Error(`${name} is not installed, expected it in the path.`);
  const folder = await mkdtemp(join(tmpdir(), `hookline-${name}-`));
  const guarded = guard([folder]);
  const port = await freePort();
  let server: ChildProcess | undefined;

  async function start(): Promise<void> {
    const log = join(folder, "log");
    const output = openSync(log, "a");
    const child = spawn(program!, given(port, folder), {
      cwd: folder,
      detached: true,
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    guarded.watch(child.pid);
    await once(child, "spawn");
    while (!(await listens(port))) {
      if (child.exitCode !== null)
        throw new Error(`${name} ended with ${child.exitCode}. ${await readFile(log, "utf8")}`);
      await setTimeout(10);
    }
    child.unref();
    server = child;
  }

  async function kill(): Promise<void> {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGKILL");
    await ended;
  }

  try {
    await start();
  } catch (error) {
    await guarded.release();
    throw error;
  }
  return { port, start, kill, remove: guarded.release };
}

/** Redis that writes each command to its disk before it answers. */
export function startRedis(): Promise<QueueServer> {
  return startServer({
    name: "redis-server",
    arguments: (port, folder) =>
      Object.entries({
        port: String(port),
        bind: "127.0.0.1",
        dir: folder,
        appendonly: "yes",
        appendfsync: "always",
        "maxmemory-policy": "noeviction",
        save: "",
      }).flatMap(([option, value]) => [`--${option}`, value]),
  });
}

/** A server of NATS with JetStream, whose store is in its folder. */
export function startNats(): Promise<QueueServer> {
  return startServer({
    name: "nats-server",
    arguments: (port, folder) => ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", join(folder, "store")],
  });
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false)).once("connect", () => socket.destroy());
  });
}
