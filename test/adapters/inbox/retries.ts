import type { Claim, ClaimRules, JobOutcome, WorkingInbox } from "hookline/adapter";
import { expect } from "vitest";
import { mail, type MailEntry } from "../../suites/inbox/deliveries.ts";

export const HOUR = 3_600_000;
export const ALL = { max: 1_000, mergeMax: 1, ahead: () => 1_000 };

/** A failure that is to be tried again. */
export function later(clock: { now(): number }, delayMs: number): JobOutcome {
  const error = { at: clock.now(), name: "Error", message: "not now" };
  return { to: "retry", at: clock.now() + delayMs, delayMs, counted: true, error };
}

/** Claims what is due, and ends it so. @returns the records, in the order of their claims */
export async function run(inbox: WorkingInbox, outcome: JobOutcome = { to: "done" }): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const { claims } = await inbox.claim(ALL);
    if (claims.length === 0) return names;
    for (const { jobs } of claims) for (const { delivery, entry } of jobs) names.push(recordIn(delivery.body, entry));
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => outcome) })));
  }
}

export function recordIn(body: Uint8Array, entry: number): string {
  return String(JSON.parse(Buffer.from(body).toString()).payloads[entry].id);
}

export function named(name: string, count: number, fields: Partial<MailEntry> = {}): MailEntry[] {
  return Array.from({ length: count }, (_, index) => ({ id: `${name} ${index}`, ...fields }));
}

/** So many jobs has the lane `one`, of which no more than 1,000 are read at once, after its first one has died of its window. */
export const INHERITING = 1_500;

/**
 * Jobs of a lane that left the memory, of room for 500 jobs: the first one dies of its window when a part is back.
 * @returns for each of those behind it how long before now its window began, in the order of the lane
 */
export async function inheritInParts(inbox: WorkingInbox, clock: { now(): number; jump(ms: number): void }) {
  const ofOne = { lane: "one", mergeKey: "all" };
  await inbox.store([mail(named("of one", 1, ofOne))]);
  await run(inbox, later(clock, HOUR));
  await inbox.store([mail(named("filler", 499))]);
  await inbox.store([mail(["one more"])]);
  await run(inbox);
  await inbox.store([mail(named("behind", INHERITING, ofOne))]);
  clock.jump(HOUR);
  const ages: number[] = [];
  for (let isFirst = true; ; isFirst = false) {
    const { claims } = await inbox.claim({ ...ALL, mergeMax: isFirst ? 1 : 300 });
    if (claims.length === 0) return ages;
    if (!isFirst) ages.push(...claims.flatMap(({ jobs }) => jobs.map((job) => clock.now() - job.firstAttemptAt)));
    const dead: JobOutcome = { to: "dead", error: { at: clock.now(), name: "Error", message: "no" }, ofWindow: true };
    await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => dead) })));
  }
}

/**
 * The memory, of room for `maxJobs` jobs, is full of those of account 1, which is delayed, and may then have one call at a time: account 2 runs
 * all the same, and so does in the end what left the memory.
 */
export async function checkHeldAccount(inbox: WorkingInbox, maxJobs: number): Promise<void> {
  let isDelayed = true;
  let version = 0;
  const rules = (): ClaimRules => ({
    fairness: "account",
    perAccount: () => 1,
    isHeld: (_, account) => isDelayed && account === 1,
    version: (version += 1),
    isPaused: () => false,
    isPausing: false,
    resumed: 0,
  });
  const claim = async () => (await inbox.claim({ ...ALL, ahead: () => 0, rules: rules() })).claims;
  const end = (claims: readonly Claim[]) =>
    inbox.settle(claims.map((one) => ({ claim: one, outcomes: [{ to: "done" }] })));
  const runOther = async (id: string): Promise<void> => {
    const stored = await inbox.store([mail([id], { accountId: 2 })]);
    expect(stored).toMatchObject([{ expanded: true }]);
    const claims = await claim();
    expect(claims).toMatchObject([{ jobs: [{ accountId: 2 }] }]);
    await end(claims);
  };
  await inbox.store([mail(named("of one", maxJobs), { accountId: 1 })]);
  expect(await claim()).toEqual([]);
  await runOther("beside a delay");
  expect(inbox.stats()).toMatchObject({ blockedLanes: 0 });
  isDelayed = false;
  const seen: string[] = [];
  for (let claims = await claim(); claims.length > 0; claims = await claim()) {
    expect(claims).toHaveLength(1);
    if (seen.length === 0) await runOther("beside a call");
    seen.push(...claims.flatMap(({ jobs: [{ delivery, entry }] }) => recordIn(delivery.body, entry)));
    await end(claims);
  }
  expect(new Set(seen).size).toBe(maxJobs);
}
