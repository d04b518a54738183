import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { claimAll, done, findAll, recordsOf, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses } from "./postgres-processes.ts";

/** What no Hookline writes. */
const ODD: readonly string[] = [
  `error = '"a text"'`,
  `error = '[1]'`,
  `error = '{}'`,
  `error = 'null'`,
  `error = '{"name": 1, "message": {}, "at": "x"}'`,
  "attempts = -5",
  "attempts = 2147483647",
  "deaths = -5",
  "deaths = 2147483647",
  "deaths = 2, group_max = 0",
  "deaths = 2, group_max = -1",
  "run_at = -9223372036854775808",
  "first_attempt_at = 9223372036854775807",
  "first_attempt_at = -9223372036854775808",
  "delay_ms = 9223372036854775807",
  "delay_ms = -1",
  "entry = -1",
  "entry = 2147483647",
  "day = -1",
  "delivery = -1",
  "delivery = 9223372036854775807",
  "received_at = -9223372036854775808",
  "replay_of = -9223372036854775808",
  "consumer = ''",
  "merge_key = ''",
];

test.each(ODD)("a row with %s keeps no other job of its shard from being handled, and ends", async (what) => {
  const processes = await openProcesses();
  const first = await processes.start();
  await storeAll(first.inbox, mail([{ id: "odd", lane: "one" }]), mail([{ id: "other", lane: "two" }]));
  await processes.rows("update hookline.job set shard = 7");
  await processes.rows(`update hookline.job set ${what} where lane = 'one'`);
  await first.inbox.close();
  const { inbox } = await processes.start();
  const seen: string[] = [];
  await processes.passing(async () => {
    const claims = [...(await claimAll(inbox)), ...(await claimAll(inbox, { suspects: true }))];
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    seen.push(...recordsOf(claims).flat());
    expect(seen).toContain("other");
    expect(await processes.rows("select * from hookline.job")).toEqual([]);
  });
});

test("a job whose delivery is not in the tables ends with a line in the log, and the others of its claim run", async () => {
  const processes = await openProcesses();
  const first = await processes.start();
  const stored = await storeAll(first.inbox, mail(["a"]), mail(["b"]), mail(["c"]));
  await processes.rows("delete from hookline.delivery where id = $1", [(stored[1] as { readonly id: string }).id]);
  await first.inbox.close();
  const { inbox, log } = await processes.start();
  const claims = await claimAll(inbox);
  expect(recordsOf(claims)).toEqual([["a"], ["c"]]);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
  expect(await processes.rows("select id from hookline.job")).toEqual([]);
  expect(log.of("job-without-delivery")).toMatchObject([{ level: "error" }]);
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});

test("a job whose delivery a step did not find, because it moved to another partition just then, is claimed again", async () => {
  const processes = await openProcesses();
  const first = await processes.start();
  await storeAll(first.inbox, mail(["a"]));
  await first.inbox.close();
  const { inbox, log } = await processes.start();
  const change = (from: string, to: string): Promise<unknown> =>
    processes.rows(
      `do $$ begin execute (select replace(pg_get_functiondef('hookline.work'::regproc), '${from}', '${to}')); end $$`,
    );
  await change("= any (wanted_ids)", "= any (wanted_ids) and false");
  expect(await claimAll(inbox)).toEqual([]);
  await change("= any (wanted_ids) and false", "= any (wanted_ids)");
  expect(recordsOf(await claimAll(inbox))).toEqual([["a"]]);
  expect(log.of("job-without-delivery")).toEqual([]);
});

test("a dead job of a delivery whose id no number holds is listed, and others beside it", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start();
  await storeAll(inbox, mail(["a"]), mail(["b"]));
  const error = { name: "Error", message: "no", at: clock.now() };
  await inbox.settle((await claimAll(inbox)).map((claim) => ({ claim, outcomes: [{ to: "dead", error }] })));
  await processes.rows(
    "update hookline.dead set delivery = 9223372036854775807 where id = (select min(id) from hookline.dead)",
  );
  expect(await findAll(inbox, { states: ["dead"] })).toHaveLength(2);
});

/** Beyond what a number holds exactly, and up to what a `bigint` does. */
const LARGE: readonly string[] = ["9223372036854775807", "-9223372036854775808", "9007199254740993"];
const OF_DEAD: readonly string[] = [
  "id",
  "delivery",
  "account",
  "subscription",
  "received_at",
  "replay_of",
  "settled_at",
];

test.each(OF_DEAD.flatMap((column) => LARGE.map((value) => [column, value] as const)))(
  "a dead job whose %s is %s keeps no other one from being replayed",
  async (column, value) => {
    const processes = await openProcesses();
    const { inbox, clock } = await processes.start();
    await storeAll(inbox, mail(["a"]), mail(["b"]), mail(["c"]));
    const error = { name: "Error", message: "no", at: clock.now() };
    await inbox.settle((await claimAll(inbox)).map((claim) => ({ claim, outcomes: [{ to: "dead", error }] })));
    await processes.rows(
      `update hookline.dead set ${column} = $1 where id = (select id from hookline.dead order by id offset 1 limit 1)`,
      [value],
    );
    await inbox.jobs.replay({ states: ["dead"] });
    const claims = await claimAll(inbox);
    expect(recordsOf(claims).flat()).toEqual(expect.arrayContaining(["a", "c"]));
  },
);

test.each(LARGE)(
  "a writer whose last id is %s keeps no other one from storing, handling and replaying",
  async (value) => {
    const processes = await openProcesses();
    const first = await processes.start();
    await storeAll(first.inbox, mail(["a"]));
    await first.inbox.close();
    await processes.rows("update hookline.writer set last_id = $1", [value]);
    const { inbox } = await processes.start();
    await storeAll(inbox, mail(["b"]));
    const claims: Awaited<ReturnType<typeof claimAll>>[number][] = [];
    await processes.passing(async () => {
      claims.push(...(await claimAll(inbox)));
      expect(recordsOf(claims).flat()).toContain("b");
    });
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })));
    expect(await inbox.jobs.replay({ states: ["done"] })).toBe(claims.length);
    await processes.passing(async () => expect(await claimAll(inbox)).not.toEqual([]));
  },
);
