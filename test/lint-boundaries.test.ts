import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { whyNot } from "../lint/boundaries-plugin.ts";

const repository = fileURLToPath(new URL("..", import.meta.url));

describe("the linter, with the repository's own configuration", () => {
  test("reports a forbidden import with the sentence that teaches, in whatever form it is written", () => {
    const reports = lint("adapters/http/koa.ts", [
      `import { toEnvelope } from "../../src/protocol/envelope.ts";`,
      `export * from "../../src/ingest/types.ts";`,
      `export type Port = import("../../src/inbox/port/inbox.ts").Port;`,
      `export const late = (): unknown => import("koa");`,
      `export const read = toEnvelope;`,
    ]);
    const why =
      "Adapters import only the two public entry points, like one outside this repository: export it from src/index.ts or src/adapter.ts. Describe a framework by a structural XLike type.";
    expect(reports).toEqual([
      `adapters/http/koa.ts may not import src/protocol/envelope.ts. ${why}`,
      `adapters/http/koa.ts may not import src/ingest/types.ts. ${why}`,
      `adapters/http/koa.ts may not import src/inbox/port/inbox.ts. ${why}`,
      `adapters/http/koa.ts may not import npm:koa. ${why}`,
    ]);
  });

  test("says nothing about an allowed import", () => {
    const reports = lint("adapters/http/koa.ts", [
      `import { once } from "node:events";`,
      `import getRawBody from "raw-body";`,
      `import { createReceiver } from "../../src/index.ts";`,
      `import { readBody } from "./body-limits.ts";`,
      `export const all = [once, getRawBody, createReceiver, readBody];`,
    ]);
    expect(reports).toEqual([]);
  });
});

describe("the table of import boundaries", () => {
  test.each([
    ["src/protocol/envelope.ts", "../ingest/types.ts"],
    ["src/protocol/envelope.ts", "../logger.ts"],
    ["src/protocol/envelope.ts", "node:fs"],
    ["src/ingest/store.ts", "../dispatch/expand.ts"],
    ["src/ingest/store.ts", "../inbox/memory/memory-inbox.ts"],
    ["src/ingest/store.ts", "node:http"],
    ["src/dispatch/run.ts", "../ingest/receive.ts"],
    ["src/inbox/memory/memory-inbox.ts", "../../dispatch/expand.ts"],
    ["src/inbox/memory/memory-inbox.ts", "p-queue"],
    ["src/inbox/memory/memory-inbox.ts", "../../receiver/create-receiver.ts"],
    ["src/dispatch/run.ts", "../index.ts"],
    ["src/observe/counters.ts", "../dispatch/calls/run-job.ts"],
    ["src/receiver/create-receiver.ts", "../../adapters/http/node.ts"],
    ["src/receiver/create-receiver.ts", "express"],
    ["src/adapter.ts", "./dispatch/dispatcher.ts"],
    ["src/signature.ts", "./inbox/port/inbox.ts"],
    ["src/index.ts", "../adapters/http/node.ts"],
    ["src/cli/main.ts", "../protocol/signature.ts"],
    ["adapters/http/node.ts", "hookline/koa"],
    ["examples/tour.ts", "../src/index.ts"],
  ])("%s may not import %s", (file, specifier) => {
    expect(whyNot(file, specifier)).toMatch(/ may not import \S+\. [A-Z].+\.$/);
  });

  test.each([
    ["src/protocol/envelope.ts", "zod/mini"],
    ["src/protocol/resources/email.ts", "../event-names.ts"],
    ["src/ingest/store.ts", "../inbox/port/inbox.ts"],
    ["src/ingest/verify-signature.ts", "node:crypto"],
    ["src/dispatch/dispatcher.ts", "p-queue"],
    ["src/inbox/memory/memory-inbox.ts", "../../clock.ts"],
    ["src/receiver/create-receiver.ts", "../dispatch/dispatcher.ts"],
    ["src/logger.ts", "pino"],
    ["src/logger.ts", "./clock.ts"],
    ["src/cli/main.ts", "../../adapters/http/node.ts"],
    ["src/cli/main.ts", "../index.ts"],
    ["examples/tour.ts", "hookline/node"],
    ["test/flow/stored.test.ts", "../../src/inbox/memory/memory-inbox.ts"],
  ])("%s may import %s", (file, specifier) => {
    expect(whyNot(file, specifier)).toBeUndefined();
  });

  test("asks for a row when a file belongs to no module", () => {
    expect(whyNot("src/cellar/wine.ts", "node:fs")).toBe(
      "src/cellar/wine.ts belongs to no module. Add a row for its folder to lint/import-boundaries.ts, or move the file.",
    );
  });
});

/** What `boundaries/imports` says about a file of these lines, standing at `path` in a repository of its own. */
function lint(path: string, lines: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), "hookline-boundaries-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${lines.join("\n")}\n`);

  const oxlint = join(repository, "node_modules/oxlint/bin/oxlint");
  const args = [oxlint, "-c", join(repository, "oxlint.config.ts"), "--format", "json", "."];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  if (!stdout.startsWith("{")) throw new Error(`oxlint gave no JSON:\n${stdout}${stderr}`);
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: readonly { code: string; message: string }[] };
  return diagnostics.filter(({ code }) => code === "boundaries(imports)").map(({ message }) => message);
}
