import { createReceiver, type Receiver } from "hookline";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Claim, Delivery, WorkingInbox } from "../../../src/adapter.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { mail, nobodys, one, raw } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openDatabase } from "./in-database.ts";
import { openProcesses, type Processes } from "./postgres-processes.ts";

const SECRET = "a signing secret";

/** As where a page of it is broken on the disk. */
async function breakBody(
  { sql }: Pick<Processes, "sql">,
  delivery: string,
  condition = "data_corrupted",
): Promise<void> {
  await sql.query(`
    create function hookline.broken() returns bytea stable language plpgsql as $$ begin raise ${condition} using message = 'missing chunk'; end $$;
    alter table hookline.delivery rename to kept;
    create view hookline.delivery as select day, id, received_at, sent_at, source, signed_by, signature, headers, account, subscription, jobs, absent,
      case when id in (${delivery}) then hookline.broken() else body end as body from hookline.kept`);
}

test("an unexpanded delivery that PostgreSQL cannot read is an unhandled job, and the others are handled", async () => {
  const database = await newDatabase();
  const sql = new pg.Pool(database);
  onTestFinished(async () => {
    await sql.end();
    await database.drop();
  });
  const receivers: Receiver[] = [];
  onTestFinished(() => Promise.all(receivers.map((each) => each.close({ drainMs: 0 }))).then(() => {}));
  const log = logRecorder();
  const receiver = (): Receiver => {
    const inbox = openDatabase(database.connectionString) as WorkingInbox<"network">;
    const made = createReceiver({ secret: SECRET, storeTimeoutMs: 60_000, inbox, log: log.logger });
    receivers.push(made);
    return made;
  };

  const receiving = receiver();
  for (const id of ["a", "b", "c"]) {
    const request = signedRequest(bodyOf({ payloads: [change(id)] }), { secret: SECRET, at: new Date() });
    expect((await receiving.receive(request)).status).toBe(200);
  }
  await receiving.close();
  const { rows } = await sql.query<{ id: string }>("select id from hookline.delivery order by id");
  const broken = rows[1]!.id;
  await breakBody({ sql }, broken);

  const working = receiver();
  const seen: unknown[] = [];
  working.on("email", ({ id }) => void seen.push(id));
  await working.start();
  await eventually(() => expect(seen).toEqual(["a", "c"]));
  expect((await working.jobs.list({ state: "unhandled" })).jobs).toMatchObject([
    { deliveryId: broken, event: { type: "unknown" } },
  ]);
  expect(log.of("delivery-unreadable")).toMatchObject([{ level: "error", facts: { deliveryId: broken } }]);
});

test("an unexpanded delivery that PostgreSQL cannot read keeps no later one from being stored", async () => {
  const processes = await openProcesses();
  const receiving = await processes.start();
  await receiving.inbox.store([raw(mail(["a"])), raw(mail(["b"]))]);
  await receiving.inbox.close();
  const rows = await processes.rows<{ id: string }>("select id from hookline.delivery order by id");
  await breakBody(processes, rows[0]!.id);
  const { inbox } = await processes.start();
  const page = await inbox.unexpanded(1);
  expect(
    await inbox.expand(page.map(({ id }) => ({ id, events: mail([nobodys("a")]).events, cursor: undefined }))),
  ).toEqual([{ duplicates: [], conflicts: [] }]);
  // More than a process remembers of what it stored.
  await processes.rows("drop view hookline.delivery; alter table hookline.kept rename to delivery");
  const filler = "x".repeat(3 * 1024 * 1024);
  for (const id of ["c", "d", "e", "f", "g", "h", "i"]) await storeAll(inbox, mail([id], { filler }));
});

describe.each(["io_error", "undefined_file", "internal_error"])(
  "where PostgreSQL cannot read a file (%s)",
  (condition) => {
    async function withBroken(broken: (ids: readonly string[]) => readonly string[]) {
      const processes = await openProcesses();
      const receiving = await processes.start();
      await receiving.inbox.store(["a", "b", "c", "d"].map((id) => raw(mail([id]))));
      await receiving.inbox.close();
      const ids = (await processes.rows<{ id: string }>("select id from hookline.delivery order by id")).map(({ id }) => id); // prettier-ignore
      await breakBody(processes, broken(ids).join(), condition);
      const process = await processes.start();
      async function expandNext(): Promise<string[]> {
        const page = await process.inbox.unexpanded(10);
        await process.inbox.expand(
          page.map(({ id }) => ({ id, events: mail([nobodys(id)]).events, cursor: undefined })),
        );
        return page.map(({ id }) => id);
      }
      return { ...process, ids, expandNext };
    }

    test("a delivery in it is waited for for a minute, and then those behind it are expanded", async () => {
      const { clock, log, ids, expandNext } = await withBroken(([, b = "", c = ""]) => [b, c]);
      const [a, b, c, d] = ids;
      expect(await expandNext()).toEqual([a]);
      await expect(expandNext()).rejects.toThrow("missing chunk");
      clock.jump(59_000);
      await expect(expandNext()).rejects.toThrow("missing chunk");
      clock.jump(1_000);
      expect([await expandNext(), await expandNext(), await expandNext(), await expandNext()]).toEqual([[b], [c], [d], []]); // prettier-ignore
      expect(log.of("delivery-unreadable")).toMatchObject([{ facts: { deliveryId: b } }, { facts: { deliveryId: c } }]);
    });

    test("deliveries of which none can be read wait until the disk is back", async () => {
      const { clock, log, expandNext } = await withBroken((ids) => ids);
      for (let look = 0; look < 3; look += 1) {
        await expect(expandNext()).rejects.toThrow("missing chunk");
        clock.jump(3_600_000);
      }
      expect(log.of("delivery-unreadable")).toEqual([]);
    });
  },
);

test.each([1, 120])(
  "%i unexpanded deliveries that are not in the tables any more keep no other from being handled",
  async (count) => {
    const processes = await openProcesses();
    const receiving = await processes.start();
    await receiving.inbox.store(Array.from({ length: count }, (_, nth) => raw(mail([`gone ${nth}`]))));
    await receiving.inbox.close();
    await processes.rows("delete from hookline.delivery");
    const { inbox, log } = await processes.start();
    const delivery = mail(["a"]);
    await storeAll(inbox, raw(delivery));
    const [first] = await inbox.unexpanded(100);
    expect(first?.delivery.body.toString()).toContain('"a"');
    await inbox.expand([{ id: first!.id, events: delivery.events, cursor: undefined }]);
    expect(recordsOf(await claimAll(inbox))).toEqual([["a"]]);
    expect(await processes.rows("select * from hookline.unexpanded")).toEqual([]);
    const told = log.of("delivery-unreadable").map(({ facts }) => (facts as { readonly count: number }).count);
    expect(told.reduce((sum, each) => sum + each, 0)).toBe(count);
  },
);

test("an unexpanded delivery whose row says another day waits on", async () => {
  const processes = await openProcesses();
  const { inbox, log } = await processes.start();
  await storeAll(inbox, raw(mail(["a"])));
  await processes.rows("update hookline.unexpanded set day = -1");
  expect(await inbox.unexpanded(100)).toHaveLength(1);
  expect(log.of("delivery-unreadable")).toEqual([]);
});

test("of merged jobs, the one whose delivery PostgreSQL cannot read ends alone", async () => {
  const processes = await openProcesses();
  const first = await processes.start();
  await storeAll(first.inbox, ...["a", "b", "c", "d"].map((id) => mail([one(id, "key")])));
  await first.inbox.close();
  const rows = await processes.rows<{ id: string }>("select id from hookline.delivery order by id");
  await breakBody(processes, rows[1]!.id);
  const { inbox } = await processes.start();
  expect(await claimAll(inbox, { mergeMax: 10 })).toEqual([]);
  const claim = await claimOne(inbox, 10);
  expect(recordsOf([claim])).toEqual([["a", "c", "d"]]);
  expect(claim.jobs.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  await inbox.settle([{ claim, outcomes: [done, done, done] }]);
  const { jobs } = await inbox.jobs.find({ states: ["dead", "waiting"], limit: 10 });
  expect(jobs).toMatchObject([{ state: "dead", deliveryId: rows[1]!.id, error: { name: "StorageError" } }]);
});

test.each(["io_error", "undefined_file", "internal_error"])(
  "a job whose delivery cannot be read (%s) waits alone for a minute, and ends",
  async (why) => {
    const processes = await openProcesses();
    const first = await processes.start();
    await storeAll(first.inbox, ...["a", "b", "c", "d"].map((id) => mail([id])));
    await first.inbox.close();
    const [bad] = await processes.rows<{ id: string }>("select id from hookline.delivery order by id");
    await breakBody(processes, bad!.id, why);
    const { inbox, clock, log } = await processes.start();
    const claims: Claim[] = [];
    await eventually(async () => {
      claims.push(...(await claimAll(inbox)));
      expect(recordsOf(claims).flat().toSorted()).toEqual(["b", "c", "d"]);
    });
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    expect(log.of("body-unread")).toMatchObject([{ level: "error" }]);
    const states = async () => (await inbox.jobs.find({ states: ["dead", "waiting"], limit: 10 })).jobs;
    expect(await states()).toMatchObject([{ state: "waiting", deliveryId: bad!.id }]);
    await clock.advance(60_000);
    expect(await claimAll(inbox)).toEqual([]);
    expect(await states()).toMatchObject([{ state: "dead", error: { name: "StorageError" } }]);
  },
);

const EMAILS = { handled: [{ type: "email.updated", consumer: "default" }], after: undefined };

test.each(["data_corrupted", "undefined_file", "internal_error"])(
  "unhandled jobs whose delivery cannot be read (%s) are stepped over",
  async (why) => {
    const processes = await openProcesses();
    const { inbox, log } = await processes.start();
    await storeAll(inbox, ...["a", "b", "c", "d"].map((id) => mail([nobodys(id)])));
    const rows = await processes.rows<{ id: string }>("select id from hookline.delivery order by id");
    await breakBody(processes, rows[1]!.id, why);
    const found = await inbox.jobs.unhandled({ ...EMAILS, limit: 10 });
    expect(found.map(({ delivery }) => changeIn(delivery))).toEqual(["a", "c", "d"]);
    expect(log.of("delivery-unreadable")).toMatchObject([{ level: "error", facts: { deliveryId: rows[1]!.id } }]);
    const [only] = await inbox.jobs.unhandled({ ...EMAILS, after: found[0]!.id, limit: 1 });
    expect(only && changeIn(only.delivery)).toBe("c");
  },
);

test("a page of unhandled jobs whose deliveries are not in the tables is removed, and the next one given", async () => {
  const processes = await openProcesses();
  const { inbox, log } = await processes.start();
  await storeAll(inbox, ...["a", "b", "c"].map((id) => mail([nobodys(id)])));
  await processes.rows("delete from hookline.delivery where id < (select max(id) from hookline.delivery)");
  const found = await inbox.jobs.unhandled({ ...EMAILS, limit: 2 });
  expect(found.map(({ delivery }) => changeIn(delivery))).toEqual(["c"]);
  expect(await processes.rows("select * from hookline.unhandled")).toHaveLength(1);
  expect(log.of("job-without-delivery")).toMatchObject([{ level: "error", facts: { count: 2 } }]);
});

test("an account is erased though a delivery that may be another's cannot be read", async () => {
  const processes = await openProcesses();
  const { inbox, log } = await processes.start();
  await storeAll(inbox, ...[5, 6, 5].map((accountId) => raw(mail(["a"], { accountId }))));
  const rows = await processes.rows<{ id: string }>("select id from hookline.delivery order by id");
  await breakBody(processes, rows[1]!.id);
  expect(await inbox.jobs.erase(5)).toMatchObject({ deliveries: 2 });
  expect(await processes.rows("select id from hookline.kept")).toEqual([rows[1]]);
  expect(log.of("delivery-unreadable")).toMatchObject([{ level: "error", facts: { deliveryId: rows[1]!.id } }]);
});

function changeIn({ body }: Delivery): string {
  return (JSON.parse(Buffer.from(body).toString()) as { readonly payloads: readonly { readonly id: string }[] })
    .payloads[0]!.id;
}
