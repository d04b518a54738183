import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Contender } from "./contenders.ts";
import { slowSyncs } from "./external-tools.ts";
import type { Usage } from "./servers/serve.ts";

/** A contender's server, in a child process. */
export interface Server {
  readonly port: number;
  usage(): Promise<Usage>;
  /** Stops the process until `resume`, so that its work behind the answers does not slow down another server. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** A slower start has failed. */
const START_MS = 50_000;

export interface ServerOptions {
  /** Pins the server to it. */
  readonly core?: number | undefined;
  /** Additional time of an fsync, milliseconds. @default 0 */
  readonly syncMs?: number | undefined;
  /** Of the database or queue behind it. */
  readonly connection?: string | undefined;
}

export async function startServer(
  { name, server }: Contender,
  { core, syncMs, connection }: ServerOptions = {},
): Promise<Server> {
  const [file, ...args] = server;
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const env = {
    ...process.env,
    HOOKLINE_BENCH_FOLDER: folder,
    ...(syncMs === undefined ? {} : slowSyncs(syncMs, folder)),
    ...(connection === undefined ? {} : { HOOKLINE_BENCH_CONNECTION: connection }),
  };
  const node = [process.execPath, fileURLToPath(new URL(`servers/${file}`, import.meta.url)), ...args];
  const [command = "", ...rest] = core === undefined ? node : ["taskset", "-c", String(core), ...node];
  const child = spawn(command, rest, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (text: Buffer) => (output += text.toString()));
  const ended = once(child, "exit");

  async function nextMessage<T>(): Promise<T> {
    const [message] = (await Promise.race([
      once(child, "message", { signal: AbortSignal.timeout(START_MS) }),
      ended.then(([code]) => {
        throw new Error(`the server ended with ${String(code)}: ${output.slice(-2_000)}`);
      }),
    ])) as [T];
    return message;
  }

  async function stop(): Promise<void> {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }

  try {
    const { port } = await nextMessage<{ readonly port: number }>();
    return {
      port,
      usage() {
        const answer = nextMessage<Usage>();
        child.send("usage");
        return answer;
      },
      pause: () => void child.kill("SIGSTOP"),
      resume: () => void child.kill("SIGCONT"),
      stop,
    };
  } catch (cause) {
    await stop();
    throw new Error(`${name} did not start: ${(cause as Error).message}`, { cause });
  }
}
