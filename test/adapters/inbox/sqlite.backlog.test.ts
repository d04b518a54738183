import type { ClaimedJob, WorkingInbox } from "hookline/adapter";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { createWorkerState } from "../../../adapters/inbox/sqlite/work/worker-state.ts";
import { mail, one, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { toLogger } from "../../../src/logger.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { DONE, folderFor } from "./on-disk.ts";

/** More than are read at once, several times. */
const JOBS = 3_500;
const ALL = { max: JOBS, mergeMax: 1 };
const T = 1_000_000;

/** Lanes that a user's own function may give. */
const ODD = ['"quoted" \\ and not', "two\nlines", "ünï 🎈", "nul \u0000 in it", "[1,null]", ""];

/** An inbox with many jobs, on threads that tell what they are asked. */
async function filled(entries: readonly (string | MailEntry)[]) {
  const file = join(folderFor(), "inbox.db");
  const asked: { verb: string; turn: number }[] = [];
  let turn = 0;
  let timer = setImmediate(function next() {
    turn += 1;
    timer = setImmediate(next);
  });
  onTestFinished(() => clearImmediate(timer));
  const make = (): WorkingInbox =>
    createSqliteInbox({
      file,
      maxJobs: 2 * JOBS,
      openThread: telling(openInline, ({ tasks }) => asked.push(...tasks.map(({ verb }) => ({ verb, turn })))),
    });
  const { inbox, clock, restart, end } = await openBench({ make });
  onTestFinished(end);
  await inbox.store([mail(entries)]);
  return { inbox, clock, restart, file, asked };
}

async function claimAll(inbox: WorkingInbox) {
  const { claims } = await inbox.claim(ALL);
  const jobs = claims.map(({ jobs: [job] }): ClaimedJob => job);
  return { claims, jobs };
}

function idsIn(file: string): number[] {
  const db = new DatabaseSync(file);
  const rows = db.prepare("SELECT id FROM job ORDER BY id").all();
  db.close();
  return rows.map(({ id }) => Number(id));
}

test("a backlog of several pages comes back in its order, each job as it was", async () => {
  const odd = ODD.map((lane, index): MailEntry => ({ id: `odd ${index}`, lane, mergeKey: `key of ${lane}` }));
  const plain = Array.from({ length: JOBS - ODD.length }, (_, index) => `m-${index}`);
  const { inbox, clock, restart } = await filled([...odd, ...plain]);
  const { claims, jobs: before } = await claimAll(inbox);
  const error = { at: T, name: "Error", message: 'it is "so"' };
  await inbox.settle(
    claims.map((claim, index) =>
      index === 0
        ? { claim, outcomes: [{ to: "retry", at: clock.now() - 1, delayMs: 0, counted: true, error }] }
        : { claim, outcomes: [{ to: "release" }] },
    ),
  );
  await restart();
  expect(await inbox.jobs.find({ limit: 1 })).toMatchObject({ jobs: [{ attempts: 1, error }] });
  const { jobs } = await claimAll(inbox);
  const facts = ({ id, entry, lane, mergeKey, consumer, replayOf }: ClaimedJob): unknown =>
    expect.objectContaining({ id, entry, lane, mergeKey, consumer, replayOf, attempt: 1, deaths: 0 });
  expect(jobs.slice(1)).toEqual(before.slice(1).map(facts));
  expect(jobs[0]).toMatchObject({ id: before[0]?.id, attempt: 2, firstAttemptAt: before[0]?.firstAttemptAt });
});

test("jobs of one lane come back in their order over all pages, with whose replay they are", async () => {
  const { inbox, restart } = await filled(Array.from({ length: JOBS }, (_, index) => one(`m-${index}`, "key")));
  const [{ claims }, all] = [await inbox.claim({ max: 1, mergeMax: 1 }), { max: 1, mergeMax: 2 * JOBS }];
  const [claim] = claims;
  if (claim === undefined) throw new Error("Nothing was claimed.");
  const first = claim.jobs[0].id;
  await inbox.settle([{ claim, outcomes: [DONE] }]);
  await inbox.jobs.replay({ ids: [first] });
  await restart();
  const { claims: behind } = await inbox.claim(all);
  expect(behind[0]?.jobs.map(({ entry }) => entry)).toEqual(Array.from({ length: JOBS - 1 }, (_, index) => index + 1));
  await inbox.settle(behind.map((each) => ({ claim: each, outcomes: each.jobs.map(() => DONE) })));
  expect((await inbox.claim(all)).claims).toMatchObject([
    { jobs: [{ entry: 0, replayOf: first, mergeKey: "replay:key" }] },
  ]);
});

test("the loop gets a turn after each page, though the next one is there", async () => {
  const { restart, asked } = await filled(Array.from({ length: JOBS }, (_, index) => `m-${index}`));
  asked.splice(0);
  await restart();
  const reads = asked.filter(({ verb }) => verb === "openJobs");
  // The first two pages are asked for in one turn.
  expect(new Set(reads.map(({ turn }) => turn)).size).toBeGreaterThanOrEqual(reads.length - 1);
  expect(reads.length).toBeGreaterThan(3);
});

test("after its thread was replaced, memory has what the file has: from any page, and behind the last", async () => {
  const { file, inbox } = await filled(Array.from({ length: JOBS }, (_, index) => `m-${index}`));
  await inbox.close();
  const channel = await openInline(
    { file, name: "default", dedupeWindowMs: 1_000 },
    { counted() {}, converting() {}, changed() {}, ended() {} },
  );
  onTestFinished(() => channel.close());
  const owned = createWorkerState(() => ({ clock: { now: () => T }, log: toLogger(false) }));
  await owned.takeOver(channel);
  const ids = idsIn(file);
  expect(owned.lanes.unclaimedIn(0, Infinity)).toEqual(ids);
  const runs = owned.lanes.take({ max: 1, mergeMax: 1 }, T);
  const [last = 0, middle = 0] = [ids.at(-1), ids[JOBS / 2]];
  const db = new DatabaseSync(file);
  db.exec(`DELETE FROM job WHERE id IN (${[ids[1], middle, last].join()})`);
  db.exec(
    "INSERT INTO job (id, delivery, entry, type, consumer, received_at) VALUES (9000, 1, 0, 'email.updated', 'later', 1)",
  );
  await owned.resume(channel);
  const left = idsIn(file);
  expect(left).toHaveLength(JOBS - 2);
  expect(owned.lanes.unclaimedIn(0, Infinity)).toEqual(left.filter((id) => id !== runs[0]?.rows[0]?.id));
  db.exec("DELETE FROM job");
  db.close();
  await owned.resume(channel);
  expect(owned.lanes.unclaimedIn(0, Infinity)).toEqual([]);
  expect(owned.lanes.size).toBe(1);
});
