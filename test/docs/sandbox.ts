import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "vitest";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { root } from "./pages.ts";

export interface Sandbox {
  /** The path in the sandbox that stands for one of the machine. */
  path(real: string): string;
  /**
   * Runs lines in a shell that all calls share, as if typed. Resolves with what each printed: stdout, and after it stderr.
   *
   * @throws Error at the first that fails
   */
  run(lines: readonly string[]): Promise<readonly string[]>;
  /** Runs one that may fail. */
  tryRun(line: string): Promise<{ readonly code: number; readonly printed: string }>;
  /** What was asked of the commands that need root or systemd, a line each. */
  asked(): readonly string[];
}

export interface Sandboxes {
  /** A new one, whose shell starts in /var/lib/webhooks. */
  open(env?: Readonly<Record<string, string>>): Sandbox;
  /** Ends the shells. */
  close(): void;
}

/** Commands that need root, or a machine that systemd has started. */
const STAND_INS: Readonly<Record<string, string>> = {
  systemctl: "",
  useradd: "",
  docker: "",
  journalctl: 'cat "$JOURNAL"',
  // Only root may give a file away; the rest is done.
  install: 'while [ "$1" = -o ] || [ "$1" = -g ]; do shift 2; done; command -p install "$@"',
};

/** Machines in small: pages name absolute paths, which become paths in a folder. */
export function openSandboxes(): Sandboxes {
  let made: string | undefined; // not before a test needs it: where all are filtered out, no hook cleans up
  const shells: ReturnType<typeof spawn>[] = [];
  return {
    open(env = {}) {
      const all = (made ??= makeFolder());
      const bin = join(all, "bin");
      const folder = mkdtempSync(join(all, "machine-"));
      const path = (real: string): string => join(folder, real);
      for (const real of [
        "/var/lib/webhooks",
        "/var/backups",
        "/srv/webhooks",
        "/mnt/data/webhooks",
        "/etc/systemd/system",
      ])
        mkdirSync(path(real), { recursive: true });
      const files = { ASKED: path("/asked"), JOURNAL: path("/journal") };
      const shell = spawn("bash", ["--norc"], {
        cwd: path("/var/lib/webhooks"),
        env: {
          PATH: `${bin}:${process.env["PATH"]}`,
          HOME: folder,
          npm_config_update_notifier: "false",
          ...COMPILE_CACHE,
          ...files,
          ...env,
        },
        // What it prints itself, such as a syntax error, ends up in the report of the test run.
        stdio: ["pipe", "pipe", "inherit"],
        // A group of its own: what a failed test left in the background ends with it.
        detached: true,
      });
      shells.push(shell);
      shell.stdin.write("set -o pipefail\n");
      const codes = createInterface(shell.stdout);
      const ended = once(codes, "close").then(() => Promise.reject(new Error("The shell ended.")));
      ended.catch(() => {});
      const tryRun = async (line: string) => {
        const mapped = line.replaceAll(
          /(?<![\w.])\/(?:var\/(?:lib|backups)|srv|mnt\/data|etc\/systemd\/system)\b/g,
          (real) => path(real),
        );
        shell.stdin.write(`{ ${mapped}\n} </dev/null >"${path("/out")}" 2>"${path("/err")}"; echo $?\n`);
        const [code] = (await Promise.race([once(codes, "line"), ended])) as [string];
        const printed = [path("/out"), path("/err")].map((file) => readFileSync(file, "utf8")).join("");
        return { code: Number(code), printed };
      };
      return {
        path,
        async run(lines) {
          const texts: string[] = [];
          for (const line of lines) {
            const { code, printed } = await tryRun(line);
            if (code !== 0) throw new Error(`\`${line}\` ended with ${code}:\n${printed}`);
            texts.push(printed);
          }
          return texts;
        },
        tryRun,
        asked: () => (existsSync(files.ASKED) ? readFileSync(files.ASKED, "utf8").trim().split("\n") : []),
      };
    },
    close() {
      for (const { pid, exitCode } of shells) if (pid !== undefined && exitCode === null) process.kill(-pid, "SIGKILL");
      if (made !== undefined) rmSync(made, { recursive: true, force: true });
    },
  };
}

/** With the commands that pages find in another way than here. */
function makeFolder(): string {
  const all = mkdtempSync(join(fastTmpdir(), "hookline-pages-"));
  const bin = join(all, "bin");
  mkdirSync(bin);
  const addScript = (name: string, text: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  for (const [name, text] of Object.entries(STAND_INS)) addScript(name, `echo "${name} $*" >>"$ASKED"\n${text}`);
  const cli = `"${process.execPath}" --conditions=hookline-source "${root}/src/cli/main.ts"`;
  addScript("npx", `[ "$1" = hookline ] || exit 127\nshift\nexec ${cli} "$@"`);
  return all;
}

/** Whether this machine has a command. */
export function has(name: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${name}`]).status === 0;
}

/** A test that is skipped, with the reason at the end of its name, on a machine without these commands. */
export function testWith(...names: readonly string[]) {
  const absent = names.filter((name) => !has(name));
  return absent.length === 0
    ? { test: test.concurrent, why: "" }
    : { test: test.skip, why: ` (not here: ${absent.join(", ")})` };
}
