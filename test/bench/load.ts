import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** What wrk saw. */
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
  /** wrk is held to it, where given. */
  readonly core: number | undefined;
}

export const CONNECTIONS = 64;

/** Sends as much as is answered, for a while. */
export async function runLoad({ port, script, seconds, connections, core }: LoadOptions): Promise<Load> {
  const wrk = ["wrk", "-t1", `-c${connections ?? CONNECTIONS}`, "-d600s", "-s", script, `http://127.0.0.1:${port}`];
  const [command = "", ...args] = core === undefined ? wrk : ["taskset", "-c", String(core), ...wrk];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  const output = text(child.stdout);
  const ended = once(child, "close");
  // The script says when its requests are read. wrk itself takes whole seconds only, but an interrupt is a regular end.
  await Promise.race([once(child.stderr, "data"), ended]);
  await sleep(seconds * 1_000);
  child.kill("SIGINT");
  await ended;
  return readLoad(await output);
}

/** What the script prints when wrk is done: the last line. @throws Error with the output that has no such line */
export function readLoad(output: string): Load {
  const line = output.trimEnd().split("\n").at(-1) ?? "";
  if (!line.startsWith("{")) throw new Error(`wrk did not end well: ${output.slice(-2_000)}`);
  return JSON.parse(line) as Load;
}
