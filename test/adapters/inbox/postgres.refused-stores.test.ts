import { expect, test } from "vitest";
import { mail, raw, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
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

test("an expansion that PostgreSQL does not take ends without jobs, and the others become jobs", async () => {
  const { start, sql } = await openProcesses();
  const { inbox, log } = await start();
  const given = [mail(["a"]), mail(["b"]), mail(["c"])];
  await storeAll(inbox, ...given.map(raw));
  await sql.query("alter table hookline.job add constraint none check (lane <> 'default b')");
  const waiting = await inbox.unexpanded(10);
  const expansions = waiting.map(({ id }, place) => ({ id, events: given[place]!.events, cursor: undefined }));
  expect(await inbox.expand(expansions)).toEqual(given.map(() => ({ duplicates: [], conflicts: [] })));
  expect(log.of("expansion-refused")).toMatchObject([{ facts: { delivery: waiting[1]!.id } }]);
  expect(await inbox.unexpanded(10)).toEqual([]);
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"], ["c"]]);
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
