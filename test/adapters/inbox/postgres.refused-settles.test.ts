import { expect, test } from "vitest";
import type { Claim, JobOutcome } from "../../../src/adapter.ts";
import { mail, one } from "../../suites/inbox/deliveries.ts";
import { claimAll, claimOne, done, recordsOf, release, storeAll } from "../../suites/inbox/verbs.ts";
import { openProcesses, type Process, type Processes } from "./postgres-processes.ts";

const AT = Date.parse("2026-05-06T07:08:09Z");

const retry = (fields: object = {}, message = "no"): JobOutcome => ({
  to: "retry",
  at: AT,
  delayMs: 1_000,
  counted: true,
  error: { name: "Error", message, at: AT },
  ...fields,
});

/** Settles one claim of each record, each with its own outcome. */
async function settleEach({ inbox }: Process, outcomes: Readonly<Record<string, JobOutcome>>): Promise<void> {
  await storeAll(inbox, mail(Object.keys(outcomes)));
  const claims = await claimAll(inbox);
  const settled = await inbox.settle(
    claims.map((claim) => ({ claim, outcomes: [outcomes[recordsOf([claim]).flat()[0]!] ?? release] })),
  );
  expect(settled).toEqual(claims.map(() => true));
}

async function statesOf({ inbox }: Process): Promise<string[]> {
  return (await inbox.jobs.find({ limit: 100 })).jobs.map(({ state }) => state);
}

/** What the server does with a step of `work` that fits a condition. */
async function refuseSteps({ sql }: Processes, when: string, raise: string): Promise<void> {
  await sql.query(`do $$ begin execute (
    select replace(pg_get_functiondef('hookline.work'::regproc), 'FUNCTION hookline.work(', 'FUNCTION hookline.work_as_made(')); end $$`);
  await sql.query(`do $$ begin execute (
    select regexp_replace(pg_get_functiondef('hookline.work'::regproc), 'AS \\$function\\$.*\\$function\\$', $sql$AS $function$
      begin
        if ${when} then ${raise} end if;
        return query select * from hookline.work_as_made(me, step, running_now, since_then, done_shards, done_ids, settle, mark_shards, mark_ids, wanted_days, wanted_ids);
      end $function$ $sql$)); end $$`);
}

test.each<[string, JobOutcome]>([
  ["a time with a fraction", retry({ at: AT + 0.5 })],
  ["a delay with a fraction", retry({ delayMs: 1_234.567 })],
  ["a text with NUL", retry({}, "a\0b")],
  ["a text with half a surrogate pair", retry({}, "a\uD83D")],
  ["no number", retry({ at: Number.NaN })],
  ["a number beyond all", retry({ at: 1e300 })],
  ["a dead letter's text with NUL", { to: "dead", error: { name: "a\0", message: "no", at: AT } }],
])("a job whose end PostgreSQL does not take is a dead letter, and no other waits for it: %s", async (_, bad) => {
  const processes = await openProcesses();
  const process = await processes.start();
  await settleEach(process, { a: done, b: bad, c: retry(), d: bad });
  expect(await statesOf(process)).toEqual(["done", "dead", "waiting", "dead"]);
  const { jobs } = await process.inbox.jobs.find({ states: ["dead"], limit: 10 });
  expect(jobs[0]).toMatchObject({
    attempts: 1,
    error: { name: "StorageError", message: expect.stringContaining("PostgreSQL") },
  });
  expect(process.inbox.stats()).toMatchObject({ waiting: 1, running: 0, dead: 2 });
  expect(process.log.of("settle-refused")).toHaveLength(2);
  await settleEach(process, { e: done });
});

test.each([2, 3])("of %i jobs that were merged, the one that PostgreSQL does not take ends alone", async (count) => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail(["a", "b", "c"].slice(0, count).map((id) => one(id, "key"))));
  const claim = await claimOne(process.inbox, count);
  const outcomes = [retry(), retry({ delayMs: 0.5 }), retry()].slice(0, count);
  expect(await process.inbox.settle([{ claim, outcomes }])).toEqual([true]);
  expect(await statesOf(process)).toEqual(["waiting", "dead", "waiting"].slice(0, count));
});

test("a job that is done and that PostgreSQL does not remove is no dead letter: the others go on, and it ends once it can", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail(["a", "b"]));
  const [a, b] = await claimAll(process.inbox);
  await processes.sql.query(`create function refuse() returns trigger language plpgsql as $$ begin
    if old.id = ${a!.jobs[0].id} then raise check_violation; end if; return old; end $$`);
  await processes.sql.query(
    "create trigger refuse before delete on hookline.job for each row execute function refuse()",
  );
  const [bad, good] = [a!, b!].map((claim) => ({ claim, outcomes: [done] }));
  // Who settles tries again, and the others with it do not wait.
  for (const tried of [[bad!, good!], [bad!]])
    await expect(process.inbox.settle(tried)).rejects.toThrow("check_violation");
  expect(await process.inbox.settle([good!])).toEqual([true]);
  await processes.sql.query("drop trigger refuse on hookline.job");
  expect(await process.inbox.settle([bad!])).toEqual([true]);
  expect(await statesOf(process)).toEqual(["done", "done"]);
  expect(process.log.of("settle-refused")).toEqual([]);
  expect(process.inbox.stats()).toMatchObject({ waiting: 0, dead: 0 });
});

test("a job whose dead letter is not taken either is removed, with a line in the log", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await processes.sql.query("alter table hookline.dead add constraint none check (false)");
  await settleEach(process, {
    a: retry(),
    b: { to: "dead", error: { name: "Error", message: "no", at: AT } },
    c: done,
  });
  expect(await statesOf(process)).toEqual(["waiting", "done", "done"]);
  expect(process.log.of("settle-refused").map(({ message }) => message)).toEqual([
    "PostgreSQL does not take how a job ended: it is a dead letter",
    "PostgreSQL does not take a dead letter: its job is removed",
  ]);
  await settleEach(process, { d: done });
});

test.each(["P0001", "XX000", "XX001", "58030", "57014", "53200", "40001"])(
  "a job whose end the server fails at (%s) fails alone, and ends once it can",
  async (code) => {
    const processes = await openProcesses();
    const process = await processes.start();
    await storeAll(process.inbox, mail(["a", "b"]));
    const [a, b] = await claimAll(process.inbox);
    await processes.sql.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '${code}'; end $$`,
    );
    await processes.sql.query(
      "create trigger refuse before insert on hookline.dead for each row execute function refuse()",
    );
    const bad = { claim: a!, outcomes: [{ to: "dead", error: { name: "Error", message: "no", at: AT } }] } as const;
    const good = { claim: b!, outcomes: [done] };
    const failures: unknown[] = [];
    void process.inbox.settle([bad, good]).catch((error: unknown) => failures.push(error));
    // By the last three codes the server is at fault: all is tried again together, after a while.
    await processes.passing(() => expect(String(failures[0])).toContain("no"));
    expect(await process.inbox.settle([good])).toEqual([true]);
    await expect(process.inbox.settle([bad])).rejects.toThrow("no");
    await processes.sql.query("drop trigger refuse on hookline.dead");
    expect(await process.inbox.settle([bad])).toEqual([true]);
    expect(await statesOf(process)).toEqual(["dead", "done"]);
    expect(process.heard.ended).toBe(0);
  },
);

test("of hundreds of ends one that the server fails at is found in a few steps, and its next try is alone", async () => {
  const processes = await openProcesses();
  const { inbox } = await processes.start();
  await storeAll(inbox, mail(Array.from({ length: 200 }, (_, nth) => `${nth}`)));
  const claims = await claimAll(inbox, { max: 200 });
  const bad = claims[77]!;
  await processes.sql.query(`create sequence tries;
    create function count_tries() returns trigger language plpgsql as $$ begin perform nextval('tries'); return null; end $$;
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = 'XX001'; end $$;
    create trigger count_tries before delete on hookline.job for each statement execute function count_tries();
    create trigger refuse before delete on hookline.job for each row when (old.id = ${bad.jobs[0].id}) execute function refuse()`);
  const ends = (some: readonly Claim[]) => inbox.settle(some.map((claim) => ({ claim, outcomes: [done] })));
  await expect(ends(claims)).rejects.toThrow("no");
  const good = claims.filter((claim) => claim !== bad);
  expect(await ends(good)).toEqual(good.map(() => true));
  const tries = async (): Promise<number> => {
    const [row] = await processes.rows<{ tries: string }>("select last_value as tries from tries");
    return Number(row?.tries);
  };
  expect(await tries()).toBeLessThan(30); // an empty step deletes nothing, too
  const before = await tries();
  await expect(ends([bad])).rejects.toThrow("no");
  expect((await tries()) - before).toBeLessThan(2);
});

test("where every step is refused, no job is to blame: all wait, and end as they should once it is mended", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail(["a"]));
  const claim = await claimOne(process.inbox);
  await processes.sql.query("alter table hookline.worker add constraint none check (false) not valid");
  const settled: boolean[] = [];
  void process.inbox.settle([{ claim, outcomes: [retry()] }]).then((holds) => settled.push(...holds));
  await processes.passing(() => expect(process.log.of("inbox-failed").length).toBeGreaterThan(2));
  await processes.sql.query("alter table hookline.worker drop constraint none");
  await processes.passing(() => expect(settled).toEqual([true]));
  expect(await statesOf(process)).toEqual(["waiting"]);
});

test("where the server is mended between two tries, no job is to blame", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail(["a"]));
  const claim = await claimOne(process.inbox);
  await processes.sql.query("create sequence hookline.tries");
  await refuseSteps(
    processes,
    "(case when settle ? 'others' then nextval('hookline.tries') = 1 end)",
    "raise check_violation;",
  );
  expect(await process.inbox.settle([{ claim, outcomes: [retry()] }])).toEqual([true]);
  expect(await statesOf(process)).toEqual(["waiting"]);
  expect(process.log.of("settle-refused")).toEqual([]);
});

test("where every step is refused, no job that is to be claimed is to blame either", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  await storeAll(process.inbox, mail(["a", "b"]));
  await processes.sql.query("alter table hookline.worker add constraint none check (false) not valid");
  await expect(process.inbox.claim({ max: 10, mergeMax: 1 })).rejects.toMatchObject({ code: "storage-failed" });
  await processes.sql.query("alter table hookline.worker drop constraint none");
  const claims: Claim[] = [];
  void claimAll(process.inbox).then((all) => claims.push(...all));
  await processes.passing(() => expect(recordsOf(claims)).toEqual([["a"], ["b"]]));
});

test("a job whose delivery PostgreSQL cannot read is a dead letter, and the others run", async () => {
  const processes = await openProcesses();
  const process = await processes.start();
  const stored = await storeAll(process.inbox, mail(["a"]), mail(["b"]), mail(["c"]));
  // A new process: nothing is in its memory.
  await process.inbox.close();
  const next = await processes.start();
  await refuseSteps(
    processes,
    `${stored[1]!.id} = any (wanted_ids)`,
    "raise data_corrupted using message = 'missing chunk';",
  );
  const claims = await claimAll(next.inbox);
  expect(recordsOf(claims)).toEqual([["a"], ["c"]]);
  expect(await statesOf(next)).toEqual(["running", "dead", "running"]);
  expect(await next.inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] })))).toEqual([true, true]);
});

test("a worker of which no step holds for its lease, while the server answers, begins anew: no job has died of it", async () => {
  const processes = await openProcesses();
  const process = await processes.start({ leaseMs: 2_000 });
  await storeAll(process.inbox, mail(["a"]));
  const claim = await claimOne(process.inbox);
  await refuseSteps(processes, "me = 1", "raise 'this one alone';");
  await processes.passing(() => expect(process.heard).toMatchObject({ ended: 1, begun: 2, lost: [claim] }));
  expect(process.log.of("worker-stalled")).toHaveLength(1);
  expect(await processes.rows("select id from hookline.worker where alive")).toEqual([{ id: "2" }]);
  expect(await process.inbox.settle([{ claim, outcomes: [done] }])).toEqual([false]);
  expect((await claimOne(process.inbox)).jobs).toMatchObject([{ attempt: 1, deaths: 0 }]);
});

test("so does one whose step is not answered, because another session holds its row", async () => {
  const processes = await openProcesses();
  const process = await processes.start({ leaseMs: 2_000 });
  const holder = await processes.sql.connect();
  await holder.query("begin");
  await holder.query("select from hookline.worker for update");
  await processes.passing(() => expect(process.heard).toMatchObject({ ended: 1, begun: 2 }));
  await settleEach(process, { a: done });
  await holder.query("rollback");
  holder.release();
});
