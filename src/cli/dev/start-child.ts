import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import { CommandError, EXIT } from "../command.ts";

/** A program that runs beside this one. */
export interface Child {
  /** Its exit code; 128 and the signal's number where a signal ended it. @throws CommandError where it could not be started */
  readonly exited: Promise<number>;
  /** Ends it and what it started; resolves when all are gone. */
  stop(): Promise<void>;
  /** The same without waiting. */
  kill(): void;
}

interface ChildOptions {
  /** A text is a command line for the shell. */
  readonly command: string | readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called with each line that it prints on stdout or stderr. */
  readonly onLine: (line: string) => void;
}

/** Starts one in the environment of this run. */
export type Start = (command: ChildOptions["command"], onLine: ChildOptions["onLine"]) => Child;

/** How long it may take to end by itself. */
const STOP_LIMIT_MS = 5_000;

/** Starts a program in a group of its own, so that all of it can be ended: a shell, and what the shell started. */
export function startChild({ command, cwd, env, onLine }: ChildOptions): Child {
  const [file = "", ...args] = [command].flat();
  const child = spawn(file, args, {
    cwd,
    env,
    shell: typeof command === "string",
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", onLine);
  const exited = once(child, "exit").then(
    ([code, signal]: (number | NodeJS.Signals | null)[]) =>
      (code as number | null) ?? 128 + constants.signals[signal as NodeJS.Signals],
    (error: NodeJS.ErrnoException) => {
      const why = error.code === "ENOENT" ? "there is no such program" : error.message;
      throw new CommandError(EXIT.failed, `${file} cannot be started: ${why}.`, { cause: error });
    },
  );
  // All that it started has closed its output.
  const closed = new Promise((resolve) => child.once("close", resolve));
  const signalAll = (signal: NodeJS.Signals): void => {
    try {
      // A negative number stands for the group.
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It has ended.
    }
  };
  return {
    exited,
    async stop() {
      signalAll("SIGTERM");
      const timer = setTimeout(() => signalAll("SIGKILL"), STOP_LIMIT_MS);
      await closed;
      clearTimeout(timer);
    },
    kill: () => signalAll("SIGKILL"),
  };
}
