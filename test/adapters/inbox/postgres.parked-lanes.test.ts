import { expect, test } from "vitest";
import { mail, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { openProcesses, type Process, type Processes } from "./postgres-processes.ts";
import { ALL, checkHeldAccount, HOUR, INHERITING, inheritInParts, later, named, recordIn, run } from "./retries.ts";

const MAX = 20;
const NAMES = named("failing", MAX).map(({ id }) => id);

interface Full extends Process {
  readonly processes: Processes;
}

/** An inbox whose memory is full of jobs of one consumer that wait for an hour. */
async function fullOfRetries(entries: readonly MailEntry[] = named("failing", MAX)): Promise<Full> {
  const processes = await openProcesses();
  const process = await processes.start({ maxJobs: MAX });
  await process.inbox.store([mail(entries.map((entry) => ({ consumer: "failing", ...entry })))]);
  await run(process.inbox, later(process.clock, HOUR));
  return { ...process, processes };
}

test("jobs of a consumer that fails keep no other from being made and run, though they fill the memory", async () => {
  const { inbox, clock } = await fullOfRetries();
  expect(await inbox.store([mail(["fine"])])).toMatchObject([{ expanded: true }]);
  expect(await run(inbox)).toEqual(["fine"]);
  expect(inbox.stats()).toMatchObject({ waiting: MAX, blockedLanes: MAX, unexpanded: 0, isFull: false });
  expect((await inbox.claim(ALL)).nextDueAt).toBeLessThanOrEqual(clock.now() + HOUR);
  clock.jump(HOUR);
  expect((await run(inbox)).toSorted()).toEqual(NAMES.toSorted());
  expect(inbox.stats()).toMatchObject({ waiting: 0, blockedLanes: 0 });
});

test("nor do they in the process that takes over from the one that they filled", async () => {
  const { inbox, clock, heard, processes } = await fullOfRetries();
  const old = (await inbox.store([mail([{ id: "runs", lane: "one" }])])) && (await inbox.claim(ALL)).claims;
  await inbox.store([mail([{ id: "behind", lane: "one" }, "fine"])]);
  expect(old).toHaveLength(1);
  await processes.rows("select hookline.take_over(max(id), null, $1, true) from hookline.worker", [clock.now()]);
  await processes.passing(() => expect(heard.begun).toBe(2));
  expect(heard.lost).toEqual(old);
  expect(await inbox.store([mail(["more"])])).toMatchObject([{ expanded: true }]);
  // The handler of the lost claim runs on.
  expect((await run(inbox)).toSorted()).toEqual(["fine", "more"]);
  expect(await inbox.settle(old.map((claim) => ({ claim, outcomes: [{ to: "done" }] })))).toEqual([false]);
  expect(await run(inbox)).toEqual(["runs", "behind"]);
  await processes.passing(() => expect(inbox.stats()).toMatchObject({ waiting: MAX, blockedLanes: MAX }));
  clock.jump(HOUR);
  expect((await run(inbox)).toSorted()).toEqual(NAMES.toSorted());
});

test("nor jobs that are replayed", async () => {
  const { inbox, clock } = await fullOfRetries();
  await inbox.store([mail(named("done", MAX - 1))]);
  const done = await run(inbox);
  expect(await inbox.jobs.replay({ states: ["done"] })).toBe(MAX - 1);
  expect((await run(inbox)).toSorted()).toEqual(done.toSorted());
  expect(inbox.stats()).toMatchObject({ waiting: MAX, isFull: false });
  clock.jump(HOUR);
  expect(await run(inbox)).toHaveLength(MAX);
});

test("shards that go to another process take their parked lanes along, and each job runs once", async () => {
  const { inbox, clock, processes } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  await run(inbox);
  const other = await processes.start({ maxJobs: MAX });
  await processes.passing(() => expect(other.inbox.stats().workers?.share).toBe(0.5));
  await processes.passing(() => expect(inbox.stats().blockedLanes + other.inbox.stats().blockedLanes).toBe(MAX));
  for (const one of [clock, other.clock]) one.jump(2 * HOUR);
  const seen = [...(await run(inbox)), ...(await run(other.inbox))];
  expect(seen.toSorted()).toEqual(NAMES.toSorted());
});

test("what comes into a lane that left the memory waits behind its jobs, and runs in their order", async () => {
  const { inbox, clock } = await fullOfRetries([...named("failing", MAX - 1), { id: "first", lane: "one" }]);
  await inbox.store([mail(["fine"])]);
  await inbox.store([mail([{ id: "second", lane: "one", consumer: "failing" }])]);
  await inbox.store([mail([{ id: "third", lane: "one", consumer: "failing" }])]);
  expect(await run(inbox)).toEqual(["fine"]);
  clock.jump(HOUR);
  const names = await run(inbox);
  expect(names.filter((name) => ["first", "second", "third"].includes(name))).toEqual(["first", "second", "third"]);
  expect(names).toHaveLength(MAX + 2);
});

test("a lane of more jobs than are read at once comes back a part at a time, in its order", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start({ maxJobs: 1_600 });
  const many = named("of one", 1_500, { lane: "one", mergeKey: "all" });
  await inbox.store([mail(many)]);
  await run(inbox, later(clock, HOUR));
  await inbox.store([mail(named("filler", 100))]);
  await inbox.store([mail(["one more"])]);
  clock.jump(HOUR);
  const order: string[] = [];
  for (let round = 0; order.length < 1_500 + 101; round += 1) {
    const { claims } = await inbox.claim({ ...ALL, mergeMax: 40 });
    // Each third time the memory is to be full of what waits again.
    const outcome = round % 3 === 2 ? later(clock, 60_000) : ({ to: "done" } as const);
    if (outcome.to === "done")
      order.push(...claims.flatMap(({ jobs }) => jobs.map(({ delivery, entry }) => recordIn(delivery.body, entry))));
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => outcome) })));
    if (outcome.to !== "done") clock.jump(60_000);
  }
  expect(order.filter((name) => name.startsWith("of one"))).toEqual(many.map(({ id }) => id));
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});

test("a lane that leaves the memory keeps the window that its jobs inherited", async () => {
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start({ maxJobs: 2 });
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
  const processes = await openProcesses();
  const { inbox, clock } = await processes.start({ maxJobs: 500 });
  const ages = await inheritInParts(inbox, clock);
  expect(ages).toEqual(Array.from({ length: INHERITING }, () => HOUR));
});

test("what comes back beside a claim that found other jobs is told: it starts where slots are free", async () => {
  const { inbox, clock, heard } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  clock.jump(HOUR);
  await inbox.claim({ ...ALL, max: 0 }); // it has heard of all that was stored
  const before = heard.wakes;
  expect((await inbox.claim({ ...ALL, max: 1 })).claims).toHaveLength(1);
  await eventually(() => expect(heard.wakes).toBeGreaterThan(before));
  expect(await run(inbox)).toHaveLength(MAX);
});

test("jobs of an account that is delayed, or has no free call, keep no other account from running, though they fill the memory", async () => {
  const { inbox } = await (await openProcesses()).start({ maxJobs: MAX });
  await checkHeldAccount(inbox, MAX);
});

test("dropped ones free the memory at once", async () => {
  const { inbox } = await fullOfRetries();
  await inbox.store([mail(["fine"])]);
  await run(inbox);
  expect(await inbox.jobs.drop({ states: ["waiting"] })).toBe(MAX);
  expect(await run(inbox)).toEqual([]);
  expect(inbox.stats()).toMatchObject({ waiting: 0, blockedLanes: 0, oldestWaitingAt: undefined });
});

test("with some four times as many that wait, newer deliveries wait, and the inbox says why", async () => {
  const { inbox, clock, processes } = await fullOfRetries();
  let rounds = 0;
  for (; rounds < 100 && inbox.stats().unexpanded === 0; rounds += 1) {
    await inbox.store([mail([`more ${rounds}`])]);
    await run(inbox, later(clock, HOUR));
  }
  expect(await inbox.unexpanded(10)).toEqual([]);
  await processes.passing(() => expect(inbox.stats()).toMatchObject({ unexpanded: 1, isFull: true }));
  expect(rounds).toBeGreaterThan(2 * MAX);
  expect(rounds).toBeLessThan(4 * MAX);
  clock.jump(HOUR);
  await run(inbox);
  expect(inbox.stats()).toMatchObject({ waiting: 0, isFull: false });
  expect(await inbox.unexpanded(10)).toHaveLength(1);
});
