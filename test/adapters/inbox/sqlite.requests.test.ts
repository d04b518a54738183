import { NOTHING_ERASED, type WorkingInbox } from "hookline/adapter";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, nobodys } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { claimAll, done, findAll, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { turns, until, watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openInline } from "./inline-thread.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "./mortal-sqlite-inbox.ts";

/** An inbox that is worked on, and others on the same file that only ask. An inline one sees nothing that the others do. */
async function bench({ openThread, next }: Pick<SqliteOptions, "openThread"> & { next?: typeof openThread } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  const make = (own?: SqliteOptions["openThread"]): WorkingInbox => mortalSqliteInbox({ file, openThread: own });
  const opened = await openBench({
    make: () => make(openThread),
    crash: async (inbox) => {
      await crashSqliteInbox(inbox);
      return make(next);
    },
    cleanup: () => rmSync(folder, { recursive: true }),
  });
  onTestFinished(() => opened.end());

  async function asking(): Promise<WorkingInbox> {
    const inbox = make();
    await inbox.open(opened.host);
    onTestFinished(() => inbox.close());
    return inbox;
  }
  return { ...opened, file, asking };
}

/** The requests that are not answered. */
function queuedIn(file: string): number {
  const db = new DatabaseSync(file);
  try {
    return Number(db.prepare("SELECT count(*) AS count FROM request WHERE answered_at IS NULL").get()?.["count"]);
  } finally {
    db.close();
  }
}

/** How far the oldest of them has come. */
function cursorIn(file: string): unknown {
  const db = new DatabaseSync(file);
  try {
    return db.prepare("SELECT cursor FROM request WHERE answered_at IS NULL").get()?.["cursor"];
  } finally {
    db.close();
  }
}

/** A process that stops in the middle of its requests, when it has done so many pages. */
function stoppingAfter(pages: number): NonNullable<SqliteOptions["openThread"]> {
  let carried = 0;
  return async (...given) => {
    const channel = await openInline(...given);
    return {
      ...channel,
      run(batch) {
        if (batch.tasks.some(({ verb }) => verb === "runRequest")) carried += 1;
        return carried > pages ? new Promise(() => {}) : channel.run(batch);
      },
    };
  };
}

function change(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

async function idsOf(inbox: WorkingInbox): Promise<string[]> {
  return (await findAll(inbox)).map(({ id }) => id);
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index + 1));

test("what another drops never runs here, and is gone from the memory of the one who works", async () => {
  const { inbox, asking } = await bench();
  const other = await asking();
  await storeAll(inbox, mail(["a", "b", "c"]));
  const [, b] = await idsOf(other);
  expect(await other.jobs.drop({ ids: [b ?? ""] })).toBe(1);
  await eventually(() => expect(inbox.stats().waiting).toBe(2));
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"], ["c"]]);
});

test("what another replays runs here, and who works is woken", async () => {
  const { inbox, asking, heard } = await bench();
  const other = await asking();
  await storeAll(inbox, mail(["a"]));
  for (const claim of await claimAll(inbox)) await settleAll(inbox, claim, done);
  heard.woken = 0;
  expect(await other.jobs.replay({ ids: await idsOf(other) })).toBe(1);
  await eventually(() => expect(heard.woken).toBeGreaterThan(0));
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"]]);
});

test("what runs of an account that another erases is lost here", async () => {
  const { inbox, asking, heard } = await bench();
  const other = await asking();
  await storeAll(inbox, mail(["a"], { accountId: 7 }), mail(["b"]));
  const [claim] = await claimAll(inbox);
  expect((await other.jobs.erase(7)).count).toBe(1);
  await eventually(() => expect(heard.lost).toEqual([claim]));
  expect(await inbox.settle([{ claim: claim as NonNullable<typeof claim>, outcomes: [done] }])).toEqual([false]);
});

test("two who ask at once each hear how many were theirs", async () => {
  const { inbox, asking } = await bench();
  const others = [await asking(), await asking()];
  await storeAll(inbox, mail(["a", "b", "c"]));
  const [a = "", ...rest] = await idsOf(inbox);
  const counts = await Promise.all([
    others[0]?.jobs.drop({ ids: [a] }),
    others[1]?.jobs.drop({ ids: rest }),
    inbox.jobs.drop({ ids: ["999"] }),
  ]);
  expect(counts).toEqual([1, 2, 0]);
});

test("when nobody works the caller does it, and no attempt and no death is counted for it", async () => {
  const { inbox, asking, succeed } = await bench();
  await storeAll(inbox, mail(["a", "b", "c"]));
  await claimAll(inbox, { max: 2 });
  await crashSqliteInbox(inbox);
  const other = await asking();
  const [a = "", , c = ""] = await idsOf(other);
  // Whoever ran it is dead: it does not run, and the one who kills its process can be taken away.
  expect(await other.jobs.drop({ ids: [a, c] })).toBe(2);
  expect(other.stats()).toMatchObject({ waiting: 0, running: 1 });
  const next = await succeed();
  expect(next.stats()).toMatchObject({ waiting: 1, running: 0 });
  const [claim, ...more] = await claimAll(next);
  expect(claim?.jobs).toMatchObject([{ attempt: 2, deaths: 1 }]);
  expect(more).toEqual([]);
});

test("when nobody works an erased job is not marked as running any more", async () => {
  const { inbox, asking } = await bench({ openThread: openInline });
  await storeAll(inbox, mail(["a"], { accountId: 7 }), mail(["b"]));
  await claimAll(inbox);
  await crashSqliteInbox(inbox);
  const other = await asking();
  expect((await other.jobs.erase(7)).count).toBe(1);
  expect(other.stats()).toMatchObject({ waiting: 0, running: 1 });
});

test("a caller with many pages lets one who wants to work begin, who goes on with the rest", async () => {
  const { inbox, asking, clock, file, succeed } = await bench();
  await storeAll(inbox, mail(["a"]));
  await crashSqliteInbox(inbox);
  const other = await asking();
  const dropping = watch(other.jobs.drop({ ids: [...numbers(3_000).slice(100), "2"] }));
  await eventually(() => expect(cursorIn(file)).toBe(2_000));
  await turns();
  expect(cursorIn(file)).toBe(2_000);
  const next = await succeed();
  expect(cursorIn(file)).toBe(undefined);
  await clock.advance(300);
  await until(() => dropping.ended);
  expect(dropping.value).toBe(1);
  expect(await claimAll(next)).toEqual([]);
});

test("a stalled worker: after 10 s the caller hears that it stays queued, and it is done later", async () => {
  const { inbox, asking, clock, file } = await bench({ openThread: openInline });
  const other = await asking();
  await storeAll(inbox, mail(["a", "b"]));
  const [a = ""] = await idsOf(inbox);
  const dropping = watch(other.jobs.drop({ ids: [a] }));
  await eventually(() => expect(queuedIn(file)).toBe(1));
  await eventually(async () => {
    await clock.advance(10_000);
    expect(dropping.ended).toBe(true);
  });
  expect(dropping.error).toMatchObject({ name: "StorageError", code: "request-queued" });
  expect(String(dropping.error)).toMatch(/request \d+ /);
  expect(queuedIn(file)).toBe(1);
  expect(await inbox.jobs.drop({ ids: ["999"] })).toBe(0);
  expect(queuedIn(file)).toBe(0);
  expect(recordsOf(await claimAll(inbox))).toEqual([["b"]]);
});

test("what was asked for is done when the caller has closed, or died", async () => {
  const { inbox, asking, file } = await bench({ openThread: openInline });
  const [closing, dying] = [await asking(), await asking()];
  await storeAll(inbox, mail(["a", "b", "c"]));
  const [a = "", b = ""] = await idsOf(inbox);
  const asked = [watch(closing.jobs.drop({ ids: [a] })), watch(dying.jobs.drop({ ids: [b] }))];
  await eventually(() => expect(queuedIn(file)).toBe(2));
  await closing.close();
  await crashSqliteInbox(dying);
  await until(() => asked.every(({ ended }) => ended));
  expect(asked.map(({ error }) => error)).toMatchObject([{ code: "request-queued" }, { code: "request-queued" }]);
  await inbox.jobs.drop({ ids: ["999"] });
  expect(recordsOf(await claimAll(inbox))).toEqual([["c"]]);
});

test("a query takes what was there when it was asked for, whatever came meanwhile", async () => {
  const { inbox, asking, file } = await bench({ openThread: openInline });
  const other = await asking();
  await storeAll(inbox, mail(["a", nobodys("b")]));
  const dropping = other.jobs.drop({ states: ["waiting", "unhandled"] });
  await eventually(() => expect(queuedIn(file)).toBe(1));
  await storeAll(inbox, mail(["c"]));
  await inbox.jobs.drop({ ids: [] });
  expect(recordsOf(await claimAll(inbox))).toEqual([["c"]]);
  await inbox.close();
  expect(await dropping).toBe(2);
});

test("a replay by a query does not take the jobs that it made, over any number of pages", async () => {
  const { inbox } = await bench({ openThread: openInline });
  const skipped = numbers(60).map((id) => ({ id, state: "skipped" as const }));
  for (let delivery = 0; delivery < 20; delivery += 1) await storeAll(inbox, mail(skipped));
  expect(await inbox.jobs.replay({ states: ["skipped", "done"] })).toBe(1_200);
  expect(inbox.stats().waiting).toBe(1_200);
  expect(await inbox.jobs.drop({ states: ["waiting"] })).toBe(1_200);
  expect(inbox.stats().waiting).toBe(0);
});

test("one that works begins with what was asked for before, and a request half done is done once", async () => {
  const { inbox, asking, file, succeed } = await bench({ openThread: stoppingAfter(3) });
  const skipped = numbers(100).map((id) => ({ id, state: "skipped" as const }));
  for (let delivery = 0; delivery < 5; delivery += 1) await storeAll(inbox, mail(skipped));
  const ids = await idsOf(inbox);
  const other = await asking();
  const replaying = other.jobs.replay({ ids });
  await eventually(() => expect(queuedIn(file)).toBe(1));
  void inbox.jobs.drop({ ids: [] }).catch(() => {});
  await eventually(() => expect(cursorIn(file)).toBe(400));
  const next = await succeed();
  expect(await replaying).toBe(500);
  const replayed = (await findAll(next, { states: ["waiting"] })).map(({ replayOf }) => replayOf);
  expect(replayed).toEqual(ids);
});

test.each([
  ["goes on beside the handlers of the process that works next", false],
  ["holds that one up where a drop waits behind it", true],
])("a replay that takes longer than 5 s %s", async (_, hasDrop) => {
  let pages = 0;
  const begunAt = new Set<number>();
  /** Longer stretches would be jumped over. */
  const advanceAll = async (): Promise<void> => {
    for (let steps = 0; steps < 3; steps += 1) await opened.clock.advance(2_000);
  };
  const next: SqliteOptions["openThread"] = async (...given) => {
    const channel = await openInline(...given);
    return {
      ...channel,
      async run(batch) {
        if (batch.tasks.some(({ verb }) => verb === "runRequest")) {
          pages += 1;
          if (queuedIn(opened.file) > 0) begunAt.add(opened.heard.begun);
          if (pages === 2) await advanceAll();
          else if (pages > 2) await turns();
        }
        return channel.run(batch);
      },
    };
  };
  const opened = await bench({ openThread: stoppingAfter(1), next });
  const skipped = numbers(100).map((id) => ({ id, state: "skipped" as const }));
  for (let delivery = 0; delivery < 40; delivery += 1) await storeAll(opened.inbox, mail(skipped));
  const other = await opened.asking();
  const replaying = watch(other.jobs.replay({ states: ["skipped", "done"] }));
  await eventually(() => expect(queuedIn(opened.file)).toBe(1));
  const dropping = hasDrop ? watch(other.jobs.drop({ states: ["waiting"] })) : undefined;
  await eventually(() => expect(queuedIn(opened.file)).toBe(hasDrop ? 2 : 1));
  const successor = await opened.succeed();
  await eventually(() => expect(successor.stats().waiting).toBe(4_000)); // a drop does not take what comes later
  await until(() => replaying.ended && dropping?.ended !== false);
  expect([...begunAt]).toEqual(hasDrop ? [1] : [1, 2]);
});

test("one that cannot be carried out is refused, and those behind it are carried out", async () => {
  const { inbox, clock, file } = await bench({ openThread: openInline });
  await storeAll(inbox, mail(["a", "b"]));
  const [a = "", b = ""] = await idsOf(inbox);
  change(file, `CREATE TRIGGER no BEFORE DELETE ON job WHEN old.id = ${a} BEGIN SELECT RAISE(ABORT, 'no'); END`);
  const asked = [watch(inbox.jobs.drop({ ids: [a] })), watch(inbox.jobs.drop({ ids: [b] }))];
  await eventually(async () => {
    await clock.advance(250);
    expect(asked.every(({ ended }) => ended)).toBe(true);
  });
  expect(asked[0]?.error).toMatchObject({ name: "StorageError", code: "request-failed" });
  expect(asked[1]?.value).toBe(1);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"]]);
});

test("while even that cannot be written it stays, and is done when it can", async () => {
  const { inbox, clock, file } = await bench({ openThread: openInline });
  await storeAll(inbox, mail(["a"]));
  change(file, "CREATE TRIGGER no BEFORE UPDATE ON request BEGIN SELECT RAISE(ABORT, 'no'); END");
  const dropping = watch(inbox.jobs.drop({ ids: await idsOf(inbox) }));
  for (let tries = 0; tries < 5; tries += 1) await clock.advance(250);
  expect(dropping.ended).toBe(false);
  change(file, "DROP TRIGGER no");
  await eventually(async () => {
    await clock.advance(250);
    expect(dropping).toMatchObject({ ended: true, value: 1 });
  });
});

test("an answer is stored for a day, and does not say what was asked", async () => {
  const { inbox, clock, file } = await bench({ openThread: openInline });
  await inbox.jobs.drop({ ids: ["4711"] });
  clock.jump(25 * 3_600_000);
  await inbox.jobs.erase(4_711);
  const db = new DatabaseSync(file);
  const rows = db.prepare("SELECT verb, selection, count FROM request").all();
  db.close();
  expect(rows).toEqual([{ verb: "erase", selection: JSON.stringify(NOTHING_ERASED), count: 0 }]);
});
