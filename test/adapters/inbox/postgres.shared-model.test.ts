import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import type { Claim, JobOutcome, WorkingInbox } from "../../../src/adapter.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, findAll, recordsIn, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { inDatabases } from "./in-database.ts";

/** For more: HOOKLINE_ROUNDS=100. */
const RUNS = Number(process.env["HOOKLINE_ROUNDS"] ?? 4);

/** A job that was acknowledged; they are in the order of their ids. */
interface Open {
  readonly record: string;
  readonly lane: string;
  readonly number: number;
}

/** What is done to one of the processes; they are counted from those that live. */
type Step =
  | { readonly do: "store"; readonly by: number; readonly lanes: readonly string[] }
  | { readonly do: "claim"; readonly by: number; readonly max: number; readonly mergeMax: number }
  | { readonly do: "settle" | "release" | "retry" | "dead-letter"; readonly by: number; readonly max: number }
  | { readonly do: "drop"; readonly by: number; readonly nth: number }
  | { readonly do: "join" | "pass" }
  | { readonly do: "die" | "leave" | "replay" | "erase"; readonly by: number };

interface Held {
  readonly claim: Claim;
  readonly records: readonly string[];
}

interface Process {
  readonly inbox: WorkingInbox;
  /** Claims that it has. */
  held: Held[];
}

const MOST = 3;
const RETRY_MS = 500;
const by = fc.nat(MOST - 1);
const steps = fc.array(
  fc.oneof(
    of(5, {
      do: fc.constant("store"),
      by,
      lanes: fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 4 }),
    }),
    of(6, {
      do: fc.constant("claim"),
      by,
      max: fc.integer({ min: 1, max: 3 }),
      mergeMax: fc.integer({ min: 1, max: 3 }),
    }),
    of(4, {
      do: fc.constantFrom("settle", "settle", "release", "retry", "dead-letter"),
      by,
      max: fc.integer({ min: 1, max: 3 }),
    }),
    of(2, { do: fc.constant("drop"), by, nth: fc.nat(9) }),
    of(1, { do: fc.constantFrom("replay", "replay", "erase"), by }),
    of(3, { do: fc.constantFrom("join", "pass", "pass") }),
    of(1, { do: fc.constantFrom("die", "leave"), by }),
  ),
  { maxLength: 40, size: "max" },
);

function of(weight: number, model: Record<string, fc.Arbitrary<unknown>>) {
  return { weight, arbitrary: fc.record(model) as unknown as fc.Arbitrary<Step> };
}

async function walk(walked: readonly Step[]): Promise<void> {
  const subject = inDatabases();
  const host = { name: "default", clock: wallClock(), log: toLogger(false), dedupeWindowMs: 86_400_000 };
  const processes: Process[] = [];
  /** Stored and not done, in the order of the acknowledgements. */
  let open: Open[] = [];
  let dead: Open[] = [];
  let stored = 0;
  let made = 0;

  function add(some: readonly Pick<Open, "record" | "lane">[]): void {
    open.push(...some.map(({ record, lane }) => ({ record, lane, number: (made += 1) })));
  }

  const held = (): readonly string[] => processes.flatMap((one) => one.held.flatMap(({ records }) => records));

  async function join(inbox: WorkingInbox): Promise<void> {
    await inbox.open(host);
    await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
    processes.push({ inbox, held: [] });
  }

  async function claim(
    process: Process,
    limits: { max: number; mergeMax?: number; suspects?: boolean },
  ): Promise<void> {
    for (const each of await claimAll(process.inbox, limits)) {
      const records = recordsOf([each]).flat();
      const [head = ""] = records;
      const lane = open.find(({ record }) => record === head)?.lane;
      assert.ok(lane !== undefined, `${head} was claimed, and is done already`);
      const first = open.filter((one) => one.lane === lane).slice(0, records.length);
      assert.deepEqual(
        records,
        first.map(({ record }) => record),
        "claimed before its turn",
      );
      const twice = records.filter((record) => held().includes(record));
      assert.deepEqual(twice, [], "two claims that are valid");
      process.held.push({ claim: each, records });
    }
  }

  async function settle(process: Process, max: number, to: "done" | "release" | "retry" | "dead"): Promise<void> {
    const some = process.held.slice(0, max);
    const error = { name: "Error", message: "no", at: host.clock.now() };
    const later = { at: host.clock.now() + RETRY_MS, delayMs: RETRY_MS, counted: true };
    const outcome = { done, release: { to }, retry: { to, ...later, error }, dead: { to, error } }[to] as JobOutcome;
    const told = await process.inbox.settle(
      some.map(({ claim: each, records }) => ({ claim: each, outcomes: records.map(() => outcome) })),
    );
    assert.deepEqual(
      told,
      some.map(() => true),
      "a settle of a claim that stands does not count",
    );
    process.held = process.held.filter((one) => !some.includes(one));
    if (to === "release" || to === "retry") return;
    const ended = new Set(some.flatMap(({ records }) => records));
    if (to === "dead") dead.push(...open.filter(({ record }) => ended.has(record)));
    open = open.filter(({ record }) => !ended.has(record));
  }

  /** Whoever does it, and whose ever it is. */
  async function drop({ inbox }: Process, nth: number): Promise<void> {
    const query = { states: ["waiting"] } as const;
    const [jobs, records] = [await findAll(inbox, query), await recordsIn(inbox, query)];
    const [job, record] = [jobs[nth % jobs.length], records[nth % jobs.length]];
    if (job === undefined || record === undefined) return;
    assert.ok(!held().includes(record), `${record} has a claim that is valid, and waits`);
    assert.equal(await inbox.jobs.drop({ ids: [job.id] }), 1, `${record} waits, and is not dropped`);
    open = open.filter((one) => one.record !== record);
  }

  async function replay({ inbox }: Process): Promise<void> {
    const again = dead.toSorted((one, other) => one.number - other.number);
    dead = [];
    assert.equal(await inbox.jobs.replay({ states: ["dead"] }), again.length, "other jobs were replayed than are dead");
    add(again);
  }

  /** All are of one account. */
  async function erase({ inbox }: Process): Promise<void> {
    await inbox.jobs.erase(2002);
    [open, dead] = [[], []];
    for (const process of processes) {
      const lost = process.held.splice(0);
      const told = await process.inbox.settle(
        lost.map(({ claim: each, records }) => ({ claim: each, outcomes: records.map(() => done) })),
      );
      assert.ok(!told.includes(true), "a settle counts whose job was erased");
    }
    assert.deepEqual(await findAll(inbox), [], "what was erased is there");
  }

  async function take(step: Step): Promise<void> {
    const process = processes["by" in step ? step.by % processes.length : 0] as Process;
    switch (step.do) {
      case "store": {
        const events = step.lanes.map((lane) => ({ id: `${++stored}`, lane, mergeKey: lane }));
        await storeAll(process.inbox, mail(events));
        return add(events.map(({ id, lane }) => ({ record: id, lane })));
      }
      case "claim":
        return claim(process, step);
      case "settle":
        return settle(process, step.max, "done");
      case "release":
      case "retry":
        return settle(process, step.max, step.do);
      case "dead-letter":
        return settle(process, step.max, "dead");
      case "drop":
        return drop(process, step.nth);
      case "replay":
        return replay(process);
      case "erase":
        return erase(process);
      case "join":
        return processes.length < MOST ? join(subject.beside(process.inbox)) : undefined;
      case "pass":
        return host.clock.advance(600);
      case "die":
        processes.splice(processes.indexOf(process), 1);
        return join(await subject.crash(process.inbox));
      case "leave":
        if (processes.length === 1) return;
        processes.splice(processes.indexOf(process), 1);
        return process.inbox.close();
    }
  }

  async function endAll(): Promise<void> {
    for (const process of processes) {
      await claim(process, { max: 10 });
      await claim(process, { max: 10, suspects: true }); // jobs of those that died twice
      await settle(process, 1_000, "done");
    }
  }

  const first = await subject.make();
  try {
    await join(first);
    for (const step of walked) await take(step);
    const broken: unknown[] = [];
    await eventually(async () => {
      await host.clock.advance(600);
      // What is wrong once must not be tried again.
      await endAll().catch((error: unknown) => broken.push(error));
      if (broken.length === 0) assert.deepEqual(open, [], "jobs that were acknowledged do not come");
    }, 20_000);
    if (broken.length > 0) throw broken[0];
  } finally {
    await Promise.all(processes.map(({ inbox }) => inbox.close().catch(() => {}))); // the first failure counts
    await subject.cleanup(first);
  }
}

test(
  "up to three workers: one valid claim at a time, lanes in order, nothing lost, nothing again that was dropped or erased",
  { timeout: 60_000 + RUNS * 20_000 },
  () => fc.assert(fc.asyncProperty(steps, walk), { numRuns: RUNS, endOnFailure: true }),
);
