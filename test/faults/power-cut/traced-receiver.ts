import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { startNode, type Child } from "../../cli/child.ts";
import { send } from "../../support/http.ts";
import { signedHeaders } from "../../support/sign.ts";
import { deliveryOf, SECRET } from "./deliveries.ts";
import type { TraceWriter } from "./trace.ts";

/** A preloaded library that records a process's disk calls, compiled for this machine. */
export interface Tracer {
  readonly library: string;
  remove(): void;
}

/** @throws Error that names what this machine lacks */
export function compileTracer(): Tracer {
  if (process.platform !== "linux")
    throw new Error(`Power cuts are NOT TESTED here: they need Linux (LD_PRELOAD), and this is ${process.platform}.`);
  const folder = mkdtempSync(join(tmpdir(), "hookline-tracer-"));
  const library = join(folder, "trace.so");
  const source = join(import.meta.dirname, "trace.c");
  for (const compiler of ["cc", "gcc", "clang"]) {
    try {
      execFileSync(compiler, ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, source, "-ldl", "-lpthread"], {
        stdio: "pipe",
      });
      return { library, remove: () => rmSync(folder, { recursive: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  throw new Error(
    "Power cuts are NOT TESTED here: they need a C compiler, and there is no cc, gcc or clang. Debian: apt-get install gcc libc6-dev",
  );
}

/** A receiver in a child process, with the tracer in it. */
export interface TracedReceiver {
  readonly url: string;
  readonly child: Child;
  /** @throws Error when it does not answer 200 */
  ask(path: string): Promise<void>;
}

export interface TracedOptions {
  /** The compiled tracer, for LD_PRELOAD. */
  readonly library: string;
  /** The inbox. */
  readonly file: string;
  readonly trace: string;
  /** Overrides, as `override-pragmas.ts` takes them. */
  readonly pragmas?: string;
  readonly keepDoneDays?: number;
}

export async function startTraced({
  library,
  file,
  trace,
  pragmas = "",
  keepDoneDays = 7,
}: TracedOptions): Promise<TracedReceiver> {
  const child = startNode(
    [
      "--import=./test/faults/power-cut/override-pragmas.ts",
      "test/faults/power-cut/receiver-program.ts",
      file,
      trace,
      String(keepDoneDays),
    ],
    { LD_PRELOAD: library, HOOKLINE_TRACE_FILES: file, HOOKLINE_TRACE: trace, HOOKLINE_PRAGMAS: pragmas },
  );
  const [, port] = await child.says("out", /port (\d+)\n/);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    child,
    async ask(path) {
      expect(await send(`${url}${path}`)).toMatchObject({ status: 200 });
    },
  };
}

/** Numbers of deliveries, shared by all senders. */
export type Numbers = Iterator<number>;

/** Sends over several connections until there are no more numbers or the receiver is gone, and marks acknowledged deliveries. */
export async function sendAll(url: string, numbers: Numbers, writer: TraceWriter): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  async function line(): Promise<void> {
    for (let next = numbers.next(); next.done !== true; next = numbers.next()) {
      const { name, body } = deliveryOf(next.value);
      try {
        const { status } = await send(url, { body, headers: signedHeaders(body, { secret: SECRET }), agent });
        if (status === 200) writer.mark("acknowledged", name);
      } catch {
        return; // killed
      }
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, line));
  agent.destroy();
}

const CONNECTIONS = 8;

export function* numbersBetween(
  from: number,
  to: number,
  only: (number: number) => boolean = () => true,
): Generator<number> {
  for (let number = from; number < to; number += 1) if (only(number)) yield number;
}

/** Kills the receiver at its next disk call, or after 5 s without one. */
export async function killAtNextRecord({ child }: TracedReceiver): Promise<void> {
  child.kill("SIGUSR2");
  const idle = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await child.ended;
  clearTimeout(idle);
}
