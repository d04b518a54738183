import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import { COMPILE_CACHE } from "../support/compile-cache.ts";

const root = join(import.meta.dirname, "../..");

export interface Child {
  readonly stdout: Readable;
  /** What was printed so far. */
  out(): string;
  err(): string;
  /** Resolves with what a pattern finds in one of the two, now or later. Rejects when the child ends without it. */
  says(where: "out" | "err", pattern: RegExp): Promise<RegExpMatchArray>;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code, when all that it printed has arrived. */
  readonly ended: Promise<number | null>;
}

/** The program as a process of its own, from its sources. It does not outlive the test. */
export function startCli(args: readonly string[], env: Readonly<Record<string, string>> = {}, stdin = ""): Child {
  return startNode(["src/cli/main.ts", ...args], env, stdin);
}

/** A TypeScript file of the repository as a process of its own, without the colours and the secret of whoever runs the tests. */
export function startNode(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin = "",
  cwd = root,
): Child {
  const child = spawn(process.execPath, ["--conditions=hookline-source", ...args], {
    cwd,
    env: { PATH: process.env["PATH"], ...COMPILE_CACHE, ...env },
    stdio: "pipe",
  });
  // One that does not read it closes it early.
  child.stdin.on("error", () => {}).end(stdin);
  onTestFinished(() => void child.kill("SIGKILL"));
  const texts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.err += text));
  const ended = once(child, "close").then(([code]) => code as number | null);
  return {
    stdout: child.stdout,
    out: () => texts.out,
    err: () => texts.err,
    says(where, pattern) {
      const stream = where === "out" ? child.stdout : child.stderr;
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = texts[where].match(pattern);
          if (found === null) return;
          stream.off("data", look);
          resolve(found);
        };
        stream.on("data", look);
        look();
        void ended.then((code) =>
          reject(new Error(`It ended with ${code}, without ${pattern}:\n${texts.out}${texts.err}`)),
        );
      });
    },
    kill: (signal) => void child.kill(signal),
    ended,
  };
}
