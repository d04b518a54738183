import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { startNode } from "./cli/child.ts";

const PROCESS = "test/logging-process.ts";

test("a log on a full disk ends no process, and holds up no end", async () => {
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, ["--conditions=hookline-source", PROCESS], { stdio: ["ignore", "pipe", full] });
  onTestFinished(() => void child.kill("SIGKILL"));
  closeSync(full);
  const [[code], out] = await Promise.all([once(child, "close"), text(child.stdout as Readable)]);
  expect(out).toBe("alive\n");
  expect(code).toBe(0);
});

test("a log goes on when there is room again, from where it stopped, without what was too much to keep", async () => {
  const child = startNode([PROCESS], { MADE_ROOM: "1" });
  expect(await child.ended).toBe(0);
  const lines = child
    .err()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { line?: number; msg: string });
  const stored = lines.slice(0, -1);
  expect(stored.map(({ line }) => line)).toEqual(stored.map((_, index) => index));
  expect(stored.length).toBeGreaterThan(800);
  expect(stored.length).toBeLessThan(1_049);
  expect(lines.at(-1)?.msg).toBe("at the end");
});
