import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Claim, Worker, WorkingInbox } from "../../../src/adapter.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock, type WallClock } from "../../suites/inbox/wall-clock.ts";
import { newDatabase, type TestDatabase } from "../../support/postgres.ts";
import { turns } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openDatabase } from "./in-database.ts";

/** One process of several on a database. */
interface Process {
  readonly inbox: WorkingInbox;
  readonly clock: WallClock;
  readonly heard: { begun: number; ended: number; readonly lost: Claim[] };
  work(): Promise<void>;
}

let database: TestDatabase;
let processes: Process[];

beforeEach(async () => {
  database = await newDatabase();
  processes = [];
});
afterEach(async () => {
  await Promise.all(processes.map(({ inbox }) => inbox.close().catch(() => {})));
  await database.drop();
});

async function start(leaseMs = 5_000): Promise<Process> {
  const clock = wallClock();
  const inbox = openDatabase(database.connectionString, { leaseMs });
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 86_400_000 });
  const heard: Process["heard"] = { begun: 0, ended: 0, lost: [] };
  const worker: Worker = {
    begin: () => void (heard.begun += 1),
    end: () => void (heard.ended += 1),
    wake() {},
    lost: (claims) => void heard.lost.push(...claims),
  };
  const process = { inbox, clock, heard, work: () => inbox.work(worker) };
  processes.push(process);
  return process;
}

const lanes = (count: number): string[] => Array.from({ length: count }, (_, index) => `m${index}`);

/** Lets the others' timers run until something holds. */
async function passing(check: () => Promise<void> | void): Promise<void> {
  await eventually(async () => {
    for (const { clock } of processes) await clock.advance(600);
    await check();
  });
}

async function claimEach(): Promise<readonly (readonly Claim[])[]> {
  return Promise.all(processes.map(({ inbox }) => claimAll(inbox, { max: 1_000 })));
}

test("two that work share the lanes, and none has both", async () => {
  const [one, other] = [await start(), await start()];
  await one.work();
  await other.work();
  const claimed: string[][] = [[], []];
  await passing(async () => {
    await storeAll(one.inbox, mail(lanes(100)));
    const claims = await claimEach();
    for (const [index, of] of claims.entries()) {
      const process = processes[index] as Process;
      claimed[index]?.push(...recordsOf(of).flat());
      await process.inbox.settle(of.map((claim) => ({ claim, outcomes: [done] })));
    }
    expect(claims[0]?.length).toBeGreaterThan(20);
    expect(claims[1]?.length).toBeGreaterThan(20);
  });
  await passing(async () => {
    for (const [index, of] of (await claimEach()).entries())
      await processes[index]?.inbox.settle(of.map((claim) => ({ claim, outcomes: [done] })));
    expect(processes.map(({ inbox }) => inbox.stats().waiting + inbox.stats().running)).toEqual([0, 0]);
  });
});

test("what one stores is handled by the other, in the order in which it was acknowledged", async () => {
  const [receiver, worker] = [await start(), await start()];
  await worker.work();
  await storeAll(receiver.inbox, mail([{ id: "a", lane: "one" }]));
  await storeAll(worker.inbox, mail([{ id: "b", lane: "one" }]));
  // The receiver does not work: its delivery waits to be expanded, and so does what came behind it.
  await passing(async () => expect(worker.inbox.stats().unexpanded).toBe(2));
  const waiting = await worker.inbox.unexpanded(10);
  await worker.inbox.expand(
    waiting.map(({ id }, index) => ({
      id,
      events: mail([{ id: "ab"[index] as string, lane: "one" }]).events,
      cursor: undefined,
    })),
  );
  const [claim] = await claimAll(worker.inbox);
  expect(recordsOf(claim === undefined ? [] : [claim])).toEqual([["a"]]);
});

test("one that dies is taken over from: what it ran counts a death, what waited does not", async () => {
  const [one, other] = [await start(), await start(60_000)];
  await one.work();
  await storeAll(one.inbox, mail([{ id: "a", lane: "x" }, { id: "b", lane: "x" }, "c"]));
  expect(await claimAll(one.inbox)).toHaveLength(2);
  await other.work();
  await one.inbox.close();
  processes = [other];
  const found: Claim[] = [];
  await passing(async () => {
    found.push(...(await claimAll(other.inbox)));
    expect(recordsOf(found).flat().toSorted()).toEqual(["a", "c"]);
  });
  expect(found.map(({ jobs }) => jobs[0].deaths)).toEqual([1, 1]);
  await other.inbox.settle(found.map((claim) => ({ claim, outcomes: [done] })));
  expect((await claimAll(other.inbox)).map(({ jobs }) => [jobs[0].attempt, jobs[0].deaths])).toEqual([[1, 0]]);
});

test("one that stalls past its lease is fenced: its settle changes nothing, and it begins anew", async () => {
  const stalled = await start();
  await stalled.work();
  await storeAll(stalled.inbox, mail(["a"]));
  const [claim] = await claimAll(stalled.inbox);
  // Its connections are there, but its heart stands still: none of its timers runs.
  const other = await start(2_000);
  await other.work();
  let again: readonly Claim[] = [];
  await eventually(async () => {
    await other.clock.advance(600);
    again = await claimAll(other.inbox);
    expect(recordsOf(again)).toEqual([["a"]]);
  });
  expect(await stalled.inbox.settle([{ claim: claim as Claim, outcomes: [done] }])).toEqual([false]);
  expect(stalled.heard.ended).toBe(1);
  await eventually(async () => {
    await stalled.clock.advance(1_100);
    expect(stalled.heard.begun).toBe(2);
  });
  expect(await other.inbox.settle([{ claim: again[0] as Claim, outcomes: [done] }])).toEqual([true]);
});

test("shards that are given to a newcomer keep their order: nothing of a lane runs twice at once", async () => {
  const one = await start();
  await one.work();
  await storeAll(
    one.inbox,
    mail(
      lanes(64).flatMap((lane) => [
        { id: `${lane}-1`, lane },
        { id: `${lane}-2`, lane },
      ]),
    ),
  );
  const running = await claimAll(one.inbox, { max: 1_000 });
  expect(running).toHaveLength(64);
  const other = await start();
  await other.work();
  for (let time = 0; time < 4; time += 1) {
    for (const { clock } of processes) await clock.advance(600);
    expect(await claimAll(other.inbox, { max: 1_000 })).toEqual([]);
  }
  await one.inbox.settle(running.map((claim) => ({ claim, outcomes: [done] })));
  const seen: string[] = [];
  await passing(async () => {
    for (const { inbox } of processes) {
      const claims = await claimAll(inbox, { max: 1_000 });
      seen.push(...recordsOf(claims).flat());
      await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    }
    expect(seen.toSorted()).toEqual(
      lanes(64)
        .map((lane) => `${lane}-2`)
        .toSorted(),
    );
  });
});

test("stats say how many work, what share is this process's, and since when the oldest of the whole waits", async () => {
  const [one, other, receiver] = [await start(), await start(), await start()];
  await one.work();
  expect(one.inbox.stats()).toMatchObject({ isWorkedOn: true, workers: { alive: 1, share: 1 } });
  await other.work();
  await passing(() => {
    expect(one.inbox.stats().workers).toEqual({ alive: 2, share: 0.5 });
    expect(other.inbox.stats().workers).toEqual({ alive: 2, share: 0.5 });
    expect(receiver.inbox.stats()).toMatchObject({ isWorkedOn: true, workers: { alive: 2, share: 0 } });
  });
  const stored = mail(lanes(1));
  await storeAll(one.inbox, stored);
  await passing(() => {
    for (const { inbox } of processes) expect(inbox.stats().oldestWaitingAt).toBe(stored.delivery.receivedAt);
  });
});

test("one that cannot reach the server is not ready, says why, and is ready again by itself", async () => {
  const { inbox, clock } = await start();
  expect(inbox.ready()).toEqual({ ready: true });
  const url = new URL(database.connectionString);
  const name = url.pathname.slice(1);
  url.pathname = "/postgres";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`alter database ${name} allow_connections false`);
  await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, [name]);
  await passing(() => expect(inbox.ready()).toMatchObject({ ready: false, error: { name: "StorageError" } }));
  await client.query(`alter database ${name} allow_connections true`);
  await client.end();
  await clock.advance(20_000);
  await passing(() => expect(inbox.ready()).toEqual({ ready: true }));
});

test("a job is counted once, whoever is first to see it: the worker's own poll, or who asks for claims", async () => {
  const { inbox, clock, work } = await start();
  await work();
  for (let count = 1; count <= 5; count += 1) {
    await storeAll(inbox, mail([`a${count}`]));
    expect(inbox.stats().waiting).toBe(count);
    await passing(async () => expect((await inbox.jobs.find({ limit: 10 })).jobs).toHaveLength(count));
    for (let poll = 0; poll < 3; poll += 1) {
      await clock.advance(600);
      await turns();
    }
    expect(inbox.stats().waiting).toBe(count);
  }
});
