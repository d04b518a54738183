import { expect, test } from "vitest";
import { createClaimsAhead } from "../../src/dispatch/claims/claims-ahead.ts";
import type { Claim } from "../../src/inbox/port/claims.ts";

const MIB = 1024 * 1024;

const claimOf = (bytes: number, jobs = 1): Claim =>
  ({ jobs: Array.from({ length: jobs }, () => ({ delivery: { body: { byteLength: bytes } } })) }) as unknown as Claim;

test.each(["account", "none"] as const)("64 MiB of bodies are enough, however few claims they are (%s)", (fairness) => {
  const ahead = createClaimsAhead(fairness);
  const gone = claimOf(MIB, 32);
  ahead.push(gone);
  ahead.push(claimOf(31 * MIB));
  expect(ahead.isFull).toBe(false);
  ahead.push(claimOf(MIB));
  expect(ahead.isFull).toBe(true);
  ahead.filter((claim) => claim !== gone);
  expect(ahead.isFull).toBe(false);
  ahead.push(claimOf(64 * MIB));
  expect(ahead.isFull).toBe(true);
  while (ahead.shift() !== undefined);
  expect(ahead.isFull).toBe(false);
});

test("a damaged claim takes no room", () => {
  const ahead = createClaimsAhead("account");
  ahead.push({ jobs: [{}] } as unknown as Claim);
  expect([ahead.isFull, ahead.size]).toEqual([false, 1]);
});
