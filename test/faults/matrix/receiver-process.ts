import { spawn } from "node:child_process";
import { join } from "node:path";
import type { SqliteInboxOptions } from "../../../adapters/inbox/sqlite.ts";
import { eventually } from "../../support/eventually.ts";
import { send } from "../../support/http.ts";

/** Options of a receiver process. */
export interface ReceiverProcessOptions {
  readonly file: string;
  readonly journal: string;
  readonly secret: string;
  readonly instance: string;
  /** False: it never calls `start()`. */
  readonly works: boolean;
  readonly concurrency?: number;
  readonly timeoutMs?: number;
  readonly graceMs?: number;
  readonly drainMs?: number;
  readonly storeTimeoutMs?: number;
  readonly inbox?: SqliteInboxOptions;
  /** Its commit thread can be killed: see `/control/fault`. */
  readonly faulty?: boolean;
}

/** A child process with a receiver. */
export interface ReceiverProcess {
  readonly instance: string;
  /** It called `start()`. */
  readonly works: boolean;
  /** Undefined before it listens and after it ended. */
  port(): number | undefined;
  isWorker(): boolean;
  out(): string;
  err(): string;
  alive(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Resolves when its stdout matches. */
  prints(pattern: RegExp): Promise<RegExpMatchArray>;
  ask(path?: string): Promise<ProcessState>;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Health and counters of a process. */
interface ProcessState {
  readonly health: { readonly waiting: number; readonly dead: number; readonly ready: boolean; readonly live: boolean };
  readonly stats: {
    readonly role: string;
    readonly duplicates: number;
    readonly answered: Record<string, number>;
    /** By code. */
    readonly refused: Record<string, number>;
  };
  readonly rss: number;
}

const PROGRAM = join(import.meta.dirname, "receiver-program.ts");

/** @param command the executable and its first arguments */
export function startReceiverProcess(
  options: ReceiverProcessOptions,
  [command = "", ...before]: readonly string[],
  env: Readonly<Record<string, string>>,
): ReceiverProcess {
  const args = [...before, "--conditions=hookline-source", PROGRAM, JSON.stringify(options)];
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.err = (texts.err + text).slice(-20_000)));
  let alive = true;
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once("exit", () => (alive = false));
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  const receiverProcess: ReceiverProcess = {
    instance: options.instance,
    works: options.works,
    port: () => (alive ? Number(/^ready (\d+)/m.exec(texts.out)?.[1]) || undefined : undefined),
    isWorker: () => alive && /^works$/m.test(texts.out),
    out: () => texts.out,
    err: () => texts.err,
    alive: () => alive,
    signal: (signal) => void child.kill(signal),
    prints: (pattern) =>
      eventually(() => {
        const found = pattern.exec(texts.out);
        if (found === null) throw new Error(`It did not print ${pattern}:\n${texts.out}\n${texts.err}`);
        return found;
      }),
    async ask(path = "/control/state") {
      await receiverProcess.prints(/^ready/m);
      const { body } = await send(`http://127.0.0.1:${receiverProcess.port() ?? 0}${path}`, { method: "GET" });
      return JSON.parse(body) as ProcessState;
    },
    ended,
  };
  return receiverProcess;
}
