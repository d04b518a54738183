import pg from "pg";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Claim, Worker, WorkingInbox } from "../../../src/adapter.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, firstAttempts, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
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
  const process = { inbox, clock, heard, work: () => inbox.work({ ...worker }) };
  processes.push(process);
  return process;
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.connectionString });
  client.on("error", () => {}); // the database goes before it does
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Lets the others' timers run until something holds. */
async function passing(check: () => Promise<void> | void): Promise<void> {
  await eventually(async () => {
    for (const { clock } of processes) await clock.advance(600);
    await check();
  });
}

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

test("a job that another process made while the one before it ran inherits the time of that one", async () => {
  const [{ inbox, clock, work }, other] = [await start(), await start()];
  await work();
  await storeAll(inbox, mail([one("b")]));
  await settleAll(inbox, await claimOne(inbox), done);
  await storeAll(inbox, mail([one("a")]));
  const first = clock.now();
  const claim = await claimOne(inbox);
  expect(await other.inbox.jobs.replay({ states: ["done"] })).toBe(1);
  clock.jump(1_000);
  const error = { name: "Error", message: "no", at: clock.now() };
  await settleAll(inbox, claim, { to: "dead", error, ofWindow: true });
  expect(await firstAttempts(inbox, done)).toEqual([["b", first]]);
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

test("what another process stores is looked for every 50 ms, and every 5 ms while some comes", async () => {
  const [storing, other] = [await start(), await start()];
  await Promise.all([storing.work(), other.work()]);
  await passing(() => expect([storing, other].map(({ inbox }) => inbox.stats().workers?.share)).toEqual([0.5, 0.5]));
  const timers = vi.spyOn(other.clock, "setTimer");
  /** A look ends by setting the timer of the next one: before that, time that passes brings none. */
  const looks = async (ms: number, nextIn: number): Promise<void> => {
    timers.mockClear();
    await other.clock.advance(ms);
    await eventually(() => expect(timers.mock.calls.map(([, of]) => of)).toContain(nextIn));
  };
  let stored = 0;
  /** Jobs of some 30 lanes, of which the other one has its share. */
  const isSeenAfter = async (ms: number): Promise<void> => {
    const before = other.inbox.stats().waiting;
    await storeAll(storing.inbox, mail(Array.from({ length: 30 }, (_, index) => `${(stored += 1)}-${index}`)));
    await looks(ms, 5);
    expect(other.inbox.stats().waiting).toBeGreaterThan(before);
  };
  await looks(50, 50);
  await isSeenAfter(50);
  for (let times = 0; times < 5; times += 1) await isSeenAfter(5);
});

describe("one that stops, and still runs a handler,", () => {
  async function stopping() {
    const [stops, other, third] = [await start(), await start(), await start()];
    await stops.work();
    await storeAll(stops.inbox, mail([one("runs")]));
    const claim = await claimOne(stops.inbox);
    await Promise.all([other.work(), third.work()]);
    await passing(() => expect(sharesOf(stops, other, third).every((share) => share > 0.2)).toBe(true));
    stops.inbox.stopWork?.();
    return { stops, other, third, claim };
  }

  const sharesOf = (...all: readonly Process[]): number[] => all.map(({ inbox }) => inbox.stats().workers?.share ?? 0);

  test("leaves its lanes and the expansion to the others, in equal shares, and takes none of one that goes", async () => {
    const { stops, other, third, claim } = await stopping();
    await passing(() => {
      const [mine, ...others] = sharesOf(stops, other, third);
      expect(mine).toBe(1 / 64);
      for (const share of others) expect(share).toBeGreaterThan(0.45);
    });
    const receiving = await start();
    await receiving.inbox.store([{ ...mail(["later"]), events: undefined }]);
    await passing(async () => {
      const found = await Promise.all([stops, other, third].map(({ inbox }) => inbox.unexpanded(1)));
      expect([found[0], found.flat().length]).toEqual([[], 1]);
    });
    await third.inbox.close();
    processes.splice(processes.indexOf(third), 1);
    await passing(() => expect(sharesOf(stops, other)).toEqual([1 / 64, 63 / 64]));
    await settleAll(stops.inbox, claim, done);
    await passing(() => expect(sharesOf(stops, other)).toEqual([0, 1]));
  });

  test("gives up all of them once, where it is alone", async () => {
    const { inbox, work } = await start();
    await work();
    await passing(() => expect(inbox.stats().workers?.share).toBe(1));
    inbox.stopWork?.();
    await passing(() => expect(inbox.stats().workers?.share).toBe(0));
    const client = await connect();
    const read = async () => {
      const { rows } = await client.query(
        "select (select max(beat)::int from hookline.worker) as beat, (select array_agg(xmin::text order by id) from hookline.shard) as written",
      );
      return rows[0] as { readonly beat: number; readonly written: readonly string[] };
    };
    const before = await read();
    await passing(async () => {
      const { beat, written } = await read();
      expect(written).toEqual(before.written);
      expect(beat).toBeGreaterThan(before.beat + 10);
    });
  });

  test("is not waited for by one that comes: no shard is kept free for it", async () => {
    const { stops, other, third, claim } = await stopping();
    await settleAll(stops.inbox, claim, done);
    await third.inbox.close();
    processes.splice(processes.indexOf(third), 1);
    await passing(() => expect(sharesOf(stops, other)).toEqual([0, 1]));
  });
});

test("one that was killed counts as one that works for as long as its lease", async () => {
  const client = await connect();
  const { inbox } = await start(1_000);
  await client.query("insert into hookline.worker (handled) values (null)");
  let works: boolean | undefined;
  void inbox.othersWork?.().then((answer) => (works = answer));
  await client.query("select pg_sleep(0.3)"); // longer than two looks take
  expect(works).toBeUndefined();
  await eventually(() => expect(works).toBe(false));
  // That it beat since somebody looked last says nothing of now.
  await client.query("update hookline.worker set beat = beat + 1");
  expect(await inbox.othersWork?.()).toBe(false);
  const beating = setInterval(
    () => void client.query("update hookline.worker set beat = beat + 1").catch(() => {}),
    50,
  );
  onTestFinished(() => clearInterval(beating));
  await eventually(async () => expect(await inbox.othersWork?.()).toBe(true));
});

test("one that stopped, and still runs a handler, counts no more as one that works", async () => {
  const { inbox } = await start(60_000);
  const client = await connect();
  await client.query("insert into hookline.worker (handled) values (null)");
  await passing(() => expect(inbox.stats().isWorkedOn).toBe(true));
  await client.query("update hookline.worker set handled = '{}'");
  expect(await inbox.othersWork?.()).toBe(false);
  await passing(() => expect(inbox.stats().isWorkedOn).toBe(false));
});

test("one that leaves while it joins, and joins again at once, works", async () => {
  const { inbox, work } = await start();
  const first = work();
  const left = inbox.leave?.();
  await work();
  await Promise.all([first, left]);
  expect(inbox.stats().workers).toMatchObject({ share: 1 });
});

test("of what is free nothing is kept for one whose heart stands still: it has a share again as soon as it beats", async () => {
  const client = await connect();
  const { inbox, work } = await start(60_000);
  await client.query("insert into hookline.worker (handled) values (null)");
  await work();
  expect(inbox.stats().workers?.share).toBe(0.5);
  await passing(() => expect(inbox.stats().workers).toMatchObject({ share: 1, alive: 2 }));
  await passing(async () => {
    await client.query("update hookline.worker set beat = beat + 1 where handled is null");
    expect(inbox.stats().workers?.share).toBe(0.5);
  });
});
