import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startNode } from "../cli/child.ts";

test("the mirror equals the mailbox after 5 kills and 2 outages", { timeout: 180_000 }, async () => {
  const [, ...args] = manifest.scripts["example:mirror"].split(" ");
  const mirror = startNode(args, { KILLS: "5", OUTAGES: "2" });
  expect(await mirror.ended, mirror.out() + mirror.err()).toBe(0);
  expect(mirror.out()).toMatch(/^5 kills, 2 outages, \d+ changes: the mirror equals the mailbox/m);
});

test("the app has some 40 lines of its own", () => {
  const app = readFileSync(join(import.meta.dirname, "../../examples/mail-mirror/app.ts"), "utf8");
  const own = app.split("\n").filter((line) => line.trim() !== "" && !/^(?:\/\/|import )/.test(line));
  expect(own.length).toBeLessThan(45);
});
