import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { root } from "../docs/pages.ts";
import { testWith } from "../docs/sandbox.ts";

/** Of 10, where 10 is no protection at all. */
const MOST_EXPOSED = 2.5;

const systemd = testWith("systemd-analyze");

systemd.test(`the unit: systemd knows all that it says, and it is little exposed${systemd.why}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-unit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const unit = join(folder, "webhooks.service");
  const text = readFileSync(join(root, "deploy/systemd/hookline.service"), "utf8");
  writeFileSync(unit, text.replaceAll("/usr/bin/node", process.execPath));
  const analyze = (...args: readonly string[]): string =>
    execFileSync("bash", ["-c", 'systemd-analyze "$@" 2>&1', "bash", ...args, unit], { encoding: "utf8" });
  expect(analyze("verify", "--man=no")).toBe("");
  const [, exposure] =
    /exposure level for \S+: ([\d.]+)/.exec(analyze("security", "--offline=true", "--no-pager")) ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(MOST_EXPOSED);
});
