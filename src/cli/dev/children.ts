import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT, type Io } from "../command.ts";

/** Programs that run beside this one. */
export interface Children {
  /**
   * Starts a program, or a command line of the shell. Resolves with its exit code; 128 and the signal's number where a signal ended it.
   *
   * @param onLine called with each line that it prints on stdout or stderr
   * @throws CommandError where it could not be started
   */
  start(command: string | readonly string[], onLine: (line: string) => void): Promise<number>;
  /** Ends all, and what they started; resolves when they are gone. */
  stop(): Promise<void>;
  /** The same at once, without waiting. */
  kill(): void;
}

/** How long they may take to end by themselves. */
const STOP_LIMIT_MS = 5_000;
/** How long the last lines of one that has ended may take: what it started may hold its output open. */
const LAST_LINES_MS = 1_000;

export function createChildren({ cwd, env }: Pick<Io, "cwd" | "env">): Children {
  const pids: number[] = [];
  const closed: Promise<unknown>[] = [];

  function signalAll(signal: NodeJS.Signals): void {
    for (const pid of pids) {
      try {
        // A negative number stands for the group: a shell, and what the shell started.
        process.kill(-pid, signal);
      } catch {
        // It has ended.
      }
    }
  }

  return {
    async start(command, onLine) {
      const [file = "", ...args] = [command].flat();
      const shell = typeof command === "string";
      const child = spawn(file, args, { cwd, env, shell, detached: true, stdio: ["ignore", "pipe", "pipe"] });
      for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", onLine);
      // Then all that it started has closed its output, too.
      const close = new Promise((resolve) => child.once("close", resolve));
      closed.push(close);
      if (child.pid !== undefined) pids.push(child.pid);
      try {
        const [code, signal] = (await once(child, "exit")) as [number, null] | [null, NodeJS.Signals];
        await Promise.race([close, sleep(LAST_LINES_MS, undefined, { ref: false })]);
        return code ?? 128 + constants.signals[signal];
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException;
        const why = code === "ENOENT" ? "there is no such program" : message;
        throw new CommandError(EXIT.failed, `${file} cannot be started: ${why}.`, { cause: error });
      }
    },
    async stop() {
      signalAll("SIGTERM");
      const timer = setTimeout(() => signalAll("SIGKILL"), STOP_LIMIT_MS);
      await Promise.all(closed);
      clearTimeout(timer);
    },
    kill: () => signalAll("SIGKILL"),
  };
}
