import type { Claim, JobOutcome, Settlement } from "hookline/adapter";
import { existsSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { Task } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail, nobodys, raw } from "../../suites/inbox/deliveries.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { onDisk } from "./on-disk.ts";

const [DELIVERIES, ENTRIES] = [1_000, 20];
const DONE = { to: "done" } as const satisfies JobOutcome;
const DEAD = { to: "dead", error: { name: "Error", message: "no", at: 0 } } as const satisfies JobOutcome;
const QUERY = { states: ["dead"], limit: 100 } as const;

/** An inbox with 20,000 jobs that are done and 3 that are dead, and what its thread is asked from then on. */
async function busyInbox() {
  const asked: Task["verb"][][] = [];
  let db: DatabaseSync | undefined;
  const { inbox, file, clock } = await onDisk({
    openThread: telling(
      (options, events) => openInline(options, events, { opened: (own) => (db = own) }),
      ({ tasks }) => asked.push(tasks.map(({ verb }) => verb)),
    ),
  });
  const lines = Array.from({ length: ENTRIES }, (_, index) => `m-${index}`);
  for (let stored = 0; stored < DELIVERIES; stored += 50) {
    await inbox.store(Array.from({ length: 50 }, () => mail(lines.map((id) => ({ id, lane: undefined })))));
    const { claims } = await inbox.claim({ max: 50 * ENTRIES, mergeMax: 1 });
    await inbox.settle(
      claims.map((claim, index) => ({ claim, outcomes: [stored % 400 === 0 && index === 0 ? DEAD : DONE] })),
    );
  }
  asked.length = 0;
  /** So that pages are read again. */
  const forget = (): void => db?.exec("PRAGMA shrink_memory");
  return { inbox, file, clock, asked, forget };
}

test("dead jobs are found by one task that reads a few pages, and replayed and dropped likewise", async () => {
  const { inbox, asked, forget } = await busyInbox();
  forget();
  const before = bytesRead();
  const { jobs, next } = await inbox.jobs.find(QUERY);
  expect([jobs.length, next]).toEqual([3, undefined]);
  expect(bytesRead() - before).toBeLessThan(40 * PAGE_BYTES);
  expect(asked).toEqual([["find"]]);
  asked.length = 0;
  expect(await inbox.jobs.replay({ states: ["dead"], consumer: "default" })).toBe(3);
  expect(asked.filter((verbs) => verbs.includes("runRequest")).length).toBeLessThanOrEqual(2);
  const { claims } = await inbox.claim({ max: 10, mergeMax: 1 });
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [DEAD] })));
  asked.length = 0;
  expect(await inbox.jobs.drop({ states: ["dead"] })).toBe(3);
  expect(asked.filter((verbs) => verbs.includes("runRequest")).length).toBeLessThanOrEqual(2);
});

test("a delivery that waits to be expanded is read without those before it", async () => {
  const { inbox, forget } = await busyInbox();
  await inbox.store([raw(mail(["late"]))]);
  forget();
  const before = bytesRead();
  expect(await inbox.unexpanded(10)).toHaveLength(1);
  expect(bytesRead() - before).toBeLessThan(40 * PAGE_BYTES);
});

test("a page of done jobs reads a bounded part of a backlog that was expanded later", async () => {
  const { inbox, file, asked } = await busyInbox();
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  db.exec(`WITH RECURSIVE n(id) AS (SELECT (SELECT last_id FROM state) + 1 UNION ALL SELECT id + 1 FROM n LIMIT 3000)
    INSERT INTO delivery SELECT id, 1, 1, NULL, '', '', '', NULL, NULL, NULL, x'' FROM n;
    UPDATE state SET last_id = last_id + 3000`);
  await inbox.store([mail(["after it"])]);
  const [claim] = (await inbox.claim({ max: 1, mergeMax: 1 })).claims;
  await inbox.settle([{ claim: claim as Claim, outcomes: [DONE] }]);
  asked.length = 0;
  const id = String(DELIVERIES * (ENTRIES + 1));
  expect((await inbox.jobs.find({ states: ["done"], after: id, limit: 10 })).jobs).toHaveLength(1);
  expect(asked.length).toBeGreaterThanOrEqual(3);
});

test("unhandled jobs with long bodies come a few at a time, and all of them", async () => {
  const { inbox } = await onDisk({ openThread: openInline });
  const filler = "x".repeat(1_000_000);
  for (let count = 0; count < 6; count += 1) await inbox.store([mail([nobodys("a"), nobodys("b")], { filler })]);
  const handled = [{ type: "email.updated", consumer: "default" }];
  const pages: number[] = [];
  for (let after: string | undefined; ;) {
    const page = await inbox.jobs.unhandled({ handled, after, limit: 100 });
    if (page.length === 0) break;
    pages.push(page.length);
    after = page.at(-1)?.id;
  }
  expect(pages).toEqual([8, 4]);
});

test("jobs are found while another process holds a write transaction", async () => {
  const { inbox, file } = await onDisk({ openThread: openInline });
  await inbox.store([mail(["a"])]);
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.exec("BEGIN IMMEDIATE");
  expect((await inbox.jobs.find({ limit: 10 })).jobs).toHaveLength(1);
  expect(await inbox.jobs.get("2")).toMatchObject({ job: { state: "waiting" } });
  other.exec("ROLLBACK");
});

const PAGE_BYTES = 8_192;

/** What this process has read from files since it began; 0 where the system does not say it. */
function bytesRead(): number {
  const counters = "/proc/self/io";
  return existsSync(counters) ? Number(/rchar: (\d+)/.exec(readFileSync(counters, "utf8"))?.[1]) : 0;
}

test("unhandled jobs whose bodies are longer than what a page reads come one a page", async () => {
  const { inbox } = await onDisk();
  const filler = "x".repeat(5 * 1024 * 1024);
  for (const id of ["a", "b"]) await inbox.store([mail([nobodys(id)], { filler })]);
  const page = { handled: [{ type: "email.updated", consumer: "default" }], limit: 10 };
  const first = await inbox.jobs.unhandled(page);
  const second = await inbox.jobs.unhandled({ ...page, after: first[0]?.id });
  expect([first.length, second.length]).toEqual([1, 1]);
});

test("a page of blocked lanes looks at some thousand jobs at a time, and finds the heads behind many that stand behind others", async () => {
  const { inbox, clock, asked } = await busyInbox();
  const error = { name: "Error", message: "no", at: 0 };
  const later: JobOutcome = { to: "retry", at: clock.now() + 3_600_000, delayMs: 3_600_000, counted: true, error };
  const lanes = ["one", "two", "three"].flatMap((lane) =>
    Array.from({ length: 1_500 }, () => ({ id: "merges", lane, mergeKey: lane })),
  );
  await inbox.store([mail(lanes)]);
  const { claims } = await inbox.claim({ max: 10, mergeMax: 2_000 });
  const outcomes = claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => later) }));
  await inbox.settle(outcomes);
  asked.length = 0;
  const found = (await inbox.jobs.blocked?.({ now: clock.now(), limit: 10 })) ?? [];
  expect(found.map(({ job }) => job.lane)).toEqual(["one", "two", "three"]);
  expect(asked).toEqual([["blocked"], ["blocked"], ["blocked"]]);
  const [first] = found;
  const behind = await inbox.jobs.blocked?.({ now: clock.now(), after: first?.job, limit: 1 });
  expect(behind?.map(({ job }) => job.lane)).toEqual(["two"]);
});

test("blocked lanes are not at an end where the first ones of a page run", async () => {
  const { inbox, clock } = await onDisk({ openThread: openInline });
  const error = { name: "Error", message: "no", at: 0 };
  await inbox.store([
    mail([
      { id: "runs", lane: undefined },
      { id: "waits", lane: undefined },
    ]),
  ]);
  const { claims } = await inbox.claim({ max: 2, mergeMax: 1 });
  const times = [1_000, 2_000].map((ms) => clock.now() + ms);
  const outcomes = claims.map((claim, place): Settlement => {
    return { claim, outcomes: [{ to: "retry", at: times[place] ?? 0, delayMs: 2_000, counted: true, error }] };
  });
  await inbox.settle(outcomes);
  clock.jump(1_000);
  expect((await inbox.claim({ max: 1, mergeMax: 1 })).claims).toHaveLength(1);
  const found = await inbox.jobs.blocked?.({ now: clock.now() - 1_000, limit: 1 });
  expect(found?.map(({ job }) => job.runAt)).toEqual(times.slice(1));
});
