import { expect, test } from "vitest";
import { createReadLimit } from "../../../adapters/inbox/postgres/work/read-limit.ts";
import type { Claim, Delivery } from "../../../src/adapter.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

const MIB = 1024 * 1024;

function bodies(count: number, bytes: number): Delivery[] {
  const body = { byteLength: bytes } as Uint8Array;
  return Array.from({ length: count }, () => ({ body }) as Delivery);
}

/** How many of many runs of so many jobs go together. */
function fits(limit: ReturnType<typeof createReadLimit>, jobs = 1): number {
  return limit.first(Array.from({ length: 5_000 }), () => jobs).length;
}

test("a step reads few deliveries at first, soon as many as there are where they are small, and few where they are large", () => {
  const limit = createReadLimit();
  expect([fits(limit), fits(limit, 0), fits(limit, 1_000)]).toEqual([8, 5_000, 1]);
  for (let steps = 0; steps < 12; steps += 1) limit.read(bodies(16, 1_000));
  expect(fits(limit)).toBe(5_000);
  limit.read(bodies(5, 8 * MIB));
  expect([fits(limit), limit.merged]).toEqual([2, 2]);
  limit.read(bodies(2, 1_000));
  expect([fits(limit), limit.merged]).toEqual([4, 4]);
});

test("of a step that gave no answer a small part is tried next, and a run is whole again when a minute has passed", () => {
  let time = 0;
  const limit = createReadLimit(() => time);
  limit.failed(800);
  expect([fits(limit), limit.merged]).toEqual([8, 100]);
  limit.failed(100);
  expect([fits(limit), limit.merged]).toEqual([8, 12]);
  limit.failed(1);
  limit.read([]);
  expect([fits(limit), limit.merged]).toEqual([8, 12]);
  time += 60_000;
  limit.read([]);
  expect([fits(limit), limit.merged]).toEqual([8, Infinity]);
});

test("large deliveries are claimed a few at a time, each claim says that more is due, and all of them are handled", async () => {
  const processes = await openProcesses();
  const storing = await processes.start();
  const filler = "x".repeat(6 * MIB);
  for (const id of ["a", "b", "c", "d", "e", "f"]) await storeAll(storing.inbox, mail([id], { filler }));
  await storing.inbox.close();
  const { inbox, clock } = await processes.start();
  const seen: string[][] = [];
  const counts: number[] = [];
  for (let claims: readonly Claim[] = [], isFirst = true; isFirst || claims.length > 0; isFirst = false) {
    const claimed = await inbox.claim({ max: isFirst ? 2 : 100, mergeMax: 1 });
    claims = claimed.claims;
    counts.push(claims.length);
    seen.push(...recordsOf(claims));
    if (seen.length < 6) expect(isFirst || claimed.nextDueAt === clock.now()).toBe(true);
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
  }
  expect(seen.flat().toSorted()).toEqual(["a", "b", "c", "d", "e", "f"]);
  expect(Math.max(...counts)).toBe(2);
});
