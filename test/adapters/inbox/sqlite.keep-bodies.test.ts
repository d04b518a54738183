import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { mail, raw, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { MINUTE_MS, retentionBench } from "./retention-bench.ts";

const MARKER = "a secret of somebody";
const DEAD = { to: "dead", error: { name: "Error", message: "no", at: 0 } } as const;

async function bench(options: Parameters<typeof retentionBench>[0] = {}) {
  const opened = await retentionBench({ keepBodies: "until-done", ...options });
  onTestFinished(() => opened.end());
  const { inbox, clock, file, rows } = opened;
  return {
    ...opened,
    /** Each with a text that is looked for. */
    store: (...deliveries: readonly (readonly (string | MailEntry)[])[]) =>
      inbox.store(deliveries.map((entries) => mail(entries, { receivedAt: clock.now(), filler: MARKER.repeat(200) }))),
    /** Deliveries with a body. */
    bodies: () => rows("delivery", "length(body) > 0"),
    bytesLeft(): readonly string[] {
      const db = new DatabaseSync(file);
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      db.close();
      const folder = dirname(file);
      return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(MARKER));
    },
  };
}

test("of a thousand deliveries that are done no byte of a body is left a minute later, and the jobs are listed", async () => {
  const { inbox, store, settleDue, pass, bodies, bytesLeft, rows, all } = await bench();
  for (let count = 0; count < 10; count += 1) {
    await store(...Array.from({ length: 100 }, (_, index) => [`${count}-${index}`]));
    await settleDue();
  }
  expect(bytesLeft()).not.toEqual([]);
  await pass(1);
  expect(bodies()).toBe(0);
  expect(bytesLeft()).toEqual([]);
  expect(rows("delivery")).toBe(1_000);
  const jobs = await all();
  expect(jobs).toHaveLength(1_000);
  const found = await inbox.jobs.get(jobs[7]?.id ?? "");
  expect(found?.job).toMatchObject({ state: "done", type: "email.updated" });
  expect(found?.delivery).toBeUndefined();
});

test("without the option bodies stay", async () => {
  const { store, settleDue, pass, bodies } = await bench({ keepBodies: "retention" });
  await store(["a"]);
  await settleDue();
  await pass(2);
  expect(bodies()).toBe(1);
});

test("a body stays as long as one of several consumers has not done its job, runs it, or failed for good", async () => {
  const { inbox, store, settleDue, pass, bodies } = await bench();
  const jobs = ["one", "two"].map((consumer) => ({ consumer, lane: `${consumer} a` }));
  await store([{ id: "a", jobs }]);
  await settleDue(undefined, 1);
  await pass(2);
  expect(bodies()).toBe(1);
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  await pass(2);
  expect(bodies()).toBe(1);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [DEAD] })));
  await pass(2);
  expect(bodies()).toBe(1);
  expect((await inbox.jobs.get("2"))?.delivery).toBeDefined();
});

test("bodies go whatever the order is that their jobs end in", async () => {
  const { inbox, store, pass, bodies } = await bench();
  for (let count = 0; count < 12; count += 1)
    await store(...Array.from({ length: 100 }, (_, index) => [`${count}-${index}`]));
  const { claims } = await inbox.claim({ max: 1_200, mergeMax: 1 });
  await pass(1);
  expect(bodies()).toBe(1_200);
  // From both ends in turn.
  const mixed = claims.map((_, index) => claims[index % 2 === 0 ? index / 2 : 1_200 - (index + 1) / 2]);
  for (let from = 0; from < mixed.length; from += 100)
    await inbox.settle(
      mixed
        .slice(from, from + 100)
        .flatMap((claim) => (claim === undefined ? [] : { claim, outcomes: [{ to: "done" }] })),
    );
  await pass(2);
  expect(bodies()).toBe(0);
});

test("a dead job is replayed with its body, which goes when the replay is done", async () => {
  const { inbox, store, settleDue, pass, bodies } = await bench();
  await store(["a"], ["b"]);
  await settleDue(DEAD);
  await pass(2);
  expect(await inbox.jobs.replay({ ids: ["2"] })).toBe(1);
  await pass(2);
  expect(bodies()).toBe(2);
  await settleDue();
  await pass(1);
  expect(bodies()).toBe(1);
  expect(await inbox.jobs.replay({ ids: ["2", "4"] })).toBe(1);
});

test("a body goes when its dead job is dropped, or has had its time, though others of it are done", async () => {
  const { inbox, store, settleDue, pass, bodies } = await bench({ keepDeadMs: 3 * MINUTE_MS });
  await store(["a", "b"], ["c", "d"]);
  await settleDue(DEAD, 1);
  await settleDue(undefined, 1);
  await settleDue(DEAD, 1);
  await settleDue();
  await pass(2);
  expect(bodies()).toBe(2);
  expect(await inbox.jobs.drop({ states: ["dead"] })).toBe(2);
  await pass(1);
  expect(bodies()).toBe(0);
  await store(["e"]);
  await settleDue(DEAD);
  await pass(2);
  expect(bodies()).toBe(1);
  await pass(3);
  expect(bodies()).toBe(0);
});

test("a replay of what has no body any more is not made", async () => {
  const { inbox, store, settleDue, pass, all } = await bench();
  await store(["a"]);
  await settleDue();
  expect(await inbox.jobs.replay({ ids: ["2"] })).toBe(1);
  await settleDue();
  await pass(1);
  expect(await inbox.jobs.replay({ states: ["done"] })).toBe(0);
  expect(await all()).toHaveLength(2);
});

test("what is not expanded yet keeps its body, and what came before it does not wait for it", async () => {
  const { inbox, store, mailNow, settleDue, pass, bodies } = await bench();
  await store(["a"]);
  await settleDue();
  const late = mailNow("b");
  await inbox.store([raw(late)]);
  await pass(2);
  expect(bodies()).toBe(1);
  const [waiting] = await inbox.unexpanded(1);
  await inbox.expand([{ id: waiting?.id ?? "", events: late.events ?? [], cursor: undefined }]);
  await pass(2);
  expect(bodies()).toBe(1);
  await settleDue();
  await pass(1);
  expect(bodies()).toBe(0);
});

test("a job that runs since the commit that made it keeps its body, also where it was made later than its delivery", async () => {
  const { inbox, mailNow, settleDue, pass, bodies, rows } = await bench();
  const late = [mailNow("a"), mailNow("b")];
  await inbox.store(late.map((one) => raw(one)));
  const expansions = (await inbox.unexpanded(2)).map(({ id }, index) => ({
    id,
    events: late[index]?.events ?? [],
    cursor: undefined,
  }));
  await inbox.claim({ max: 1, mergeMax: 1, ahead: () => 1 });
  await inbox.expand(expansions.slice(0, 1));
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  expect([claims.length, rows("job")]).toEqual([1, 0]);
  await inbox.expand(expansions.slice(1));
  await settleDue();
  await pass(2);
  expect(bodies()).toBe(1);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  await pass(2);
  expect(bodies()).toBe(0);
});

test("a job that is tried again keeps its body until it is done", async () => {
  const { clock, store, settleDue, pass, bodies } = await bench();
  await store(["a"]);
  const at = clock.now() + 5 * MINUTE_MS;
  await settleDue({ to: "retry", at, delayMs: 5 * MINUTE_MS, counted: true, error: DEAD.error });
  await pass(4);
  expect(bodies()).toBe(1);
  await pass(2);
  await settleDue();
  await pass(1);
  expect(bodies()).toBe(0);
});

test("what another process has done without the option, or just before it died, goes as well", async () => {
  const { inbox, store, settleDue, pass, bodies, begin } = await bench();
  await store(["a"], ["b"]);
  await settleDue(DEAD, 1);
  await settleDue();
  await pass(1);
  expect(await inbox.jobs.drop({ states: ["dead"] })).toBe(1);
  await inbox.close();
  expect(bodies()).toBe(1);
  await begin();
  await pass(1);
  expect(bodies()).toBe(0);
});
