import type { JobOutcome } from "hookline/adapter";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { mail, raw, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { onDisk } from "./on-disk.ts";
import { ALL, checkHeldAccount, HOUR, INHERITING, inheritInParts, later, named, recordIn, run } from "./retries.ts";

const MAX = 20;

/** An inbox whose memory is full of jobs that wait for an hour. */
async function fullOfRetries(maxJobs = MAX, entries: readonly MailEntry[] = named("failing", maxJobs)) {
  const opened = await onDisk({ maxJobs });
  await opened.inbox.store([mail(entries)]);
  await run(opened.inbox, later(opened.clock, HOUR));
  return opened;
}

test("jobs that wait for their time keep no other from being made and run, though they fill the memory", async () => {
  const { inbox, clock } = await fullOfRetries();
  expect(await inbox.store([mail(["fine"])])).toMatchObject([{ expanded: true }]);
  expect(await run(inbox)).toEqual(["fine"]);
  expect(inbox.stats()).toMatchObject({ waiting: MAX, blockedLanes: MAX, unexpanded: 0, isFull: false });
  expect((await inbox.claim(ALL)).nextDueAt).toBeLessThanOrEqual(clock.now() + HOUR);
  clock.jump(HOUR);
  expect((await run(inbox)).toSorted()).toEqual(
    named("failing", MAX)
      .map(({ id }) => id)
      .toSorted(),
  );
  expect(inbox.stats()).toMatchObject({ waiting: 0, blockedLanes: 0 });
});

test("nor those that another process stored", async () => {
  const { inbox } = await fullOfRetries();
  await inbox.store([raw(mail(["older"])), raw(mail(["newer"]))]);
  const open = await inbox.unexpanded(10);
  expect(open).toHaveLength(2);
  await inbox.expand(
    open.map(({ id }, place) => ({ id, events: mail([place === 0 ? "older" : "newer"]).events, cursor: undefined })),
  );
  expect(await run(inbox)).toEqual(["older", "newer"]);
});

test("what comes into a lane that left the memory waits behind its jobs, and runs in their order", async () => {
  const { inbox, clock } = await fullOfRetries(MAX, [...named("failing", MAX - 1), { id: "first", lane: "one" }]);
  await inbox.store([mail(["fine"])]);
  await inbox.store([mail([{ id: "second", lane: "one" }])]);
  await inbox.store([mail([{ id: "third", lane: "one" }])]);
  expect(await run(inbox)).toEqual(["fine"]);
  clock.jump(HOUR);
  const names = await run(inbox);
  expect(names.filter((name) => ["first", "second", "third"].includes(name))).toEqual(["first", "second", "third"]);
  expect(names).toHaveLength(MAX + 2);
});

test("a lane of more jobs than are read at once keeps its order while a part of it is back", async () => {
  const many = named("of one", 1_500, { lane: "one" });
  const { inbox, clock } = await fullOfRetries(MAX, [...named("failing", MAX), ...many]);
  await inbox.store([mail(["fine"])]);
  clock.jump(HOUR);
  const order: string[] = [];
  for (let runs = 0; runs < 1_500; runs += 1) {
    const { claims } = await inbox.claim(ALL);
    order.push(...claims.flatMap(({ jobs }) => jobs.map(({ delivery, entry }) => recordIn(delivery.body, entry))));
    // The memory is to be full again and again.
    const outcomes = claims.map((claim) => ({ claim, outcomes: [runs % 7 === 6 ? later(clock, 60_000) : DONE] }));
    await inbox.settle(outcomes);
    if (runs % 7 === 6) await inbox.store([mail([`filler ${runs}`])]);
    if (runs % 7 === 6) clock.jump(60_000);
  }
  const firsts = order.filter((name, place) => name.startsWith("of one") && order.indexOf(name) === place);
  expect(firsts).toEqual(many.map(({ id }) => id).slice(0, firsts.length));
  expect(firsts.length).toBeGreaterThan(1_100);
});

test("what comes back beside a claim that found other jobs is told: it starts where slots are free", async () => {
  const { inbox, clock, heard } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  clock.jump(HOUR);
  await inbox.claim({ ...ALL, max: 0 }); // it has heard of all that was stored
  const before = heard.woken;
  expect((await inbox.claim({ ...ALL, max: 1 })).claims).toHaveLength(1);
  await eventually(() => expect(heard.woken).toBeGreaterThan(before));
  expect(await run(inbox)).toHaveLength(MAX);
});

test("those that are due come back though the memory is full of others that wait", async () => {
  const { inbox, clock } = await onDisk({ maxJobs: MAX });
  await inbox.store([mail(named("soon", MAX))]);
  await run(inbox, later(clock, 60_000));
  await inbox.store([mail(named("late", MAX))]);
  await run(inbox, later(clock, HOUR));
  clock.jump(60_000);
  expect((await run(inbox)).toSorted()).toEqual(
    named("soon", MAX)
      .map(({ id }) => id)
      .toSorted(),
  );
});

test("a lane that leaves the memory keeps the window that its jobs inherited", async () => {
  const { inbox, clock } = await onDisk({ maxJobs: 2 });
  await inbox.store([mail([{ id: "dies", lane: "one" }, { id: "inherits", lane: "one" }])]); // prettier-ignore
  const since = clock.now();
  const { claims } = await inbox.claim(ALL);
  const error = { at: since, name: "Error", message: "too late" };
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [{ to: "dead", error, ofWindow: true }] })));
  clock.jump(5_000);
  await run(inbox, later(clock, HOUR));
  await inbox.store([mail(["fine", "fine too"])]);
  await inbox.store([mail(["more"])]);
  await run(inbox);
  clock.jump(HOUR);
  const again = await inbox.claim(ALL);
  expect(again.claims).toMatchObject([{ jobs: [{ lane: "one", attempt: 2, firstAttemptAt: since }] }]);
});

test("what is not back of a lane inherits the window of its job that dies, too", async () => {
  const { inbox, clock } = await onDisk({ maxJobs: 500 });
  const ages = await inheritInParts(inbox, clock);
  expect(ages).toEqual(Array.from({ length: INHERITING }, () => HOUR));
});

test("a restart brings no more into memory than there is room for, and loses nothing", async () => {
  const { inbox, clock, restart } = await fullOfRetries();
  for (let rounds = 0; rounds < 2; rounds += 1) {
    await inbox.store([mail(named(`round ${rounds}`, MAX))]);
    await run(inbox, later(clock, HOUR));
  }
  await restart();
  expect(inbox.stats()).toMatchObject({ waiting: 3 * MAX, unexpanded: 0 });
  await inbox.store([mail(["fine"])]);
  expect(await run(inbox)).toEqual(["fine"]);
  clock.jump(HOUR);
  expect(new Set(await run(inbox)).size).toBe(3 * MAX);
});

test("after a clock that goes back they are due, as all that waits is", async () => {
  const { inbox, clock } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  await run(inbox);
  clock.jump(-2 * HOUR);
  expect(await run(inbox)).toHaveLength(MAX);
});

test("jobs of an account that is delayed, or has no free call, keep no other account from running, though they fill the memory", async () => {
  const { inbox } = await onDisk({ maxJobs: MAX });
  await checkHeldAccount(inbox, MAX);
});

test("dropped and erased ones free the memory at once", async () => {
  const { inbox } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  await run(inbox);
  await inbox.jobs.drop({ states: ["waiting"] });
  expect(await run(inbox)).toEqual([]);
  expect(inbox.stats()).toMatchObject({ waiting: 0, blockedLanes: 0, oldestWaitingAt: undefined });
});

test("one that cannot be read is removed, and keeps no other from coming back", async () => {
  const { inbox, clock, file } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  await run(inbox);
  const db = new DatabaseSync(file);
  db.exec("UPDATE job SET lane = x'ff' WHERE id = (SELECT min(id) FROM job)");
  db.close();
  clock.jump(HOUR);
  expect(await run(inbox)).toHaveLength(MAX - 1);
});

test("the oldest that waits is the oldest of all, in memory or not", async () => {
  const opened = await onDisk({ maxJobs: MAX });
  const { inbox, clock } = opened;
  await inbox.store([mail(named("failing", MAX), { receivedAt: 5_000 })]);
  await run(inbox, later(clock, HOUR));
  await inbox.store([mail(["fine", "fine too"], { receivedAt: 9_000 })]);
  expect(inbox.stats().oldestWaitingAt).toBe(5_000);
  await inbox.claim({ max: 1, mergeMax: 1 });
  clock.jump(HOUR);
  await inbox.claim({ max: 1, mergeMax: 1 });
  expect((await inbox.claim({ max: 1, mergeMax: 1 })).claims).toHaveLength(1);
  expect(inbox.stats().oldestWaitingAt).toBe(5_000);
});

test("lanes that failed together come back a part at a time, fail again, and make room for the rest and for others", async () => {
  const { inbox, clock } = await onDisk({ maxJobs: 2_000 });
  for (let round = 0; round < 5; round += 1) {
    const entries = Array.from({ length: 1_000 }, (_, place) => ({ id: "failing", lane: `${round} ${place}` }));
    expect(await inbox.store([mail(entries)])).toMatchObject([{ expanded: true }]);
    await run(inbox, later(clock, 60_000));
  }
  for (let again = 0; again < 2; again += 1) {
    clock.jump(70_000);
    expect(await run(inbox, later(clock, 60_000))).toHaveLength(5_000);
  }
  await inbox.unexpanded(1); // asks for room
  expect(await inbox.store([mail(["fine"])])).toMatchObject([{ expanded: true }]);
  expect(await run(inbox)).toEqual(["fine"]);
});

test("a lane of more jobs than have room, which a restart brought in in part, keeps no other one from running", async () => {
  const { inbox, clock, restart } = await onDisk({ maxJobs: 10 });
  await inbox.store([mail([...named("failing", 20, { lane: "failing" }), ...named("fine", 3)])]);
  await restart();
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  expect(claims).toMatchObject([{ jobs: [{ lane: "failing" }] }]);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [later(clock, HOUR)] })));
  expect((await run(inbox)).toSorted()).toEqual(["fine 0", "fine 1", "fine 2"]);
  clock.jump(HOUR);
  expect(await run(inbox)).toEqual(named("failing", 20, {}).map(({ id }) => id));
});

test("a replay brings no more into memory than there is room for, and all of it runs", async () => {
  const { inbox } = await onDisk({ maxJobs: MAX });
  for (let round = 0; round < 10; round += 1) {
    await inbox.store([mail(named(`round ${round}`, MAX))]);
    await run(inbox);
  }
  expect(await inbox.jobs.replay({ states: ["done"] })).toBe(10 * MAX);
  expect(inbox.stats()).toMatchObject({ waiting: 10 * MAX, blockedLanes: 0 });
  const { claims } = await inbox.claim(ALL);
  expect(claims).toHaveLength(MAX);
  await inbox.settle(claims.map((claim) => ({ claim, outcomes: [DONE] })));
  expect(new Set(await run(inbox)).size).toBe(9 * MAX);
  expect(inbox.stats()).toMatchObject({ waiting: 0, isFull: false });
});

test("with some four times as many that wait, newer deliveries wait, and the inbox says why", async () => {
  const { inbox, clock } = await fullOfRetries();
  let rounds = 0;
  for (; rounds < 100 && inbox.stats().unexpanded === 0; rounds += 1) {
    await inbox.store([mail([`more ${rounds}`])]);
    await run(inbox, later(clock, HOUR));
  }
  expect(inbox.stats()).toMatchObject({ unexpanded: 1, isFull: true });
  expect(rounds).toBeGreaterThan(2 * MAX);
  expect(rounds).toBeLessThan(4 * MAX);
  clock.jump(HOUR);
  await run(inbox);
  expect(inbox.stats()).toMatchObject({ waiting: 0, isFull: false });
  expect(await inbox.unexpanded(10)).toHaveLength(1);
});

const DONE: JobOutcome = { to: "done" };
