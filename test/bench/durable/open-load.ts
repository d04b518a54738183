import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** The result of a load that was offered at a fixed rate. */
export interface OpenLoad {
  readonly perSecond: number;
  readonly offered: number;
  /** Requests for which every connection was busy: they were not sent. */
  readonly unsent: number;
  /** From the time when a request was due to its answer. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface OpenLoadOptions {
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Pins the client to this core. */
  readonly core: number | undefined;
}

const CLIENT = fileURLToPath(new URL("open-load-client.ts", import.meta.url));

/**
 * Offers requests at a fixed rate, whatever the answers do. wrk sends the next request after an answer, so that a slow answer
 * hides the requests that should have been sent meanwhile.
 * @throws Error if an answer is not 200
 */
export async function offerLoad({ port, perSecond, seconds, core }: OpenLoadOptions): Promise<OpenLoad> {
  const node = [process.execPath, CLIENT, ...[port, perSecond, seconds].map(String)];
  const [command = "", ...args] = core === undefined ? node : ["taskset", "-c", String(core), ...node];
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let result: OpenLoad | undefined;
  child.on("message", (message) => {
    result = message as OpenLoad;
  });
  let stderr = "";
  child.stderr?.on("data", (text: Buffer) => (stderr += text.toString()));
  await once(child, "close");
  if (result === undefined) throw new Error(`the client at a fixed rate failed: ${stderr.slice(-2_000)}`);
  return result;
}
