import { expect, test } from "vitest";
import { runChildren } from "./child-processes.ts";

/** `npm run test:sim -- --children` has 100. */
const SEEDS = Number(process.env["HOOKLINE_ROUNDS"] ?? 2);

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  "processes that are killed lose nothing of what they acknowledged, and keep the order: world %d",
  { timeout: 120_000 },
  async (seed) => {
    const { lines, broken } = await runChildren(seed, 2);
    expect(broken).toEqual([]);
    expect(lines.filter(({ is }) => is === "acknowledged")).not.toEqual([]);
  },
);
