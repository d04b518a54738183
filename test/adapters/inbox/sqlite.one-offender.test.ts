import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../../src/adapter.ts";
import { createOperations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, findAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { changeFile, fullFile, handleAll, reopened } from "./damaged-file.ts";
import { openInline } from "./inline-thread.ts";
import { onDisk } from "./on-disk.ts";

const REFUSE = (verb: string): string =>
  `CREATE TEMP TRIGGER refuse BEFORE ${verb} ON main.job WHEN OLD.lane = 'bad' BEGIN SELECT RAISE(ABORT, 'no'); END`;

describe("where what becomes of one job cannot be stored", () => {
  test.each([
    ["because the file refuses it", REFUSE("UPDATE"), 1_000],
    ["because its time is no number", "", Number.NaN],
  ])("%s, it is dead, and the others are settled", async (_why, sql, delayMs) => {
    const openThread = ((options, events) =>
      openInline(options, events, { opened: (db) => db.exec(sql) })) as typeof openInline;
    const { inbox, clock } = await onDisk({ openThread });
    await storeAll(inbox, mail([{ id: "a", lane: "bad" }]), mail(["b"]), mail(["c"]));
    const claims = await claimAll(inbox);
    const error = { name: "Error", message: "no", at: clock.now() };
    const later = { to: "retry", at: clock.now() + delayMs, delayMs: 1_000, counted: true, error } as const;
    const outcomes = [later, done, { ...later, at: clock.now() + 1_000 }];
    const settled = await inbox.settle(claims.map((claim, index) => ({ claim, outcomes: [outcomes[index] ?? done] })));
    expect(settled).toEqual([true, true, true]);
    expect((await findAll(inbox)).map(({ state }) => state)).toEqual(["dead", "done", "waiting"]);
    expect(inbox.stats()).toMatchObject({ waiting: 1, running: 0, dead: 1 });
    await storeAll(inbox, mail([{ id: "next of its lane", lane: "bad" }]));
    expect(await claimAll(inbox)).toHaveLength(1);
  });
});

test("of hundreds of jobs the one whose end cannot be stored is found in a few transactions", async () => {
  let transactions = 0;
  let file: DatabaseSync | undefined;
  function counting(db: DatabaseSync): void {
    file = db;
    db.exec(REFUSE("DELETE"));
    const prepare = db.prepare.bind(db);
    db.prepare = (sql) => {
      const statement = prepare(sql);
      const run = statement.run.bind(statement);
      if (sql === "BEGIN IMMEDIATE") statement.run = () => ((transactions += 1), run());
      return statement;
    };
  }
  const openThread = ((options, events) => openInline(options, events, { opened: counting })) as typeof openInline;
  const { inbox, clock } = await onDisk({ openThread });
  await storeAll(
    inbox,
    mail(Array.from({ length: 300 }, (_, nth) => (nth === 123 ? { id: "bad", lane: "bad" } : `${nth}`))),
  );
  const claims = await claimAll(inbox, { max: 300 });
  const before = transactions;
  const dead = { to: "dead", error: { name: "Error", message: "no", at: clock.now() } } as const;
  const settle = () => inbox.settle(claims.map((claim) => ({ claim, outcomes: [dead] })));
  await expect(settle()).rejects.toThrow("no");
  expect(transactions - before).toBeLessThan(30);
  expect(await findAll(inbox, { states: ["dead"] })).toHaveLength(299);
  file?.exec("DROP TRIGGER refuse");
  expect(await settle()).toEqual(claims.map(() => true));
  expect(await findAll(inbox, { states: ["dead"] })).toHaveLength(300);
});

test("a job that was made dead beside one that can end in no form stays dead: its next try does not give it back", async () => {
  const refuse = [`UPDATE ON main.job WHEN OLD.lane IN ('bad', 'worse')`, `DELETE ON main.job WHEN OLD.lane = 'worse'`];
  let file: DatabaseSync | undefined;
  const opened = (db: DatabaseSync): void => {
    file = db;
    for (const [nth, when] of refuse.entries())
      db.exec(`CREATE TEMP TRIGGER refuse_${nth} BEFORE ${when} BEGIN SELECT RAISE(ABORT, 'no'); END`);
  };
  const openThread = ((options, events) => openInline(options, events, { opened })) as typeof openInline;
  const { inbox, clock } = await onDisk({ openThread });
  await storeAll(inbox, mail([{ id: "a", lane: "bad" }]), mail([{ id: "b", lane: "worse" }]));
  const claims = await claimAll(inbox);
  const error = { name: "Error", message: "no", at: clock.now() };
  const later = { to: "retry", at: clock.now() + 1_000, delayMs: 1_000, counted: true, error } as const;
  const settle = (some: readonly Claim[]) => inbox.settle(some.map((claim) => ({ claim, outcomes: [later] })));
  await expect(settle(claims)).rejects.toThrow("no");
  expect(await settle(claims.slice(0, 1))).toEqual([true]);
  expect((await findAll(inbox)).map(({ state }) => state)).toEqual(["dead", "running"]);
  for (const nth of refuse.keys()) file?.exec(`DROP TRIGGER refuse_${nth}`);
  expect(await settle(claims.slice(1))).toEqual([true]);
  expect((await findAll(inbox)).map(({ state }) => state)).toEqual(["dead", "waiting"]);
  await clock.advance(5_000);
  expect(recordsOf(await claimAll(inbox))).toEqual([["b"]]);
});

test.each([7, 15])(
  "a commit that SQLite could not begin, error %i, makes no job dead that it would have settled",
  async (errcode) => {
    let failures = 0;
    function failing(db: DatabaseSync): void {
      const prepare = db.prepare.bind(db);
      db.prepare = (sql) => {
        const statement = prepare(sql);
        if (sql !== "BEGIN IMMEDIATE") return statement;
        const run = statement.run.bind(statement);
        statement.run = () => {
          failures -= 1;
          if (failures >= 0) throw Object.assign(new Error("no"), { code: "ERR_SQLITE_ERROR", errcode });
          return run();
        };
        return statement;
      };
    }
    const openThread = ((options, events) => openInline(options, events, { opened: failing })) as typeof openInline;
    const { inbox } = await onDisk({ openThread });
    await storeAll(inbox, mail(["a"]), mail(["b"]));
    const claims = await claimAll(inbox);
    failures = 3;
    const settlements = claims.map((claim) => ({ claim, outcomes: [done] }));
    const first = await inbox.settle(settlements).catch((error: unknown) => error);
    expect(first).toBeInstanceOf(Error);
    failures = 0;
    expect(await inbox.settle(settlements)).toEqual([true, true]);
    expect((await findAll(inbox)).map(({ state }) => state)).toEqual(["done", "done"]);
  },
);

const IS = "delivery = (SELECT id FROM delivery WHERE CAST(body AS TEXT) LIKE '%\"waits 2\"%')";
const OF = IS.replace("delivery =", "id =");

describe("one row that cannot be read stops no other:", () => {
  test.each([
    [`UPDATE delivery SET headers = '{"half' WHERE ${OF}`],
    [`UPDATE delivery SET headers = 'null' WHERE ${OF}`],
    [`UPDATE delivery SET body = 'text' WHERE ${OF}`],
    [`UPDATE delivery SET received_at = 'yesterday' WHERE ${OF}`],
    [`UPDATE delivery SET sent_at = 9223372036854775807 WHERE ${OF}`],
    [`UPDATE delivery SET jobs = '[[0,' WHERE id < (SELECT id FROM delivery WHERE ${OF})`],
    [`UPDATE delivery SET jobs = '[null, 7, [3]]' WHERE id < (SELECT id FROM delivery WHERE ${OF})`],
    ["UPDATE job SET lane = x'ff01' WHERE id = (SELECT max(id) FROM job)"],
    ["UPDATE job SET error = '{', attempts = 1 WHERE id = (SELECT max(id) FROM job)"],
    ["UPDATE job SET delivery = 9223372036854775807 WHERE id = (SELECT max(id) FROM job)"],
    ["UPDATE dead SET error = 'no JSON'"],
    ["UPDATE dead SET type = x'00'"],
    ["UPDATE unhandled SET consumer = x'00'"],
    ["UPDATE unexpanded SET cursor = 'x' WHERE delivery = (SELECT min(delivery) FROM unexpanded)"],
    ["UPDATE unexpanded SET cursor = 9223372036854775807 WHERE delivery = (SELECT min(delivery) FROM unexpanded)"],
    ["UPDATE state SET mark = x'0102030405060708'"],
    ["UPDATE state SET mark = 'text', running = 9"],
    ["INSERT INTO request (id, verb, selection, cursor, asked_at) VALUES (1, 'drop', '{\"ids\":[', 0, 0)"],
    ["INSERT INTO request (id, verb, selection, cursor, asked_at) VALUES (1, 'drop', 'null', 0, 0)"],
    ["INSERT INTO request (id, verb, selection, cursor, asked_at) VALUES (1, 'dance', '{\"ids\":[]}', 0, 0)"],
  ])("%s", async (sql) => {
    const file = await fullFile();
    changeFile(file, sql);
    const bench = await reopened(file);
    const { inbox, clock } = bench;
    const handled = await handleAll(bench);
    expect(handled).toEqual(expect.arrayContaining(["waits 1", "raw 2"]));
    expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0, unexpanded: 0 });
    await storeAll(inbox, mail(["fresh"]));
    expect(await handleAll(bench)).toEqual(["fresh"]);
    expect((await findAll(inbox)).length).toBeGreaterThan(2);
    let dropped: number | undefined;
    void inbox.jobs.drop({ states: ["dead", "unhandled"] }).then((count) => (dropped = count));
    await expect
      .poll(async () => {
        await clock.advance(250);
        return dropped;
      })
      .toBe(4);
    const limits = {
      wallClock: Infinity,
      trusted: 9e14,
      received: 9e14,
      unhandled: 9e14,
      dead: 9e14,
      keys: 9e14,
      tombstones: 9e14,
    };
    await inbox.close();
    const db = new DatabaseSync(file);
    const operations = createOperations(db, { dedupeWindowMs: 0 });
    operations.begin(undefined);
    expect(operations.retain({ ...limits, after: 0 })).toMatchObject({ expired: 0 });
    db.close();
  });
});

test("lanes that are as long as a body are loaded few at a time", async () => {
  const file = await fullFile();
  changeFile(file, "UPDATE job SET lane = hex(zeroblob(4000000)) || id");
  const db = new DatabaseSync(file);
  const operations = createOperations(db, { dedupeWindowMs: 0 });
  operations.begin(undefined);
  const first = JSON.parse(operations.openJobs({ after: 0, limit: 1_000 }).rows) as unknown[];
  expect(first).toHaveLength(2);
  db.close();
});

test("a delivery whose jobs cannot be written is refused alone", async () => {
  const { inbox } = await onDisk({ openThread: openInline });
  const lane = {
    toJSON() {
      throw new RangeError("Invalid string length");
    },
  } as unknown as string;
  const stored = await Promise.all([inbox.store([mail([{ id: "a", lane }])]), inbox.store([mail(["b"])])]);
  expect(stored).toMatchObject([[{ code: "storage-failed" }], [{ expanded: true }]]);
  expect(await claimAll(inbox)).toHaveLength(1);
});

describe("what no thread can be given is refused alone:", () => {
  const value = Promise.resolve("text") as never;

  test("in a query, and the next commit has its answer", async () => {
    const { inbox } = await onDisk();
    await expect(inbox.gaps?.find({ accountId: value, limit: 1 })).rejects.toMatchObject({
      name: "StorageError",
      message: expect.stringContaining("could not be cloned"),
    });
    expect(await inbox.store([mail(["a"])])).toMatchObject([{ expanded: true }]);
    expect(inbox.ready()).toEqual({ ready: true });
  });

  test("in a commit, and what is in the same one is stored", async () => {
    const { inbox } = await onDisk();
    const keyValues = inbox.keyValues!;
    const given = { a: "one", b: value, c: "three", d: value };
    const [stored, ...set] = await Promise.allSettled([
      inbox.store([mail(["a"])]),
      ...Object.entries(given).map(([key, text]) => keyValues.set(key, text, undefined)),
    ]);
    expect(stored).toMatchObject({ value: [{ expanded: true }] });
    expect(set.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    const found = await Promise.all(Object.keys(given).map((key) => keyValues.get(key)));
    expect(found).toEqual(["one", undefined, "three", undefined]);
    expect(await claimAll(inbox)).toHaveLength(1);
  });
});
