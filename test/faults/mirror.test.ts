import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startNode } from "../cli/child.ts";
import { report, rounds } from "./matrix/rounds.ts";

/** With so many kills it takes minutes. */
const TIMEOUT_MS = 1_800_000;

test("the mirror of a mailbox equals it after kills and outages", { timeout: TIMEOUT_MS }, async () => {
  const [, ...args] = manifest.scripts["example:mirror"].split(" ");
  const [kills, outages] = [rounds(200), rounds(50)];
  const mirror = startNode(args, { KILLS: String(kills), OUTAGES: String(outages) });
  expect(await mirror.ended, mirror.out() + mirror.err()).toBe(0);
  report("mirror", { kills, outages, result: mirror.out().match(/\d+ changes.*/)?.[0] });
});
