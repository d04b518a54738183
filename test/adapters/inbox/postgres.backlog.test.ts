import { createReceiver } from "hookline";
import { sample, signedDelivery } from "hookline/testing";
import { expect, onTestFinished, test } from "vitest";
import type { Claim, WorkingInbox } from "../../../src/adapter.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock, type WallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses } from "./postgres-processes.ts";

const LANES = 100;
const IN_LANE = 5;
const MAX_JOBS = 50;

async function work(connectionString: string, maxJobs: number): Promise<{ inbox: WorkingInbox; clock: WallClock }> {
  const clock = wallClock();
  const inbox = openDatabase(connectionString, { maxJobs });
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
  return { inbox, clock };
}

test("a backlog larger than the memory waits on the server, and comes in its order as there is room", async () => {
  const database = await newDatabase();
  onTestFinished(() => database.drop());
  const before = await work(database.connectionString, Infinity);
  for (let round = 0; round < IN_LANE; round += 1)
    await storeAll(
      before.inbox,
      ...Array.from({ length: LANES }, (_, lane) => mail([{ id: `${lane}.${round}`, lane: `lane ${lane}` }])),
    );
  await before.inbox.close();

  const { inbox, clock } = await work(database.connectionString, MAX_JOBS);
  onTestFinished(() => inbox.close());
  await clock.advance(2_000);
  expect(inbox.stats()).toMatchObject({ waiting: LANES * IN_LANE, running: 0, isFull: true });
  const seen: string[] = [];
  const settle = (claims: readonly Claim[]): Promise<readonly boolean[]> =>
    inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => done) })));
  await eventually(async () => {
    await clock.advance(500);
    // All that is in memory, by turns.
    const claims = await claimAll(inbox, { max: seen.length % 2 === 0 ? LANES : 19 });
    expect.soft(claims.length).toBeLessThanOrEqual(MAX_JOBS);
    seen.push(...recordsOf(claims).flat());
    await settle(claims);
    expect(seen).toHaveLength(LANES * IN_LANE);
  });
  for (let lane = 0; lane < LANES; lane += 1)
    expect(seen.filter((id) => id.startsWith(`${lane}.`))).toEqual(
      Array.from({ length: IN_LANE }, (_, round) => `${lane}.${round}`),
    );
  expect(new Set(seen).size).toBe(seen.length);
});

test("a receiver is idle when all of a backlog has run that is larger than its memory", async () => {
  const { connectionString, drop } = await newDatabase();
  let ran = 0;
  function receive(maxJobs: number) {
    const inbox = openDatabase(connectionString, { maxJobs });
    const receiver = createReceiver({ secret: "s", inbox, log: toLogger(false) });
    onTestFinished(async () => void (await receiver.close()));
    receiver.on("email", () => void (ran += 1));
    return receiver;
  }
  onTestFinished(drop);
  const before = receive(Infinity);
  const at = new Date();
  const deliveries = Array.from({ length: LANES * IN_LANE }, (_, nth) =>
    signedDelivery(sample("email.created", { accountId: nth % LANES, id: `${nth}` }), { secret: "s", at }),
  );
  await Promise.all(deliveries.map((one) => before.receive(one)));
  await before.close();

  const after = receive(MAX_JOBS);
  await after.start();
  await after.idle();
  expect(ran).toBe(LANES * IN_LANE);
});

test("what another worker expands for a worker whose memory is full waits on the server, and comes in its order", async () => {
  const processes = await openProcesses();
  const expander = await processes.start();
  const full = await processes.start({ maxJobs: MAX_JOBS });
  await processes.passing(() => expect(full.inbox.stats().workers?.share).toBe(0.5));
  for (const round of [0, 1])
    await storeAll(
      expander.inbox,
      ...Array.from({ length: 4 * LANES }, (_, lane) => mail([{ id: `${lane}.${round}`, lane: `lane ${lane}` }])),
    );
  const seen: string[] = [];
  await processes.passing(async () => {
    for (const { inbox } of [expander, full]) {
      const claims = await claimAll(inbox, { max: 8 * LANES });
      if (inbox === full.inbox) expect.soft(claims.length).toBeLessThanOrEqual(MAX_JOBS);
      seen.push(...recordsOf(claims).flat());
      await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    }
    expect(seen).toHaveLength(8 * LANES);
  });
  await processes.passing(() =>
    expect(full.inbox.stats()).toMatchObject({ waiting: 0, isFull: false, workers: { share: 0.5 } }),
  );
  for (let lane = 0; lane < 4 * LANES; lane += 1)
    expect(seen.filter((id) => id.startsWith(`${lane}.`))).toEqual([`${lane}.0`, `${lane}.1`]);
});

test("shards that a burst cut off come back beside jobs that wait for a retry", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start({ maxJobs: 100 });
  const jobs = (name: string, count: number) =>
    Array.from({ length: count }, (_, nth) => mail([{ id: `${name}${nth}`, lane: `${name}${nth}` }]));
  const seen: string[] = [];
  /** Those of `a` wait for an hour. */
  async function workOn(): Promise<void> {
    const claims = await claimAll(inbox, { max: 200 });
    await inbox.settle(
      claims.map((claim) => {
        const isLate = recordsOf([claim]).flat()[0]?.startsWith("a") === true;
        const error = { name: "Error", message: "no", at: clock.now() };
        const late = { to: "retry", at: clock.now() + 3_600_000, delayMs: 3_600_000, counted: true, error } as const;
        return { claim, outcomes: [isLate ? late : done] };
      }),
    );
    seen.push(...recordsOf(claims).flat());
  }
  await storeAll(inbox, ...jobs("a", 60));
  await workOn();
  await storeAll(inbox, ...jobs("b", 120));
  await processes.passing(async () => {
    await workOn();
    expect(seen).toHaveLength(60 + 120);
  });
  await processes.passing(() => expect(inbox.stats()).toMatchObject({ waiting: 60, isFull: false }));
});
