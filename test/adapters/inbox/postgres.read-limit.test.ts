import { expect, test } from "vitest";
import { noAnswer, toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import type { Row } from "../../../adapters/inbox/postgres/work/lanes.ts";
import { createLargeBodies } from "../../../adapters/inbox/postgres/work/bodies/large-bodies.ts";
import { createReadLimit } from "../../../adapters/inbox/postgres/work/bodies/read-limit.ts";
import type { NewDelivery, WorkingInbox } from "../../../src/adapter.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { eventually } from "../../support/eventually.ts";
import { openProcesses, type Process } from "./postgres-processes.ts";

const MIB = 1024 * 1024;

/** How many of many runs of so many jobs go together. */
function fits(limit: ReturnType<typeof createReadLimit>, jobs = 1): number {
  return limit.first(Array.from({ length: 5_000 }), () => jobs).length;
}

test("a step asks for all that is wanted; after one that was cut for so much as came, and for twice as much with each that was not", () => {
  const limit = createReadLimit();
  expect([fits(limit), limit.most, limit.bytes]).toEqual([5_000, Infinity, 16 * MIB]);
  limit.read(12, true);
  expect([fits(limit), fits(limit, 0), fits(limit, 1_000), limit.most]).toEqual([12, 5_000, 1, 12]);
  limit.read(12, false);
  expect([fits(limit), limit.most]).toEqual([24, 24]);
  limit.read(0, true);
  expect([fits(limit), limit.most]).toEqual([1, 1]);
});

test("after a step that gave no answer a small part is read, without larger ones; and more only once as much came soon", () => {
  const limit = createReadLimit();
  expect(limit.largest).toBe(Infinity);
  limit.failed(640);
  expect([limit.bytes, limit.largest, limit.most]).toEqual([MIB / 4, MIB / 4, 10]);
  limit.readSoon(MIB / 8);
  expect(limit.bytes).toBe(MIB / 4);
  limit.readSoon(MIB);
  expect([limit.bytes, limit.largest]).toEqual([2 * MIB, 2 * MIB]);
  limit.readSoon(9 * MIB);
  expect([limit.bytes, limit.largest]).toEqual([16 * MIB, Infinity]);
  for (let steps = 0; steps < 20; steps += 1) limit.failed(1);
  expect([limit.bytes, limit.most]).toEqual([1, 1]);
});

const ROW = { id: 1, delivery: 7, day: 3 } as Row;

/** One large row, whose body the server gives or not. */
function readingBeside(answer: () => unknown) {
  const told: unknown[] = [];
  const limit = createReadLimit();
  limit.failed(1);
  const beside = createLargeBodies({
    queries: { query: async <R>() => [await answer()] as unknown as readonly R[] },
    ident: () => "hl",
    limit,
    soonMs: -1,
    unread: (...what) => void told.push(what),
  });
  beside.note(ROW, MIB);
  expect(beside.isLarge(ROW)).toBe(true);
  beside.want(ROW);
  return { beside, told };
}

test("what was read beside the heart is given once", async () => {
  const { beside, told } = readingBeside(() => ({ received_at: 5, body: Buffer.of(1) }));
  expect(beside.isWanted).toBe(true);
  const found = await eventually(() => beside.take(7) ?? Promise.reject(new Error("not there yet")));
  expect(found).toMatchObject({ receivedAt: 5, body: Buffer.of(1) });
  expect([beside.take(7), beside.refusalOf(7), told]).toEqual([undefined, undefined, []]);
});

test("a body that the server would not read is told of as its refusal", async () => {
  const damaged = toStorageError(Object.assign(new Error("no"), { code: "XX001" }), "statement");
  const { beside, told } = readingBeside(() => Promise.reject(damaged));
  expect(await eventually(() => beside.refusalOf(7) ?? Promise.reject(new Error("not there yet")))).toBe(damaged);
  expect([beside.take(7), told]).toEqual([undefined, []]);
});

test("a body that does not come is told of, and not asked for again until others had their turn", async () => {
  let asked = 0;
  const { beside, told } = readingBeside(() => {
    asked += 1;
    if (asked === 1) throw noAnswer(30_000);
    return { body: Buffer.of(2) };
  });
  await eventually(() => expect(told).toEqual([[ROW, MIB, expect.objectContaining({ code: "storage-failed" })]]));
  beside.want(ROW);
  const other = { ...ROW, id: 2, delivery: 8 };
  beside.note(other, MIB);
  beside.want(other);
  await eventually(() => expect(beside.take(8)).toBeDefined());
  expect(asked).toBe(2);
});

/** All that is there, as a dispatcher claims it. @returns the records of each claim */
async function claimedSteps(inbox: WorkingInbox, clock: Process["clock"], mergeMax = 1): Promise<string[][]> {
  const steps: string[][] = [];
  for (;;) {
    const { claims, nextDueAt } = await inbox.claim({ max: 100, mergeMax });
    steps.push(recordsOf(claims).flat());
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => done) })));
    if (claims.length === 0 && nextDueAt !== clock.now()) return steps;
  }
}

const LARGE = ["a", "b", "c", "d", "e", "f"];
const filler = "x".repeat(6 * MIB);

/** Stored by another process: nothing is in the memory of the one that works. Large ones are due a second later. */
async function stored(...deliveries: readonly NewDelivery[]): Promise<Process> {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start();
  for (const delivery of deliveries) await storeAll(inbox, delivery);
  await inbox.close();
  await processes.rows(
    `update hookline.job set run_at = $1, delay_ms = 1000 from hookline.delivery as d where d.id = delivery and octet_length(d.body) > ${MIB}`,
    [clock.now() + 1_000],
  );
  return processes.start();
}

test("of large deliveries 16 MiB are claimed at a time, and each claim says that more is due, whatever came before", async () => {
  const small = Array.from({ length: 40 }, (_, nth) => mail([`small ${nth}`]));
  const { inbox, clock } = await stored(...small, ...LARGE.map((id) => mail([id], { filler })));
  expect((await claimedSteps(inbox, clock)).flat()).toHaveLength(small.length);
  await clock.advance(1_000);
  const steps = await claimedSteps(inbox, clock);
  expect(steps.flat().toSorted()).toEqual(LARGE);
  for (const step of steps) expect(step.length).toBeLessThanOrEqual(2);
});

test("jobs that merge, of more deliveries than one step reads, are handled a few at a time and in order", async () => {
  const { inbox, clock } = await stored(...LARGE.map((id) => mail([one(id, "key")], { filler })));
  await clock.advance(1_000);
  const steps = await claimedSteps(inbox, clock, 10);
  expect(steps.flat()).toEqual(LARGE);
  for (const step of steps) expect(step.length).toBeLessThanOrEqual(2);
});

test("a delivery that is larger than a step reads is claimed alone", async () => {
  const { inbox, clock } = await stored(mail(["a"]), mail(["b"], { filler: "x".repeat(17 * MIB) }), mail(["c"]));
  await clock.advance(1_000);
  const steps = await claimedSteps(inbox, clock);
  expect(steps.flat().toSorted()).toEqual(["a", "b", "c"]);
  expect(steps).toContainEqual(["b"]);
});
