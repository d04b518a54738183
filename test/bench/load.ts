import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** The result of wrk. */
export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly p99Ms: number;
  /** Answers with another status than 200. */
  readonly others: number;
  /** Requests without an answer. */
  readonly failed: number;
}

export interface LoadOptions {
  readonly port: number;
  /** Of wrk, in Lua. */
  readonly script: string;
  readonly seconds: number;
  /** @default 64 */
  readonly connections?: number | undefined;
  /** Pins wrk to this core. */
  readonly core: number | undefined;
}

const CONNECTIONS = 64;

/** Runs wrk for some seconds. @throws Error unless every request was answered 200 */
export async function runLoad({ port, script, seconds, connections, core }: LoadOptions): Promise<Load> {
  const wrk = [
    "wrk",
    "-t1",
    `-c${connections ?? CONNECTIONS}`,
    "-d600s",
    "--timeout",
    "20s",
    "-s",
    script,
    `http://127.0.0.1:${port}`,
  ];
  const [command = "", ...args] = core === undefined ? wrk : ["taskset", "-c", String(core), ...wrk];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const output = text(child.stdout);
  const ended = once(child, "close");
  // The script prints a line when it has read its requests. wrk takes whole seconds only, but SIGINT ends it regularly.
  await Promise.race([once(child.stderr, "data"), ended]);
  await sleep(seconds * 1_000);
  child.kill("SIGINT");
  await ended;
  const load = readLoad(await output);
  const { requests, others, failed } = load;
  if (requests === 0 || others > 0 || failed > 0)
    throw new Error(`of ${requests} requests ${others} were not answered 200, and ${failed} not at all`);
  return load;
}

/** Parses the last line, which the script prints at the end. @throws Error with the output if there is none */
export function readLoad(output: string): Load {
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  if (!line.startsWith("{")) throw new Error(`wrk did not end well: ${output.slice(-2_000)}`);
  return JSON.parse(line) as Load;
}
