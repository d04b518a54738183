import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import type { Claim, WorkingInbox } from "../../../src/adapter.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { inDatabases } from "./in-database.ts";

/** For more: HOOKLINE_ROUNDS=100. */
const RUNS = Number(process.env["HOOKLINE_ROUNDS"] ?? 4);

/** What is done to one of the processes; they are counted from those that live. */
type Step =
  | { readonly do: "store"; readonly by: number; readonly lanes: readonly string[] }
  | { readonly do: "claim" | "settle" | "release"; readonly by: number; readonly max: number }
  | { readonly do: "join" | "pass" }
  | { readonly do: "die" | "leave"; readonly by: number };

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
const by = fc.nat(MOST - 1);
const steps = fc.array(
  fc.oneof(
    of(5, {
      do: fc.constant("store"),
      by,
      lanes: fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 4 }),
    }),
    of(6, { do: fc.constant("claim"), by, max: fc.integer({ min: 1, max: 3 }) }),
    of(4, { do: fc.constantFrom("settle", "settle", "release"), by, max: fc.integer({ min: 1, max: 3 }) }),
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
  let open: { readonly record: string; readonly lane: string }[] = [];
  let stored = 0;

  async function join(inbox: WorkingInbox): Promise<void> {
    await inbox.open(host);
    await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
    processes.push({ inbox, held: [] });
  }

  async function claim({ inbox, held }: Process, max: number, suspects = false): Promise<void> {
    for (const each of await claimAll(inbox, { max, suspects })) {
      const records = recordsOf([each]).flat();
      const [head = ""] = records;
      const lane = open.find(({ record }) => record === head)?.lane;
      assert.ok(lane !== undefined, `${head} was claimed, and is done already`);
      assert.equal(open.find((one) => one.lane === lane)?.record, head, `${head} was claimed before its turn`);
      const others = processes.flatMap((one) => one.held.flatMap((other) => other.records));
      assert.ok(!others.includes(head), `${head} has two claims that are valid`);
      held.push({ claim: each, records });
    }
  }

  async function settle(process: Process, max: number, to: "done" | "release"): Promise<void> {
    const some = process.held.slice(0, max);
    const outcome = to === "done" ? done : ({ to } as const);
    const told = await process.inbox.settle(
      some.map(({ claim: each, records }) => ({ claim: each, outcomes: records.map(() => outcome) })),
    );
    assert.deepEqual(
      told,
      some.map(() => true),
      "a settle of a claim that stands does not count",
    );
    process.held = process.held.filter((one) => !some.includes(one));
    if (to === "done") open = open.filter(({ record }) => !some.some(({ records }) => records.includes(record)));
  }

  async function take(step: Step): Promise<void> {
    const process = processes["by" in step ? step.by % processes.length : 0] as Process;
    switch (step.do) {
      case "store": {
        const events = step.lanes.map((lane) => ({ id: `${++stored}`, lane }));
        await storeAll(process.inbox, mail(events));
        open.push(...events.map(({ id, lane }) => ({ record: id, lane })));
        return;
      }
      case "claim":
        return claim(process, step.max);
      case "settle":
        return settle(process, step.max, "done");
      case "release":
        return settle(process, step.max, "release");
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

  const first = await subject.make();
  try {
    await join(first);
    for (const step of walked) await take(step);
    await eventually(async () => {
      await host.clock.advance(600);
      for (const process of processes) {
        await claim(process, 10);
        await claim(process, 10, true); // jobs of those that died twice
        await settle(process, 1_000, "done");
      }
      assert.deepEqual(open, [], "jobs that were acknowledged do not come");
    }, 20_000);
  } finally {
    await Promise.all(processes.map(({ inbox }) => inbox.close().catch(() => {}))); // the first failure counts
    await subject.cleanup(first);
  }
}

test(
  "up to three workers: one valid claim at a time, lanes in order, nothing lost",
  { timeout: 60_000 + RUNS * 20_000 },
  () => fc.assert(fc.asyncProperty(steps, walk), { numRuns: RUNS, endOnFailure: true }),
);
