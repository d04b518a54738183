import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { newDatabase } from "../../support/postgres.ts";

test("a process whose handler never ends ends by itself after the close", async () => {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  const program = join(import.meta.dirname, "stuck-handler-process.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--conditions=hookline-source",
    program,
    connectionString,
  ]);
  expect(stdout).toContain("stuck: 1");
});
