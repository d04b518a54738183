import type { JobOutcome } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { mail, nobodys } from "../../suites/inbox/deliveries.ts";
import { turns } from "../../support/event-loop.ts";
import { KEEP_DONE_MS, KEEP_UNHANDLED_MS, MINUTE_MS, retentionBench } from "./retention-bench.ts";

const ERROR = { name: "Error", message: "no", at: 0 };
const DEAD = { to: "dead", error: ERROR } as const satisfies JobOutcome;
const DAY_MS = 24 * 60 * MINUTE_MS;
const KEEP_DEAD_MS = 2 * DAY_MS;

async function bench(options?: Parameters<typeof retentionBench>[0]) {
  const opened = await retentionBench(options);
  onTestFinished(() => opened.end());
  const { clock, settleDue, ask } = opened;
  return {
    ...opened,
    /** The first due job is tried again after so long. */
    retryIn: (minutes: number) =>
      settleDue(
        {
          to: "retry",
          at: clock.now() + minutes * MINUTE_MS,
          delayMs: minutes * MINUTE_MS,
          counted: true,
          error: ERROR,
        },
        1,
      ),
    kept: () => ask("SELECT group_concat(id) FROM (SELECT id FROM delivery ORDER BY id)"),
  };
}

test("one open job and one dead one hold their own deliveries, among hundreds that go", async () => {
  const { inbox, mailNow, settleDue, retryIn, pass, rows } = await bench();
  await inbox.store([mailNow("open"), mailNow("dead")]);
  await retryIn(600);
  await settleDue(DEAD);
  for (let minute = 0; minute < 30; minute += 1) {
    await inbox.store(Array.from({ length: 20 }, (_, index) => mailNow(`${minute} ${index}`)));
    await settleDue();
    await pass(1);
  }
  await pass(KEEP_DONE_MS / MINUTE_MS + 1);
  expect(rows("delivery")).toBe(2);
  expect(rows("delivery", "id IN (SELECT delivery FROM job UNION SELECT delivery FROM dead)")).toBe(2);
});

test("deliveries that came while the clock was a year ahead do not hold those behind them", async () => {
  const { inbox, clock, mailNow, settleDue, pass, rows } = await bench();
  const receivedAt = clock.now() + 365 * DAY_MS;
  await inbox.store(Array.from({ length: 300 }, (_, index) => mail([`ahead ${index}`], { receivedAt })));
  await inbox.store([mailNow("a"), mailNow("b")]);
  await settleDue({ to: "done" }, 400);
  await pass(KEEP_DONE_MS / MINUTE_MS + 2);
  expect(rows("delivery")).toBe(300);
});

test("a delivery goes when the last of its dead jobs was dropped, and the next pass comes", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  await inbox.store([mailNow("a", "b"), mailNow("c")]);
  await settleDue(DEAD);
  await pass(60);
  const [first, second] = await all();
  await inbox.jobs.drop({ ids: [first?.id ?? ""] });
  await pass(60);
  expect(rows("delivery")).toBe(2);
  await inbox.jobs.drop({ ids: [second?.id ?? ""] });
  await pass(2);
  expect(rows("delivery")).toBe(1);
  expect(await all()).toMatchObject([{ state: "dead", lane: "default c" }]);
});

test("what a dead job kept goes after it, also while much more comes and goes than a step takes", async () => {
  const { inbox, clock, mailNow, settleDue, pass, all, rows } = await bench();
  const filler = "x".repeat(520 * 1024); // each is a page of its own
  const minute = async (deliveries: number): Promise<void> => {
    await inbox.store(
      Array.from({ length: deliveries }, (_, index) => mail([`${index}`], { receivedAt: clock.now(), filler })),
    );
    await settleDue();
    await pass(1);
  };
  await inbox.store([mailNow("dead")]);
  await settleDue(DEAD);
  await pass(KEEP_DONE_MS / MINUTE_MS);
  const [first] = await all();
  for (let count = 0; count < 25; count += 1) await minute(7);
  await inbox.jobs.drop({ ids: [first?.id ?? ""] });
  for (let count = 0; count < 5; count += 1) await minute(7);
  expect(rows("delivery", `id = ${first?.deliveryId}`)).toBe(0);
});

test("a delivery that is young while an older one of its page goes is not forgotten", async () => {
  const { inbox, mailNow, settleDue, pass, rows } = await bench();
  await inbox.store([mailNow("old")]);
  await pass(10);
  await inbox.store([mailNow("young")]);
  await settleDue();
  await pass(11);
  expect(rows("delivery")).toBe(1);
  await pass(10);
  expect(rows("delivery")).toBe(0);
});

test("what a job held goes soon after that job ended, however much goes in the meantime", async () => {
  const { inbox, mailNow, settleDue, retryIn, pass, rows } = await bench({ keepDoneMs: 2 * MINUTE_MS });
  await inbox.store([mailNow("held")]);
  await retryIn(5);
  // Each is a page of its own.
  const long = mailNow("long").delivery.body.length + 300_000;
  for (let minute = 0; minute < 10; minute += 1) {
    const { delivery, events } = mailNow({ id: "long", lane: undefined });
    const body = Buffer.concat([delivery.body], long);
    await inbox.store(Array.from({ length: 12 }, () => ({ delivery: { ...delivery, body }, events })));
    await settleDue();
    await pass(1);
  }
  expect(rows("delivery", "id = 1")).toBe(0);
});

test("what comes during the first pass, a little before each step, goes as soon as it is old", async () => {
  const { inbox, clock, mailNow, settleDue, pass, rows } = await bench({ keepDoneMs: 1 });
  await pass(0);
  clock.jump(1);
  for (let step = 0; step < 30; step += 1) {
    await inbox.store([mailNow(`${step}`)]);
    await turns();
    await clock.advance(10);
  }
  await settleDue();
  await pass(1);
  expect(rows("delivery")).toBe(0);
});

test("dead letters go by when they were settled, not by when they were received, and are counted", async () => {
  const { inbox, mailNow, settleDue, retryIn, pass, all, rows } = await bench({ keepDeadMs: KEEP_DEAD_MS });
  const days = (count: number) => pass((count * DAY_MS) / MINUTE_MS);
  await inbox.store([mailNow("late")]);
  await retryIn(DAY_MS / MINUTE_MS);
  await inbox.store([mailNow("early")]);
  await settleDue(DEAD);
  await days(1.5);
  await settleDue(DEAD);
  expect(inbox.stats()).toMatchObject({ dead: 2, expired: 0 });
  await days(0.49);
  expect(inbox.stats()).toMatchObject({ dead: 2, expired: 0 });
  await days(0.02);
  expect(inbox.stats()).toMatchObject({ dead: 1, expired: 1 });
  expect(await all()).toMatchObject([{ state: "dead", lane: "default late" }]);
  await days(1.4);
  expect(inbox.stats()).toMatchObject({ dead: 1, expired: 1 });
  await days(0.1);
  expect(inbox.stats()).toMatchObject({ dead: 0, expired: 2 });
  await pass(1);
  expect(await all()).toEqual([]);
  expect(rows("delivery") + rows("dead")).toBe(0);
});

test("that dead letters expired is logged once a day, with how many", async () => {
  const { inbox, mailNow, settleDue, pass, log } = await bench({ keepDeadMs: KEEP_DEAD_MS });
  const counts = () => log.of("dead-expired").map((line) => line.facts["jobs"]);
  for (const ids of [["a", "b"], ["c"], ["d"]]) {
    await inbox.store([mailNow(...ids)]);
    await settleDue(DEAD);
    await pass(60);
  }
  await pass(KEEP_DEAD_MS / MINUTE_MS - 182);
  expect(counts()).toEqual([]);
  await pass(182);
  expect(inbox.stats().expired).toBe(4);
  expect(counts()).toEqual([2]);
  await pass(DAY_MS / MINUTE_MS);
  expect(counts()).toEqual([2, 2]);
  await pass(3 * (DAY_MS / MINUTE_MS));
  expect(counts()).toEqual([2, 2]);
});

test("what expired is still counted after a restart", async () => {
  const { inbox, begin, mailNow, settleDue, pass } = await bench({ keepDeadMs: KEEP_DEAD_MS });
  await inbox.store([mailNow("a")]);
  await settleDue(DEAD);
  await pass(KEEP_DEAD_MS / MINUTE_MS + 2);
  await inbox.close();
  await begin();
  expect(inbox.stats()).toMatchObject({ dead: 0, expired: 1 });
});

test("unhandled jobs go by when they were marked so, and are not counted as expired", async () => {
  const { inbox, mailNow, settleDue, pass, all, rows } = await bench();
  await inbox.store([mailNow("late", nobodys("early"))]);
  await pass(KEEP_UNHANDLED_MS / MINUTE_MS - 1);
  await settleDue({ to: "unhandled" });
  expect(await all()).toMatchObject([{ state: "unhandled" }, { state: "unhandled" }]);
  await pass(2);
  expect(await all()).toMatchObject([{ state: "unhandled", lane: "default late" }]);
  await pass(KEEP_UNHANDLED_MS / MINUTE_MS - 3);
  expect(rows("unhandled")).toBe(1);
  await pass(2);
  expect(await all()).toEqual([]);
  expect(inbox.stats()).toMatchObject({ unhandled: 0, expired: 0 });
});
