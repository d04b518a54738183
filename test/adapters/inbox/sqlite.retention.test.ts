import { expect, onTestFinished, test } from "vitest";
import { mail, nobodys, raw, SKIPPED } from "../../suites/inbox/deliveries.ts";
import { turns } from "../../support/event-loop.ts";
import { openInline } from "./inline-thread.ts";
import { MINUTE_MS, retentionBench } from "./retention-bench.ts";

const DEAD = { to: "dead", error: { name: "Error", message: "no", at: 0 } } as const;
const HOUR_MS = 60 * MINUTE_MS;

async function bench(options?: Parameters<typeof retentionBench>[0]) {
  const opened = await retentionBench(options);
  onTestFinished(() => opened.end());
  return opened;
}

test("what is done or skipped goes when its days are over, and not before", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  await inbox.store([mailNow("a", { id: "b", ...SKIPPED })]);
  await settleDue();
  await pass(19);
  expect(await all()).toMatchObject([{ state: "done" }, { state: "skipped" }]);
  await pass(3);
  expect(await all()).toEqual([]);
  expect(await inbox.jobs.get("2")).toBeUndefined();
  expect(rows("delivery")).toBe(0);
});

test("a job that still waits holds its own delivery, and no other", async () => {
  const { inbox, clock, mailNow, settleDue, pass, rows } = await bench();
  await inbox.store([mailNow("a"), mailNow("b")]);
  const [at, delayMs] = [clock.now() + HOUR_MS, HOUR_MS];
  await settleDue({ to: "retry", at, delayMs, counted: true, error: DEAD.error }, 1);
  await settleDue();
  await inbox.store([mailNow("c")]);
  await settleDue();
  await pass(59);
  expect(rows("delivery")).toBe(1);
  await pass(2);
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  await pass(2);
  expect(rows("delivery")).toBe(1);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  await pass(2);
  expect(rows("delivery")).toBe(0);
});

test("a delivery that waits to be expanded stays, and what is made of it is handled", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  const [first, second] = [mailNow("a"), mailNow("b")];
  await inbox.store([raw(first), raw(second)]);
  await pass(60);
  expect(rows("delivery")).toBe(2);
  for (const { id } of await inbox.unexpanded(2))
    await inbox.expand([{ id, events: id === "1" ? first.events : second.events, cursor: undefined }]);
  await settleDue(undefined, 1);
  await pass(2);
  expect(await all()).toMatchObject([{ lane: "default b", state: "waiting" }]);
  await settleDue();
  await pass(2);
  expect(await all()).toEqual([]);
  expect(rows("job_list") + rows("delivery")).toBe(0);
});

test("a replay holds the delivery that it is of", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  await inbox.store([mailNow("a")]);
  await settleDue();
  await pass(19);
  expect(await inbox.jobs.replay({ ids: ["2"] })).toBe(1);
  await pass(60);
  expect(await all()).toMatchObject([{ state: "done" }, { state: "waiting", replayOf: "2" }]);
  await settleDue();
  await pass(2);
  expect(rows("delivery")).toBe(0);
});

test("dead jobs stay with their deliveries, and can be replayed long afterwards", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  await inbox.store([mailNow("a"), mailNow("b")]);
  await settleDue(DEAD);
  await pass(200);
  expect(rows("delivery")).toBe(2);
  expect(await all()).toMatchObject([{ state: "dead" }, { state: "dead" }]);
  expect(await inbox.jobs.replay({ ids: ["2"] })).toBe(1);
  await pass(2);
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  expect(claims).toMatchObject([{ jobs: [{ replayOf: "2" }] }]);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "done" }] })));
  await pass(2);
  expect(await all()).toMatchObject([{ state: "dead", id: "4" }]);
  expect([rows("delivery"), rows("job_list")]).toEqual([1, 0]);
});

test("unhandled jobs go in their own time, and leave no done ones behind", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  await inbox.store([mailNow("a", nobodys("b")), mailNow("c")]);
  await settleDue(undefined, 1);
  await pass(9);
  await settleDue({ to: "unhandled" });
  expect(inbox.stats()).toMatchObject({ unhandled: 2 });
  await pass(3);
  expect(await all()).toMatchObject([
    { lane: "default a", state: "done" },
    { lane: "default c", state: "unhandled" },
  ]);
  expect(inbox.stats()).toMatchObject({ unhandled: 1 });
  await pass(10);
  expect(await all()).toEqual([]);
  expect(inbox.stats()).toMatchObject({ unhandled: 0, dead: 0 });
  expect(rows("dead") + rows("unhandled") + rows("delivery")).toBe(0);
});

test("much that has had its time goes in small steps, large bodies in smaller ones", async () => {
  const steps: number[] = [];
  const { inbox, clock, settleDue, pass, rows } = await bench({
    openThread: async (options, events) => {
      const channel = await openInline(options, events);
      return {
        ...channel,
        async run(batch) {
          const results = await channel.run(batch);
          if (batch.tasks.some(({ verb }) => verb === "retain")) steps.push(rows("delivery"));
          return results;
        },
      };
    },
  });
  const receivedAt = clock.now();
  await inbox.store(Array.from({ length: 600 }, (_, n) => mail([`a${n}`], { receivedAt })));
  await settleDue({ to: "done" }, 1_000);
  await inbox.store(Array.from({ length: 4 }, (_, n) => mail([`b${n}`], { receivedAt, filler: "x".repeat(300_000) })));
  await settleDue();
  await inbox.store([mail([nobodys("c")], { receivedAt })]);
  steps.length = 0;
  await pass(22);
  expect([...new Set(steps)]).toEqual([605, 349, 93, 4, 3, 2, 0]);
});

test("a process that does not work removes nothing", async () => {
  const { inbox, make, host, mailNow, settleDue, pass, rows } = await bench();
  const receiving = make();
  await receiving.open(host);
  onTestFinished(() => receiving.close());
  await inbox.store([mailNow("a")]);
  await settleDue();
  await inbox.close();
  await pass(60);
  expect(rows("delivery")).toBe(1);
});

test("once closed nothing is left that would run, even if a step was under way", async () => {
  const { inbox, clock, pass } = await bench();
  await pass(5);
  const closing = clock.advance(MINUTE_MS);
  await inbox.close();
  await closing;
  await turns();
  expect(clock.waiting).toBe(0);
});

test("a step that fails is said, and tried again", async () => {
  let fails = true;
  const { inbox, mailNow, settleDue, pass, rows, log } = await bench({
    openThread: async (options, events) => {
      const channel = await openInline(options, events);
      return {
        ...channel,
        async run(batch) {
          if (!fails || !batch.tasks.some(({ verb }) => verb === "retain")) return channel.run(batch);
          const error = { code: "ERR_SQLITE_ERROR", message: "no", fix: undefined, errcode: 1 };
          return batch.tasks.map(() => ({ error }));
        },
      };
    },
  });
  await inbox.store([mailNow("a")]);
  await settleDue();
  await pass(30);
  expect(rows("delivery")).toBe(1);
  expect(log.of("retention-failed").length).toBeGreaterThan(0);
  fails = false;
  await pass(2);
  expect(rows("delivery")).toBe(0);
});

test("the file does not grow with what it was given: 3,000 deliveries, of which the last 400 are stored", async () => {
  const { inbox, mailNow, settleDue, pass, ask } = await bench();
  const pages: number[] = [];
  for (let minute = 0; minute < 150; minute += 1) {
    await inbox.store(Array.from({ length: 20 }, (_, n) => mailNow(`${minute} ${n}`)));
    await settleDue();
    await pass(1);
    if (minute % 25 === 24) pages.push(ask("PRAGMA page_count"));
  }
  const [, first = 0, ...rest] = pages;
  expect(Math.max(...rest) - first).toBeLessThanOrEqual(first * 0.1);
});
