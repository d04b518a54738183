import { expect, test } from "vitest";
import { mail, notice, raw, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, findAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

/** A delivery of one record that differs in something. */
function odd(id: string, { delivery = {}, event = {} }: Readonly<Record<string, object>>): FullDelivery {
  const given = mail([id]);
  const [first] = given.events;
  return {
    delivery: { ...given.delivery, ...delivery },
    events: [{ ...first!, event: { ...first!.event, ...event } }],
  };
}

/** Of a surrogate pair. */
const HALF = "\uD83D";

const ODD: readonly (readonly [string, Readonly<Record<string, object>>])[] = [
  ["NUL in the name of a header", { delivery: { headers: { "a\0b": "c" } } }],
  ["half a surrogate pair in the name of a header", { delivery: { headers: { [HALF]: "c" } } }],
  ["half a surrogate pair in the signature", { delivery: { signature: HALF } }],
  ["a time that is no number", { delivery: { sentAt: Number.NaN } }],
  ["a time beyond all", { delivery: { sentAt: Infinity, receivedAt: 1e300 } }],
];

test.each(ODD)("a delivery with %s is stored, and so are those beside it", async (_, what) => {
  const { start } = await openProcesses();
  const { inbox } = await start();
  await storeAll(inbox, mail(["a"]), odd("b", what), mail(["c"]));
  const claims = await claimAll(inbox);
  expect(recordsOf(claims)).toEqual([["a"], ["b"], ["c"]]);
  expect(await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })))).toEqual([true, true, true]);
  expect(inbox.ready()).toEqual({ ready: true });
});

test("a delivery that is refused whatever is changed in it fails alone, and the process stays ready", async () => {
  const { start, sql } = await openProcesses();
  const { inbox } = await start();
  await sql.query("alter table hookline.delivery add constraint none check (source <> 'bad') not valid");
  const results = await inbox.store([mail(["a"]), mail(["b"]), mail(["c"], { source: "bad" })]);
  expect(results.map((result) => (result instanceof Error ? "refused" : "stored"))).toEqual([
    "stored",
    "stored",
    "refused",
  ]);
  expect(inbox.ready()).toEqual({ ready: true });
});

test("deliveries that are refused again and again leave no rows of writers", async () => {
  const { start, sql, rows } = await openProcesses();
  const { inbox } = await start();
  await storeAll(inbox, mail(["a"]));
  await sql.query("alter table hookline.delivery add constraint none check (source <> 'bad') not valid");
  const writers = await rows("select id from hookline.writer");
  for (let time = 0; time < 3; time += 1)
    expect(await inbox.store([mail(["b"], { source: "bad" })])).toEqual([expect.any(Error)]);
  await storeAll(inbox, mail(["c"]));
  expect(await rows("select id from hookline.writer")).toEqual(writers);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"], ["c"]]);
});

test("a delivery whose jobs PostgreSQL does not take is stored without them", async () => {
  const { start, sql } = await openProcesses();
  const { inbox } = await start();
  await sql.query("alter table hookline.job add constraint none check (lane <> 'default b')");
  const stored = await storeAll(inbox, mail(["a"]), mail(["b"]), mail(["c"]));
  expect(stored.map((one) => "expanded" in one && one.expanded)).toEqual([true, false, false]);
  expect((await inbox.unexpanded(10)).map(({ id }) => id)).toEqual(stored.slice(1).map(({ id }) => id));
  expect(inbox.ready()).toEqual({ ready: true });
});

test("an expansion that PostgreSQL does not take fails, and is lost in no way: its events can be unhandled jobs, and others become jobs", async () => {
  const { start, sql } = await openProcesses();
  const { inbox } = await start();
  const given = [mail(["a"]), mail(["b"]), mail(["c"])];
  await storeAll(inbox, ...given.map(raw));
  await sql.query("alter table hookline.job add constraint none check (lane <> 'default b')");
  const waiting = await inbox.unexpanded(10);
  const [a, b, c] = waiting.map(({ id }, place) => ({ id, events: given[place]!.events, cursor: undefined }));
  await expect(inbox.expand([a!, b!, c!])).rejects.toMatchObject({ name: "StorageError" });
  const whole = { duplicates: [], conflicts: [] };
  expect(await inbox.expand([a!])).toEqual([whole]);
  await expect(inbox.expand([b!])).rejects.toMatchObject({ name: "StorageError" });
  expect(await inbox.expand([{ id: b!.id, events: [], cursor: 0 }])).toEqual([whole]);
  expect((await inbox.unexpanded(10)).map(({ id }) => id)).toEqual([b!.id, c!.id]);
  const unhandled = { state: "unhandled", consumer: undefined, lane: undefined, mergeKey: undefined } as const;
  await inbox.expand([
    { ...b!, events: b!.events.map(({ entry, event }) => ({ entry, event, unique: undefined, jobs: [unhandled] })) },
  ]);
  expect(await inbox.expand([c!])).toEqual([whole]);
  expect(await inbox.unexpanded(10)).toEqual([]);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"], ["c"]]);
  expect((await findAll(inbox, { states: ["unhandled"] })).map(({ deliveryId }) => deliveryId)).toEqual([b!.id]);
});

test("an expansion with odd numbers becomes jobs", async () => {
  const { start } = await openProcesses();
  const { inbox } = await start();
  const given = odd("a", { event: { accountId: 1.5, subscription: Number.NaN } });
  await storeAll(inbox, raw(given));
  const [waiting] = await inbox.unexpanded(10);
  await inbox.expand([{ id: waiting!.id, events: given.events, cursor: undefined }]);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"]]);
});

test.each(["53100", "55P03", "57014"])(
  "stores that fail again and again with %s leave no rows of writers",
  async (state) => {
    const { start, rows } = await openProcesses();
    const { inbox } = await start();
    await storeAll(inbox, mail(["a"]));
    const writers = await rows("select id from hookline.writer");
    await rows(
      `create function hookline.refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '${state}'; end $$`,
    );
    await rows(
      "create trigger refuse before insert on hookline.delivery for each row execute function hookline.refuse()",
    );
    for (let time = 0; time < 3; time += 1) expect(await inbox.store([mail(["b"])])).toEqual([expect.any(Error)]);
    await rows("drop trigger refuse on hookline.delivery");
    await storeAll(inbox, mail(["c"]));
    expect(await rows("select id from hookline.writer")).toEqual(writers);
    expect(recordsOf(await claimAll(inbox))).toEqual([["a"], ["c"]]);
  },
);

test("rows of thousands of writers, as a connection that breaks again and again leaves them, hold up no claim", async () => {
  const { start, rows } = await openProcesses();
  const { inbox } = await start();
  await rows("insert into hookline.writer (seq, first_id, last_id) select 1, 1, 2 from generate_series(1, 10000)");
  for (const id of ["a", "b", "c"]) {
    await storeAll(inbox, mail([id]));
    expect(recordsOf(await claimAll(inbox))).toEqual([[id]]);
  }
});

test.each(["XX002", "58030", "42501"])(
  "a delivery that needs a table that fails with %s is refused alone, and the process stays ready",
  async (code) => {
    const { start, sql } = await openProcesses();
    const { inbox } = await start();
    await sql.query(`create function hookline.fail() returns trigger language plpgsql as $$ begin raise exception using errcode = '${code}', message = 'broken'; end $$;
      create trigger fail before insert or update on hookline.subscription for each row execute function hookline.fail()`);
    const results = await inbox.store([mail(["a"]), notice("in trouble"), mail(["b"])]);
    expect(results.map((result) => (result instanceof Error ? "refused" : "stored"))).toEqual([
      "stored",
      "refused",
      "stored",
    ]);
    expect(inbox.ready()).toEqual({ ready: true });
  },
);

test.each(["XX000", "XX001", "P0001"])(
  "of a batch only the deliveries are refused that the server fails at (%s), and the process stays ready",
  async (code) => {
    const { start, sql } = await openProcesses();
    const { inbox } = await start();
    await sql.query(`create function hookline.fail() returns trigger language plpgsql as $$ begin raise exception using errcode = '${code}', message = 'broken'; end $$;
      create trigger fail before insert on hookline.delivery for each row when (new.source = 'bad') execute function hookline.fail()`);
    const given = Array.from({ length: 40 }, (_, nth) =>
      mail([`${nth}`], nth === 7 || nth === 39 ? { source: "bad" } : {}),
    );
    const results = await inbox.store(given);
    expect([...results.keys()].filter((place) => results[place] instanceof Error)).toEqual([7, 39]);
    expect(inbox.ready()).toEqual({ ready: true });
    expect(await claimAll(inbox, { max: 40 })).toHaveLength(38);
  },
);

test("where the server fails at each delivery, a batch is refused after a few tries", async () => {
  const { start, sql, rows } = await openProcesses();
  const { inbox } = await start();
  await sql.query(`create sequence hookline.tries;
    create function hookline.fail() returns trigger language plpgsql as $$ begin perform nextval('hookline.tries'); raise exception 'broken'; end $$;
    create trigger fail before insert on hookline.delivery for each statement execute function hookline.fail()`);
  const results = await inbox.store(Array.from({ length: 100 }, (_, nth) => mail([`${nth}`])));
  expect(results.every((result) => result instanceof Error)).toBe(true);
  expect(inbox.ready()).toMatchObject({ ready: false });
  const [row] = await rows<{ tries: string }>("select last_value as tries from hookline.tries");
  expect(Number(row?.tries)).toBeLessThan(25);
});
