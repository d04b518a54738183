import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { rowsOf } from "../../../adapters/inbox/sqlite/schema/columns.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { findAll, storeAll } from "../../suites/inbox/verbs.ts";
import { changeFile, fullFile, reopened } from "./damaged-file.ts";

/** `node:sqlite` throws where it reads it. */
const BEYOND = "1152921504606846976";

test("a row that cannot be read leaves no statement open", () => {
  const db = new DatabaseSync(":memory:");
  db.exec(`CREATE TABLE t (a); INSERT INTO t VALUES (1), (${BEYOND}), (3)`);
  const rows = rowsOf<{ a: number }>(db.prepare("SELECT a FROM t"));
  expect(rows.next()).toMatchObject({ value: { a: 1 } });
  expect(() => rows.next()).toThrow("too large");
  db.exec("DROP TABLE t");
  db.close();
});

test("a reader that stops early leaves no statement open", () => {
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)");
  for (const row of rowsOf(db.prepare("SELECT a FROM t"))) if (row !== undefined) break;
  db.exec("DROP TABLE t");
  db.close();
});

test("a group of suspects that may have no member keeps no suspect from running", async () => {
  const path = await fullFile();
  changeFile(path, "UPDATE job SET deaths = 2, group_max = 0");
  const { inbox } = await reopened(path);
  const { claims } = await inbox.claim({ max: 10, mergeMax: 1, suspects: true });
  expect(claims).not.toEqual([]);
});

/** With two of each, of which one can be spoilt. */
async function file(): Promise<string> {
  const path = await fullFile();
  const { inbox, clock } = await reopened(path);
  const at = clock.now();
  for (const subscription of [5, 6]) {
    const resource = { source: undefined, subscription, accountId: 1, resource: `/${subscription}`, family: "email" };
    await inbox.tombstones.put({ subscription: subscription + 10, source: undefined, reason: "no" });
    await inbox.subscriptions.record({ ...resource, error: "no" }, { source: undefined, sentAt: at });
    await inbox.gaps?.seen([resource], at);
    await inbox.gaps?.add([{ ...resource, cause: "down", from: at - 2, until: at - 1 }]);
  }
  await inbox.close();
  return path;
}

const cells = (table: string, first: string, columns: readonly string[]): [table: string, sql: string][] =>
  columns.map((column) => [`${table}.${column}`, `UPDATE ${table} SET ${column} = ${BEYOND} WHERE ${first}`]);
const LEAST = (table: string): string => `rowid = (SELECT min(rowid) FROM ${table})`;
const COUNTS = ["unexpanded", "open", "running", "dead", "unhandled", "expired", "tombstones"];
const STATE = ["epoch", "last_id", ...COUNTS, "mark_version"];
const JOB = ["delivery", "entry", "account", "subscription", "received_at", "replay_of", "attempts"];

describe("an integer that cannot be read stops nothing else:", () => {
  test.each([
    ...cells("delivery", LEAST("delivery"), ["received_at", "sent_at", "account", "subscription"]),
    ...cells("job", LEAST("job"), [...JOB, "deaths", "run_at", "delay_ms", "group_max", "first_attempt_at"]),
    ...cells("dead", LEAST("dead"), [...JOB, "settled_at"]),
    ...cells("unhandled", LEAST("unhandled"), [...JOB, "settled_at"]),
    ...cells("tombstone", "subscription = 15", ["subscription", "any_source", "since", "last_hit"]),
    ...cells("subscription", LEAST("subscription"), ["subscription", "account", "sent_at"]),
    ...cells("subscribed_resource", LEAST("subscribed_resource"), ["subscription", "account", "from_at", "until_at"]),
    ...cells("state", "one = 1", STATE),
    ["state.mark", "UPDATE state SET mark = 'no bytes'"],
    ["state.mark, a number", `UPDATE state SET mark = ${BEYOND}`],
    ["job.id", `UPDATE job SET id = ${BEYOND} WHERE id = (SELECT max(id) FROM job)`],
    ["job.id below 0", `UPDATE job SET id = -${BEYOND} WHERE id = (SELECT max(id) FROM job)`],
    ["request.id", `INSERT INTO request VALUES (${BEYOND}, 'drop', '{"ids":[]}', 0, 0, 1, NULL, NULL)`],
    ["request.id below 0", `INSERT INTO request VALUES (-${BEYOND}, 'drop', '{"ids":[]}', 0, 0, 1, NULL, NULL)`],
    ["subscribed_resource.id", `UPDATE subscribed_resource SET id = ${BEYOND} WHERE ${LEAST("subscribed_resource")}`],
    ["delivery.id below 0", `UPDATE delivery SET id = -${BEYOND} WHERE id = (SELECT max(id) FROM delivery)`],
    ["delivery.id", `UPDATE delivery SET id = ${BEYOND} WHERE id = (SELECT max(id) FROM delivery)`],
    ["dedupe.seen_at", `INSERT INTO dedupe VALUES (x'00', ${BEYOND})`],
    ["meta", `INSERT OR REPLACE INTO meta VALUES ('alive', ${BEYOND})`],
    ["request.cursor", `INSERT INTO request VALUES (1, 'drop', '{"ids":[]}', ${BEYOND}, 0, 1, NULL, NULL)`],
    ["lane_window.up_to", `UPDATE job SET lane = 'l'; INSERT INTO lane_window VALUES ('l', 1, x'ff00')`],
    ["lane_window.since", `UPDATE job SET lane = 'l'; INSERT INTO lane_window VALUES ('l', x'ff00', 9e14)`],
  ])("%s", async (_cell, sql) => {
    const path = await file();
    changeFile(path, sql);
    const { inbox, clock, log } = await reopened(path);
    await storeAll(inbox, mail(["new"]));
    expect((await findAll(inbox)).length).toBeGreaterThan(6);
    expect((await findAll(inbox, { states: ["dead"] })).length).toBeGreaterThan(0);
    const handled = [{ type: "email.created", consumer: "late" }];
    await inbox.jobs.unhandled({ handled, after: undefined, limit: 10 });
    expect((await inbox.tombstones.list()).map(({ subscription }) => subscription)).toContain(16);
    expect((await inbox.subscriptions.known()).map(({ subscription }) => subscription)).toContain(6);
    const gaps = await inbox.gaps?.find({ limit: 10 });
    expect(gaps?.gaps.map(({ subscription }) => subscription)).toContain(6);
    expect(await inbox.gaps?.count()).toHaveLength(1);
    await inbox.gaps?.mark({ at: clock.now(), afterMs: 60_000 });
    const ended: unknown[] = [];
    const hear = (asked: Promise<unknown>): void =>
      void asked.then(
        (count) => ended.push(count),
        (error: unknown) => ended.push(error),
      );
    hear(inbox.jobs.replay({ states: ["dead"] }));
    hear(inbox.jobs.erase(77));
    await expect
      .poll(async () => {
        await clock.advance(250);
        return ended;
      })
      .toEqual([expect.any(Number), expect.objectContaining({ count: 0 })]);
    await clock.advance(61_000);
    expect(log.of("retention-failed")).toEqual([]);
  });
});
