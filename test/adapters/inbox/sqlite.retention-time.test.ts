import { expect, onTestFinished, test } from "vitest";
import { createTrustedTime } from "../../../src/inbox/upkeep/retention.ts";
import { mail, nobodys, told } from "../../suites/inbox/deliveries.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { changeFile } from "./damaged-file.ts";
import { KEEP_DONE_MS, KEEP_UNHANDLED_MS, MINUTE_MS, retentionBench } from "./retention-bench.ts";

const DAY_MS = 24 * 60 * MINUTE_MS;
const YEAR_MS = 365 * DAY_MS;

async function bench(options?: Parameters<typeof retentionBench>[0]) {
  const opened = await retentionBench(options);
  onTestFinished(() => opened.end());
  return opened;
}

test("natural keys go after their window, tombstones thirty days after their last hit", async () => {
  const { inbox, clock, file, begin, mailNow, pass, rows } = await bench();
  await inbox.tombstones.put({ subscription: 1, source: undefined, reason: "gone" });
  await inbox.store([told({ key: "k", content: "c" })]);
  await pass(29);
  expect(rows("dedupe")).toBe(2);
  await pass(2);
  expect(rows("dedupe")).toBe(0);
  await inbox.close();
  clock.jump(30 * DAY_MS);
  // Catching up with so long a time would take twelve hours.
  changeFile(file, "DELETE FROM key_value WHERE key = 'retention/time'");
  await begin();
  await inbox.store([mailNow("a")]);
  await inbox.close();
  await begin();
  await pass(1);
  expect(rows("tombstone")).toBe(1);
  await pass(61);
  expect(rows("tombstone")).toBe(0);
});

test("a wall clock that jumps a year ahead and back removes nothing, not even after a restart in between", async () => {
  const { inbox, clock, begin, mailNow, settleDue, pass, rows } = await bench({ keepDoneMs: 4 * DAY_MS });
  await inbox.store([mailNow("a")]);
  await settleDue();
  clock.jump(YEAR_MS);
  await pass(30);
  await inbox.close();
  await begin();
  await pass(30);
  clock.jump(-YEAR_MS);
  await pass(30);
  expect(rows("delivery")).toBe(1);
});

test("what is stored while the wall clock is a year ahead makes nothing old, not even after a restart", async () => {
  const { inbox, clock, begin, mailNow, settleDue, pass, rows } = await bench({ keepDoneMs: 4 * DAY_MS });
  await inbox.store([mailNow("a")]);
  await settleDue();
  await inbox.close();
  clock.jump(YEAR_MS);
  await begin();
  await pass(2);
  await inbox.store([mailNow("ahead")]);
  await settleDue();
  await inbox.close();
  await begin();
  await pass(30);
  expect(rows("delivery")).toBe(2);
});

test("a job that became unhandled long after its delivery was received is kept from then on", async () => {
  const { inbox, clock, pass, rows } = await bench();
  await inbox.store([mail([nobodys("a")], { receivedAt: clock.now() - 3 * KEEP_UNHANDLED_MS })]);
  await pass(KEEP_UNHANDLED_MS / MINUTE_MS - 1);
  expect(rows("unhandled")).toBe(1);
  await pass(2);
  expect(rows("unhandled")).toBe(0);
});

test("what was stored while the wall clock was a year ahead does not keep what came later", async () => {
  const { inbox, clock, mailNow, settleDue, pass, rows } = await bench();
  const some = () => Array.from({ length: 300 }, (_, index) => mailNow(`${index}`)); // more than a step takes
  clock.jump(YEAR_MS);
  await inbox.store(some());
  clock.jump(-YEAR_MS);
  await inbox.store(some());
  for (const _ of ["theirs", "those behind them in their lanes"]) await settleDue({ to: "done" }, 600);
  await pass(KEEP_DONE_MS / MINUTE_MS + 2);
  expect(rows("delivery")).toBe(300);
  expect(rows("delivery", `received_at <= ${clock.now()}`)).toBe(0);
});

test.each([false, true])(
  "a wall clock that is decades behind at a start and then set right delays nothing for long (another start meanwhile: %s)",
  async (isAgain) => {
    const { inbox, clock, begin, mailNow, settleDue, pass, rows } = await bench();
    await inbox.store([mailNow("a")]);
    await settleDue();
    await pass(2);
    await inbox.close();
    clock.jump(-50 * YEAR_MS);
    await begin();
    await pass(2);
    if (isAgain) {
      await inbox.close();
      await begin();
      await pass(2);
    }
    clock.jump(50 * YEAR_MS);
    await pass(KEEP_DONE_MS / MINUTE_MS);
    expect(rows("delivery")).toBe(0);
  },
);

test("what was reached of a wall clock that was ahead goes back as slowly as it came", () => {
  const clock = fakeClock();
  const start = clock.now();
  const time = createTrustedTime(clock.now, start);
  clock.jump(YEAR_MS);
  for (let minute = 0; minute < 10; minute += 1) time.pass(MINUTE_MS);
  clock.jump(-YEAR_MS);
  for (let minute = 0; minute < 9; minute += 1) time.pass(MINUTE_MS);
  expect(time.reached).toBe(start + 60 * MINUTE_MS);
  clock.jump(YEAR_MS);
  expect(time.now()).toBe(start + 60 * MINUTE_MS);
});

test("the time to go by begins at the newest stamp, is never ahead, and catches up", () => {
  const clock = fakeClock();
  const start = clock.now();
  expect(createTrustedTime(clock.now, undefined).now()).toBe(start);
  expect(createTrustedTime(clock.now, start + YEAR_MS).now()).toBe(start);
  const time = createTrustedTime(clock.now, start - 90 * MINUTE_MS);
  expect(time.now()).toBe(start - 90 * MINUTE_MS);
  time.pass(MINUTE_MS);
  expect(time.now()).toBe(start - 30 * MINUTE_MS);
  time.pass(MINUTE_MS);
  expect(time.now()).toBe(start);
  clock.jump(-YEAR_MS);
  expect(time.now()).toBe(start - YEAR_MS);
});
