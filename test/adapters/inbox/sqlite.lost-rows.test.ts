import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { mail, nobodys, raw } from "../../suites/inbox/deliveries.ts";
import { claimAll, dead, recordsIn, recordsOf, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { watch } from "../../support/event-loop.ts";
import { changeFile, fullFile, handleAll, reopened } from "./damaged-file.ts";
import { claimedIds } from "./on-disk.ts";

const OF = (record: string): string =>
  `(SELECT id FROM delivery WHERE CAST(body AS TEXT) LIKE '%"${record.replace("'", "''")}"%')`;

describe("a job whose delivery is not in the file", () => {
  test("is removed with an error line when it is claimed, and no other counts an attempt or a death", async () => {
    const file = await fullFile();
    changeFile(file, `DELETE FROM delivery WHERE id = ${OF("lost")}`);
    const bench = await reopened(file);
    const claims = await claimAll(bench.inbox);
    expect(recordsOf(claims)).toEqual([["waits 1"], ["waits 2"], ["waits 3"]]);
    expect(claims.map(({ jobs: [{ attempt, deaths }] }) => [attempt, deaths])).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
    expect(bench.log.of("job-without-delivery")).toMatchObject([{ level: "error", facts: { count: 1 } }]);
    expect(bench.inbox.stats()).toMatchObject({ waiting: 0, running: 3 });
  });

  test("is removed also where it is claimed with others of its lane, which run", async () => {
    let bench = await reopened(await fullFile());
    await handleAll(bench);
    const one = (id: string) => mail([{ id, lane: "one", mergeKey: "one" }]);
    await storeAll(bench.inbox, one("lane 1"), one("lane 2"), one("lane 3"));
    await bench.inbox.close();
    changeFile(bench.file, `DELETE FROM delivery WHERE id = ${OF("lane 2")}`);
    bench = await reopened(bench.file);
    expect(recordsOf((await bench.inbox.claim({ max: 10, mergeMax: 10 })).claims)).toEqual([["lane 1", "lane 3"]]);
    expect(bench.log.of("job-without-delivery")).toHaveLength(1);
  });

  test("can be dropped, and makes no process die", async () => {
    const file = await fullFile();
    changeFile(file, "DELETE FROM delivery");
    const { inbox } = await reopened(file);
    expect(await inbox.jobs.drop({ states: ["waiting"] })).toBe(4);
    expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
  });

  test("does not come again where a dead one is replayed, and can be dropped", async () => {
    const file = await fullFile();
    changeFile(file, `DELETE FROM delivery WHERE id = ${OF("dead 1")}`);
    const bench = await reopened(file);
    expect(await bench.inbox.jobs.replay({ states: ["dead"] })).toBe(1);
    expect(await handleAll(bench)).not.toContain("dead 1");
    expect(bench.inbox.stats()).toMatchObject({ waiting: 0, dead: 1 });
    expect(await bench.inbox.jobs.drop({ states: ["dead"] })).toBe(1);
  });

  test("ends no sweep of unhandled jobs", async () => {
    const file = await fullFile();
    changeFile(file, `DELETE FROM delivery WHERE id = ${OF("nobody's 1")}`);
    const { inbox, log } = await reopened(file);
    const handled = [{ type: "email.updated", consumer: "default" }] as const;
    const [next] = await inbox.jobs.unhandled({ handled, after: undefined, limit: 1 });
    expect(JSON.parse(next?.delivery.body.toString() ?? "").payloads[0].id).toBe("nobody's 2");
    expect(log.of("job-without-delivery")).toHaveLength(1);
    expect(inbox.stats().unhandled).toBe(1);
  });
});

test("a delivery that is gone before it was expanded holds up no other, and what comes next is expanded at once", async () => {
  const file = await fullFile();
  changeFile(file, `DELETE FROM delivery WHERE id = ${OF("raw 1")}`);
  const bench = await reopened(file);
  expect(await handleAll(bench)).toContain("raw 2");
  expect(bench.inbox.stats()).toMatchObject({ unexpanded: 0, waiting: 0 });
  expect(await bench.inbox.store([mail(["fresh"])])).toMatchObject([{ expanded: true }]);
  expect(bench.log.of("delivery-unreadable")).toMatchObject([{ level: "error", facts: { count: 1 } }]);
});

const TABLES = [
  "meta", "state", "delivery", "job_list", "unexpanded", "job", "lane_window", "dead", "unhandled", "dedupe",
  "tombstone", "subscription", "subscribed_resource", "key_value", "request",
]; // prettier-ignore

describe("a file that has lost", () => {
  test.each(TABLES.flatMap((table) => [`all rows of ${table}`, `every other row of ${table}`]))(
    "%s works on: what is left is handled, and what comes",
    async (what) => {
      const table = what.split(" ").at(-1) as string;
      const file = await fullFile();
      changeFile(file, what.startsWith("all") ? `DELETE FROM ${table}` : everyOther(file, table));
      const bench = await reopened(file);
      await handleAll(bench);
      const { inbox } = bench;
      expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0, unexpanded: 0 });
      expect(await inbox.store([mail(["fresh"]), raw(mail(["fresh raw"]))])).toMatchObject([{ expanded: true }, {}]);
      expect((await handleAll(bench)).toSorted()).toEqual(["fresh", "fresh raw"]);
      expect(await recordsIn(inbox, { states: ["done"] })).toEqual(expect.arrayContaining(["fresh", "fresh raw"]));
      const counted = watch(inbox.jobs.drop({ states: ["dead", "unhandled"] }));
      await bench.clock.advance(0);
      await expect.poll(() => counted.ended).toBe(true);
      expect(inbox.stats()).toMatchObject({ dead: 0, unhandled: 0 });
    },
  );

  test("its state gives no id twice", async () => {
    const file = await fullFile();
    const db = new DatabaseSync(file);
    const last = Number(db.prepare("SELECT last_id AS last FROM state").get()?.["last"]);
    db.exec("DELETE FROM state");
    db.close();
    const { inbox } = await reopened(file);
    const [stored] = await inbox.store([mail(["fresh"])]);
    expect(Number((stored as { readonly id: string }).id)).toBeGreaterThanOrEqual(last);
    expect(inbox.stats()).toMatchObject({ dead: 2, unhandled: 2, unexpanded: 3, waiting: 4 });
  });
});

test("a file whose counts are wrong is looked through when the work is taken over", async () => {
  const file = await fullFile();
  changeFile(
    file,
    `DELETE FROM delivery WHERE id IN (${OF("dead 1")}, ${OF("lost")}, ${OF("nobody's 1")}, ${OF("raw 1")})`,
  );
  changeFile(file, "UPDATE state SET open = 40, dead = 7, unhandled = 0, unexpanded = 90");
  const { inbox, log } = await reopened(file);
  await inbox.store([mail(["counts"])]);
  expect(inbox.stats()).toMatchObject({ dead: 1, unhandled: 1, unexpanded: 2, waiting: 3 });
  expect(log.of("job-without-delivery").map(({ facts }) => facts["count"])).toEqual([1, 1, 1]);
});

test("of a file that lost nothing no row is removed", async () => {
  const file = await fullFile();
  changeFile(file, "UPDATE state SET open = 40");
  const bench = await reopened(file);
  expect(bench.log.of("job-without-delivery")).toEqual([]);
  expect((await handleAll(bench)).toSorted()).toEqual(["lost", "raw 1", "raw 2", "waits 1", "waits 2", "waits 3"]);
  await storeAll(bench.inbox, mail([nobodys("x")]), mail(["y"]));
  expect(await claimedIds(bench.inbox)).toEqual(["y"]);
  const [claim] = await claimAll(bench.inbox);
  if (claim !== undefined) await settleAll(bench.inbox, claim, dead(bench));
});

function everyOther(file: string, table: string): string {
  const key =
    { dedupe: "seen_at", key_value: "account", meta: "length(key)", tombstone: "subscription" }[table] ?? "rowid";
  void file;
  return `DELETE FROM ${table} WHERE ${key} % 2 = 0`;
}
