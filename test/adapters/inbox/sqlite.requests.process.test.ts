import type { Clock, JobQuery, StoredJob, WorkingInbox } from "hookline/adapter";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";
import { startNode, type Child } from "../../cli/child.ts";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";

const TIMEOUT = 60_000;
const ROUNDS = Number(process.env["HOOKLINE_ROUNDS"] ?? 2);
const MOST_ROUNDS = 20;
const JOBS = 2_000;
const fresh = { receivedAt: Date.now() };

/** This process only asks; whoever is started works, in a process of its own. */
async function asking(clock: Clock = systemClock) {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "inbox.db");
  const inbox: WorkingInbox = createSqliteInbox({ file });
  await inbox.open({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 60_000 });
  onTestFinished(() => inbox.close());
  const start = (): Child => startNode(["test/adapters/inbox/holding-process.ts", file]);
  return { inbox, file, start };
}

async function jobsIn(inbox: WorkingInbox, query: JobQuery = {}): Promise<readonly StoredJob[]> {
  return (await inbox.jobs.find({ ...query, limit: JOBS + 1 })).jobs;
}

async function idsOf(inbox: WorkingInbox): Promise<string[]> {
  return (await jobsIn(inbox)).map(({ id }) => id);
}

test("another process that works hears of what is dropped, erased and replayed", { timeout: TIMEOUT }, async () => {
  const { inbox, start } = await asking();
  const child = start();
  await child.says("out", /^worker\n/m);
  await storeAll(inbox, raw(mail(["held"], { ...fresh, accountId: 7 })), raw(mail(["dropped", "quick"], fresh)));
  await child.says("out", /^claimed held\n/m);
  const [, dropped = "", quick = ""] = await eventually(async () => {
    const ids = await idsOf(inbox);
    expect(ids).toHaveLength(3);
    return ids;
  });
  expect(await inbox.jobs.drop({ ids: [dropped] })).toBe(1);
  expect((await inbox.jobs.erase(7)).count).toBe(1);
  await child.says("out", /^lost held\nclaimed quick\n/m);
  await eventually(async () => expect(await jobsIn(inbox, { states: ["done"] })).toHaveLength(1));
  expect(await inbox.jobs.replay({ ids: [quick] })).toBe(1);
  await child.says("out", /^claimed quick\nclaimed quick\n/m);
  expect(child.out()).not.toContain("dropped");
});

test(
  "one that is stopped for long leaves the request queued, and does it when it goes on",
  { timeout: TIMEOUT },
  async () => {
    const clock = fakeClock();
    const { inbox, file, start } = await asking(clock);
    const child = start();
    await child.says("out", /^worker\n/m);
    await storeAll(inbox, raw(mail(["held", "dropped"], fresh)));
    await child.says("out", /^claimed held\n/m);
    const [, dropped = ""] = await idsOf(inbox);
    await stopBetweenWrites(child, file);
    const dropping = watch(inbox.jobs.drop({ ids: [dropped] }));
    await eventually(async () => {
      await clock.advance(10_000);
      expect(dropping.ended).toBe(true);
    });
    expect(dropping.error).toMatchObject({ code: "request-queued" });
    expect(await idsOf(inbox)).toHaveLength(2);
    child.kill("SIGCONT");
    await eventually(async () => expect(await idsOf(inbox)).toHaveLength(1));
  },
);

test(
  `${ROUNDS} times killed half-way through a replay, its successor does the rest: each job once, and the count is right`,
  { timeout: TIMEOUT + (ROUNDS + MOST_ROUNDS) * 20_000 },
  async () => {
    const skipped = Array.from({ length: 100 }, (_, id) => ({ id: `held ${id}`, state: "skipped" as const }));
    let halfWay = 0;
    // A kill may come too late to be one half-way.
    for (let round = 0; round < ROUNDS || (halfWay === 0 && round < MOST_ROUNDS); round += 1) {
      const { inbox, file, start } = await asking();
      await fill(file, skipped);
      const ids = await idsOf(inbox);
      const child = start();
      await child.says("out", /^worker\n/m);
      const replaying = inbox.jobs.replay({ ids });
      const after = Math.floor((Math.random() * JOBS) / 2);
      await eventually(() => expect(cursorIn(file)).toBeGreaterThan(after));
      child.kill("SIGKILL");
      await child.ended;
      if (cursorIn(file) < Infinity) halfWay += 1;
      await start().says("out", /^worker\n/m);
      expect(await replaying).toBe(JOBS);
      const replayed = await jobsIn(inbox, { states: ["waiting", "running"] });
      expect(replayed.map(({ replayOf }) => replayOf)).toEqual(ids);
    }
    expect(halfWay).toBeGreaterThan(0);
  },
);

/** Stopped in the middle of a write it would hold up all who write. */
async function stopBetweenWrites(child: Child, file: string): Promise<void> {
  const db = new DatabaseSync(file, { timeout: 0 });
  onTestFinished(() => db.close());
  await eventually(() => {
    child.kill("SIGSTOP");
    try {
      db.exec("BEGIN IMMEDIATE; ROLLBACK");
    } catch (error) {
      child.kill("SIGCONT");
      throw error;
    }
  });
}

/** How far the request has come; beyond all when it is answered. */
function cursorIn(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  try {
    const row = db.prepare("SELECT cursor, answered_at FROM request ORDER BY id DESC LIMIT 1").get();
    return row?.["answered_at"] === null ? Number(row["cursor"]) : row === undefined ? 0 : Infinity;
  } finally {
    db.close();
  }
}

async function fill(file: string, entries: Parameters<typeof mail>[0]): Promise<void> {
  const inbox: WorkingInbox = createSqliteInbox({ file });
  await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 });
  await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
  await storeAll(inbox, ...Array.from({ length: JOBS / entries.length }, () => mail(entries, fresh)));
  await inbox.close();
}
