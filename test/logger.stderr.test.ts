import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";

const PROCESS = "test/logging-process.ts";

/** @returns its exit code, and what it printed */
async function loggingTo(file: string, env: Readonly<Record<string, string>> = {}) {
  const stderr = openSync(file, "a");
  const child = spawn(process.execPath, ["--conditions=hookline-source", PROCESS], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", stderr],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  closeSync(stderr);
  const [[code], out] = await Promise.all([once(child, "close"), text(child.stdout as Readable)]);
  return { code, out };
}

test("a log on a full disk ends no process, and holds up no end", async () => {
  expect(await loggingTo("/dev/full")).toEqual({ code: 0, out: "alive\n" });
});

test("a log goes on when there is room again, from where it stopped, without what was too much to keep", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "log");
  expect(await loggingTo(file, { MADE_ROOM: "1" })).toMatchObject({ code: 0 });
  const lines = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { line?: number; msg: string });
  const stored = lines.slice(0, -1);
  expect(stored.map(({ line }) => line)).toEqual(stored.map((_, index) => index));
  expect(stored.length).toBeGreaterThan(800);
  expect(stored.length).toBeLessThan(1_049);
  expect(lines.at(-1)?.msg).toBe("at the end");
});

describe("a log that goes through a pipe", () => {
  async function loggingToPipe(reads: (stderr: Readable) => unknown) {
    const child = spawn(process.execPath, ["--conditions=hookline-source", PROCESS], {
      env: { ...process.env, LINES: "500" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    reads(child.stderr);
    const [[code], out] = await Promise.all([once(child, "exit"), text(child.stdout)]);
    return { code, out };
  }

  test("has all that is read", async () => {
    let read: Promise<string> | undefined;
    expect(await loggingToPipe((stderr) => (read = text(stderr)))).toEqual({ code: 0, out: "alive\n" });
    const lines = (await read)?.trim().split("\n") ?? [];
    expect(lines.length).toBe(501);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ msg: "at the end" });
  });

  test("keeps no process from ending when nobody reads it", async () => {
    const program = `import { toLogger } from "./src/logger.ts";
      const log = toLogger(undefined);
      for (let line = 0; line < 100; line += 1) log.warn({ text: "x".repeat(30_000) }, "a line");
      await new Promise((resolve) => setImmediate(resolve));
      process.exit(7);`;
    const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", program]);
    onTestFinished(() => void child.kill("SIGKILL"));
    expect(await once(child, "exit")).toEqual([7, null]);
  });

  test("ends no process when what read it has gone", async () => {
    expect(await loggingToPipe((stderr) => stderr.destroy())).toEqual({ code: 0, out: "alive\n" });
  });
});
