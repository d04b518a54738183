import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createOperations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import { REMOVE_IMPOSSIBLE } from "../../../adapters/inbox/sqlite/thread/unusable-rows.ts";
import { prepareSchema } from "../../../adapters/inbox/sqlite/schema/tables.ts";
import { orphaned } from "../../../src/inbox/job-deaths.ts";
import { claimed, FRESH, type Progress } from "../../../src/inbox/job-state.ts";

const CLAIMED_AT = 5_000;

const anyProgress = fc.record({
  deaths: fc.constantFrom(0, 1, 2, 2, 2, 3, 5),
  attempts: fc.nat(9),
  groupMax: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  firstAttemptAt: fc.option(fc.nat(4_000), { nil: undefined }),
  runAt: fc.constantFrom(0, 9_000),
  delayMs: fc.constantFrom(0, 1_000),
});

test("a take-over makes of what was marked what the rules make of it, and nothing of the rest", () => {
  const db = new DatabaseSync(":memory:");
  onTestFinished(() => db.close());
  prepareSchema(db, "default");
  const operations = createOperations(db, { dedupeWindowMs: 0 });
  const insert = db.prepare(
    `INSERT INTO job (id, delivery, entry, type, consumer, received_at, attempts, deaths, group_max, first_attempt_at, run_at, delay_ms)
       VALUES (?, 1, 0, 'email.created', 'default', 1, ?, ?, ?, ?, ?, ?)`,
  );
  const read = db.prepare(
    `SELECT attempts, deaths, group_max AS groupMax, first_attempt_at AS firstAttemptAt, run_at AS runAt, delay_ms AS delayMs
       FROM job ORDER BY id`,
  );

  fc.assert(
    fc.property(fc.array(fc.record({ progress: anyProgress, ran: fc.boolean() }), { maxLength: 9 }), (jobs) => {
      db.exec("DELETE FROM job");
      const before: Progress[] = jobs.map(({ progress }) => ({
        ...FRESH,
        ...progress,
        groupMax: progress.deaths < 2 ? undefined : progress.groupMax,
      }));
      for (const [id, { attempts, deaths, groupMax = null, firstAttemptAt = null, runAt, delayMs }] of before.entries())
        insert.run(id + 1, attempts, deaths, groupMax, firstAttemptAt, runAt, delayMs);
      const ran = before.filter((_, index) => jobs[index]?.ran);
      operations.begin(undefined);
      operations.claim({ ids: ran.map((each) => before.indexOf(each) + 1), at: CLAIMED_AT, deliveries: [] });
      operations.end();
      operations.begin(undefined);
      operations.takeOver();
      operations.end();
      const orphans = orphaned(ran.map((each) => claimed(each, CLAIMED_AT)));
      const expected = before.map((each) => (ran.includes(each) ? orphans[ran.indexOf(each)] : each));
      expect(read.all().map(toProgress)).toEqual(expected);
    }),
    { numRuns: 300 },
  );
});

function toProgress(row: Record<string, unknown>): Progress {
  const { groupMax, firstAttemptAt, ...facts } = row as unknown as Progress;
  return { ...FRESH, ...facts, groupMax: groupMax ?? undefined, firstAttemptAt: firstAttemptAt ?? undefined };
}

test("a take-over looks at no delivery for rows whose keys cannot be read: a file may have millions", () => {
  const db = new DatabaseSync(":memory:");
  onTestFinished(() => db.close());
  prepareSchema(db, "default");
  const plans = REMOVE_IMPOSSIBLE.map((statement) => db.prepare(`EXPLAIN QUERY PLAN ${statement}`).get()?.["detail"]);
  for (const plan of plans) expect(plan).toMatch(/^SEARCH .* USING INTEGER PRIMARY KEY/);
});
