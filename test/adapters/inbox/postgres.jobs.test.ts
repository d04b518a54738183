import { describe, expect, test } from "vitest";
import type { InboxJobs, JobQuery } from "../../../src/adapter.ts";
import { mail, nobodys, one, raw, SKIPPED, told } from "../../suites/inbox/deliveries.ts";
import { idsOf, statesOf } from "./postgres-rows.ts";
import { NOW, openTables } from "./postgres-tables.ts";

async function allPages(jobs: InboxJobs, query: JobQuery & { readonly limit: number }): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await jobs.find({ ...query, after });
    expect(page.jobs.length).toBeLessThanOrEqual(query.limit);
    ids.push(...page.jobs.map(({ id }) => id));
    if (page.next === undefined) return ids;
    after = page.next;
  }
}

describe("find and get", () => {
  test("jobs in all states are found, those without a row in their lists", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    const entries = ["done", "dead", "lost its handler", "retried", "running", { id: "skipped", ...SKIPPED }];
    await store(mail([...entries, nobodys("nobody's")]));
    const [done = "", dead = "", lost = "", retried = "", running = ""] = await idsOf(jobs);
    await worker.step([running], { [done]: "done", [dead]: "dead", [lost]: "unhandled", [retried]: "retry" });
    const found = (await jobs.find({ limit: 100 })).jobs;
    expect(found.map(({ state, attempts }) => [state, attempts])).toEqual([
      ["done", 0],
      ["dead", 1],
      ["unhandled", 0],
      ["waiting", 1],
      ["running", 1],
      ["skipped", 0],
      ["unhandled", 0],
    ]);
    expect(found.map(({ lane }) => lane)).toEqual([
      "default done",
      "default dead",
      "default lost its handler",
      "default retried",
      "default running",
      undefined,
      undefined,
    ]);
    expect(found[1]).toMatchObject({ error: { message: "no" }, settledAt: NOW, runAt: undefined });
    expect(found[3]).toMatchObject({ error: { message: "no" }, settledAt: undefined, runAt: NOW + 1_000 });
    for (const job of found) expect((await jobs.get(job.id))?.job).toEqual(job);
    for (const state of ["done", "dead", "unhandled", "waiting", "running", "skipped"] as const)
      expect(await statesOf(jobs, { states: [state] })).toEqual(
        found.flatMap((job) => (job.state === state ? [state] : [])),
      );
  });

  test("a job with so many deaths that it is claimed only to be dead-lettered shows no further attempt", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    await store(mail(["a"]));
    await tables.pool.query(`update ${tables.ident}.job set attempts = 3, deaths = 3`);
    await worker.step(await idsOf(jobs));
    expect((await jobs.find({ limit: 1 })).jobs).toMatchObject([{ state: "running", attempts: 3 }]);
  });

  test("what a dead worker ran is not running", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    await store(mail(["a"]));
    await worker.step(await idsOf(jobs));
    await tables.pool.query(`update ${tables.ident}.worker set alive = false`);
    expect(await statesOf(jobs)).toEqual(["waiting"]);
  });

  test("pages of any size give each job once: of several days, of lists that were made later, and of all states", async () => {
    const tables = await openTables();
    const { jobs, store, expand } = tables.join();
    const worker = await tables.work();
    const long = mail(["a", "b", "c"]);
    const [id = ""] = await store(raw(long));
    await expand(worker.id, { id, events: long.events.slice(0, 2), cursor: 2 });
    await store(raw(mail(["behind it"])));
    await expand(worker.id, { id, events: long.events.slice(2), cursor: undefined });
    await tables.pool.query(`delete from ${tables.ident}.unexpanded`);
    for (let count = 0; count < 5; count += 1)
      await store(mail(["d", nobodys("e"), "f", { id: "g", ...SKIPPED }]), mail(["h"]));
    const all = await idsOf(jobs);
    expect(all).toHaveLength(28);
    const waiting = await idsOf(jobs, { states: ["waiting"] });
    for (const [place, job] of waiting.entries()) await worker.step([], place % 2 === 0 ? { [job]: "done" } : {});
    await tables.pool.query(`update ${tables.ident}.delivery set day = 0 where id % 3 = 0`);
    await tables.pool.query(`update ${tables.ident}.job_list set day = 0 where delivery % 3 = 0`);
    for (const limit of [1, 2, 3, 7, 28]) {
      expect(await allPages(jobs, { limit })).toEqual(all);
      const done = await allPages(jobs, { limit, states: ["done"] });
      expect(done).toEqual(waiting.filter((_, place) => place % 2 === 0));
    }
    for (const job of all) expect((await jobs.get(job))?.job.id).toBe(job);
    expect(await jobs.get(id)).toBeUndefined();
  });

  test("a rare type among many done jobs is found, and duplicates have no job", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    for (let count = 0; count < 3; count += 1)
      await store(...Array.from({ length: 700 }, () => mail([{ id: "a", lane: undefined }])));
    await store(mail([{ id: "b", changeType: "deleted", consumer: 'has "quotes"' }]));
    const event = { key: "tracking:1:7", content: "open" };
    await store(told(event, event));
    await tables.pool.query(`delete from ${tables.ident}.job`);
    expect(await statesOf(jobs, { types: ["email.deleted"] })).toEqual(["done"]);
    expect(await statesOf(jobs, { consumer: 'has "quotes"', types: ["email.deleted", "x"] })).toEqual(["done"]);
    expect(await statesOf(jobs, { consumer: "nobody" })).toEqual([]);
    expect(await idsOf(jobs)).toHaveLength(2_102);
  });

  test("of many done jobs a few are found at a time", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    await store(...Array.from({ length: 250 }, (_, index) => mail([`${index}`])));
    await tables.pool.query(`delete from ${tables.ident}.job`);
    const ids = await idsOf(jobs);
    expect(await jobs.find({ states: ["done"], limit: 10 })).toMatchObject({
      jobs: ids.slice(0, 10).map((id) => ({ id, state: "done" })),
      next: ids[9],
    });
    expect(await allPages(jobs, { states: ["done"], limit: 40 })).toEqual(ids);
  });

  test("an id that no job has finds nothing, and changes nothing", async () => {
    const tables = await openTables();
    const { jobs, store, followed } = tables.join();
    const [id = ""] = await store(raw(mail(["a"])));
    for (const none of [id, String(Number(id) + 1), "0", "-1", "1.5", "1e99", "a"]) {
      expect(await jobs.get(none)).toBeUndefined();
      expect([await jobs.replay({ ids: [none] }), await jobs.drop({ ids: [none] })]).toEqual([0, 0]);
    }
    await jobs.reopen([]);
    expect(followed()).toBe(0);
  });

  test("unhandled jobs with long bodies come a few at a time, and all of them", async () => {
    const { jobs, store } = (await openTables()).join();
    const filler = "x".repeat(1_000_000);
    for (let count = 0; count < 6; count += 1) await store(mail([nobodys("a"), nobodys("b")], { filler }));
    const handled = [{ type: "email.updated", consumer: "default" }];
    const pages: number[] = [];
    for (let after: string | undefined; ;) {
      const page = await jobs.unhandled({ handled, after, limit: 100 });
      if (page.length === 0) break;
      pages.push(page.length);
      after = page.at(-1)?.id;
      // Jobs of one delivery share it: it came, and is parsed, once.
      expect(new Set(page.map(({ delivery }) => delivery.body)).size).toBe(page.length / 2);
    }
    expect(pages).toEqual([8, 4]);
  });
});

describe("replay and reopen", () => {
  test("done jobs are replayed as well, and stay done; those of a delivery that outlived its day too", async () => {
    const tables = await openTables();
    const { jobs, store, followed } = tables.join();
    const worker = await tables.work();
    await store(mail([one("a", "key"), { id: "skipped", ...SKIPPED }]));
    const [id = ""] = await idsOf(jobs);
    await worker.step([], { [id]: "done" });
    await tables.pool.query(`update ${tables.ident}.delivery set day = 0`);
    expect(await jobs.replay({ states: ["done", "skipped"] })).toBe(1);
    expect((await jobs.find({ limit: 10 })).jobs).toMatchObject([
      { id, state: "done" },
      { state: "skipped" },
      { state: "waiting", lane: "one", replayOf: id, attempts: 0 },
    ]);
    const [row] = await tables.pool.query(`select day, merge_key from ${tables.ident}.job`);
    expect(row).toEqual({ day: 0, merge_key: "replay:key" });
    expect(followed()).toBe(1);
  });

  test("a replay that cannot make its jobs changes nothing", async () => {
    const tables = await openTables();
    const { jobs, store } = tables.join();
    const worker = await tables.work();
    await store(mail(["a"]));
    const [id = ""] = await idsOf(jobs);
    await worker.step([], { [id]: "dead" });
    await tables.pool.query(`alter table ${tables.ident}.job add check (replay_of is null)`);
    await expect(jobs.replay({ ids: [id] })).rejects.toMatchObject({ name: "StorageError" });
    expect(await statesOf(jobs)).toEqual(["dead"]);
  });

  test("of a reopened job that two processes reopen at once there is one", async () => {
    const tables = await openTables();
    const [first, second] = [tables.join(), tables.join()];
    await first.store(mail(Array.from({ length: 20 }, (_, index) => nobodys(`n-${index}`))));
    const ids = await idsOf(first.jobs, { states: ["unhandled"] });
    const made = [{ state: "waiting", consumer: "default", lane: "one", mergeKey: undefined }] as const;
    const replacements = ids.map((id) => ({ id, jobs: made }));
    await Promise.all([first.jobs.reopen(replacements), second.jobs.reopen(replacements.toReversed())]);
    expect(await statesOf(first.jobs)).toEqual(ids.map(() => "waiting"));
    expect((await first.jobs.find({ limit: 100 })).jobs.every(({ lane }) => lane === "one")).toBe(true);
  });
});

test("replays, drops, erasures, stores and steps at once neither wait for each other for ever nor fail", async () => {
  const tables = await openTables();
  const processes = [tables.join(), tables.join(), tables.join()] as const;
  const worker = await tables.work();
  for (let count = 0; count < 4; count += 1)
    await processes[0].store(
      ...Array.from({ length: 100 }, (_, index) =>
        mail([`d-${index}`, `e-${index}`, nobodys("n")], { accountId: index % 4 }),
      ),
    );
  const ids = await idsOf(processes[0].jobs, { states: ["waiting"] });
  await worker.step(
    ids.slice(0, 20),
    Object.fromEntries(ids.slice(20).map((id, place) => [id, place % 3 === 0 ? "retry" : "dead"] as const)),
  );
  const every = (nth: number, of: number) => ids.filter((_, place) => place % of === nth);
  const steps = async (): Promise<void> => {
    for (let count = 0; count < 60; count += 1) await worker.step(ids.slice(0, 20));
  };
  await Promise.all([
    ...processes.flatMap(({ jobs, store }, nth) => [
      jobs.replay({ ids: every(nth, 3) }),
      jobs.drop({ ids: every(2 - nth, 3).toReversed() }),
      jobs.replay({ states: ["dead"] }),
      jobs.erase(nth),
      store(...Array.from({ length: 50 }, () => mail(["new"], { accountId: 3 }))),
      jobs.drop({ states: ["unhandled"] }),
    ]),
    steps(),
  ]);
  for (const accountId of [0, 1, 2]) expect((await processes[0].jobs.erase(accountId)).count).toBeGreaterThanOrEqual(0);
  const found = (await processes[0].jobs.find({ limit: 10_000 })).jobs;
  const [row] = await tables.pool.query<{ orphans: number }>(
    `select count(*) as orphans from (select delivery from ${tables.ident}.job union all select delivery from ${tables.ident}.dead
       union all select delivery from ${tables.ident}.unhandled) as one where delivery not in (select id from ${tables.ident}.delivery)`,
  );
  expect(row).toEqual({ orphans: 0 });
  for (const { id } of found.filter((_, place) => place % 20 === 0))
    expect(await processes[1].jobs.get(id)).toBeDefined();
});

test("counts that were not folded for long are folded once they are read", async () => {
  const tables = await openTables();
  const { jobs } = tables.join();
  const { pool, ident } = tables;
  await pool.query(
    `insert into ${ident}.ended_count select 'dead', 'email.created', 'crm', 'E' || g % 3, 1, g from generate_series(1, 9000) as g`,
  );
  const summary = await jobs.summary?.({ states: ["dead"] });
  expect(summary).toMatchObject({ count: 9_000, groups: [{ count: 3_000 }, {}, {}] });
  const rows = async () => (await pool.query<{ n: number }>(`select count(*) as n from ${ident}.ended_count`))[0]?.n;
  await expect.poll(rows).toBe(4_003);
  expect(await jobs.summary?.({ states: ["dead"] })).toEqual(summary);
});
