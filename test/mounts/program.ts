import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** A process of another runtime. */
export interface Program {
  /** Resolves with the first match in the output, past or future. Rejects if the process ends without one. */
  says(pattern: RegExp): Promise<string>;
  /** Kills it. */
  end(): Promise<void>;
}

interface How {
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Opens another pipe as file descriptor 3. */
  readonly third?: boolean | undefined;
}

const root = join(import.meta.dirname, "../..");

/** Starts a process in the root of the repository, without colours and without the environment of the tests. */
export function startProgram(command: string, args: readonly string[], { env = {}, third = false }: How = {}): Program {
  const child: ChildProcess = spawn(command, args, {
    cwd: root,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe", third ? "pipe" : "ignore"],
  });
  let text = "";
  const waiting = new Set<() => void>();
  for (const stream of child.stdio.slice(1))
    stream?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      for (const look of waiting) look();
    });
  const ended = once(child, "close");
  return {
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = text.match(pattern);
          if (found === null) return;
          waiting.delete(look);
          resolve(found[1] ?? found[0]);
        };
        waiting.add(look);
        look();
        void ended.then(() => reject(new Error(`${command} ended without ${pattern}:\n${text}`)));
      }),
    async end() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
