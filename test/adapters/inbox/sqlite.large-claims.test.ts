import { expect, test } from "vitest";
import type { Claim } from "../../../src/adapter.ts";
import { mail, one, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { done, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { onDisk } from "./on-disk.ts";

const MIB = 1024 * 1024;
const COUNT = 40;

const bytesOf = (claims: readonly Claim[]): number =>
  claims.flatMap(({ jobs }) => jobs).reduce((sum, { delivery }) => sum + delivery.body.byteLength, 0);

/** After a restart, which leaves no body in memory. */
async function withLargeBodies(entryOf: (index: number) => string | MailEntry) {
  const { inbox, host, restart } = await onDisk();
  for (let index = 0; index < COUNT; index += 1)
    await storeAll(inbox, mail([entryOf(index)], { filler: "x".repeat(MIB) }));
  await restart();
  return { inbox, now: () => host.clock.now() };
}

const names = Array.from({ length: COUNT }, (_, index) => `m-${index}`);

test("a run of large bodies is claimed in parts, in order, each as large as one commit reads", async () => {
  const { inbox } = await withLargeBodies((index) => one(`m-${index}`, "same"));
  const order: string[] = [];
  const sizes: number[] = [];
  while (order.length < COUNT) {
    const { claims } = await inbox.claim({ max: 10, mergeMax: 1_000 });
    expect(claims).toHaveLength(1);
    expect(bytesOf(claims)).toBeLessThan(18 * MIB);
    order.push(...recordsOf(claims).flat());
    sizes.push(claims[0]!.jobs.length);
    await settleAll(inbox, claims[0]!, ...claims[0]!.jobs.map(() => done));
  }
  expect(order).toEqual(names);
  expect(sizes.length).toBeLessThan(6);
});

test("of many lanes with large bodies the first ones are claimed, and the rest is due at once", async () => {
  const { inbox, now } = await withLargeBodies((index) => `m-${index}`);
  const order: string[] = [];
  while (order.length < COUNT) {
    const { claims, nextDueAt } = await inbox.claim({ max: 100, mergeMax: 1 });
    expect(claims.length).toBeGreaterThan(0);
    expect(bytesOf(claims)).toBeLessThan(18 * MIB);
    order.push(...recordsOf(claims).flat());
    if (order.length < COUNT) expect(nextDueAt).toBeLessThanOrEqual(now());
    for (const claim of claims) await settleAll(inbox, claim, done);
  }
  expect(order.toSorted()).toEqual(names.toSorted());
});
