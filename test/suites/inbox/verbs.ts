import assert from "node:assert/strict";
import { eventAt } from "../../../src/dispatch/calls/job-view.ts";
import type { Claim, ClaimedJob, JobOutcome } from "../../../src/inbox/port/claims.ts";
import type { NewDelivery, StoreResult } from "../../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import type { JobQuery, StoredJob } from "../../../src/inbox/port/jobs.ts";
import { mail, type MailEntry } from "./deliveries.ts";
import type { InboxBench } from "./fixture.ts";

/** Stores deliveries, all of which are accepted. */
export async function storeAll(
  inbox: WorkingInbox,
  ...deliveries: readonly NewDelivery[]
): Promise<readonly StoreResult[]> {
  const stored = await inbox.store(deliveries);
  assert.equal(stored.length, deliveries.length, "store answers each delivery");
  return stored.map((each) => {
    if (each instanceof Error) throw each;
    return each;
  });
}

/** What may be claimed now, oldest first, without merging. */
export async function claimAll(
  inbox: WorkingInbox,
  limits: { max?: number; mergeMax?: number; suspects?: boolean } = {},
): Promise<readonly Claim[]> {
  const { claims } = await inbox.claim({ max: 100, mergeMax: 1, ...limits });
  return claims.toSorted((a, b) => Number(a.jobs[0].id) - Number(b.jobs[0].id));
}

/** The one claim there is. */
export async function claimOne(inbox: WorkingInbox, mergeMax = 1): Promise<Claim> {
  const claims = await claimAll(inbox, { mergeMax });
  assert.equal(claims.length, 1, `claim gave ${claims.length} claims, expected one: ${recordsOf(claims).join("; ")}`);
  return claims[0] as Claim;
}

export async function settleAll(inbox: WorkingInbox, claim: Claim, ...outcomes: readonly JobOutcome[]): Promise<void> {
  assert.deepEqual(await inbox.settle([{ claim, outcomes }]), [true], "settle of a claim that stands says true");
}

/** The process dies that many times over what is claimed, each time everything; the inbox as the last successor has it. */
export async function die(bench: InboxBench, times: number): Promise<WorkingInbox> {
  let { inbox } = bench;
  for (let time = 0; time < times; time += 1) {
    await claimAll(inbox, { mergeMax: 10 });
    await claimAll(inbox, { suspects: true });
    inbox = await bench.succeed();
  }
  return inbox;
}

/** Attempts and deaths of each job of some claims. */
export function countsOf(claims: readonly Claim[]): number[][] {
  return claims.flatMap(({ jobs }) => jobs.map(({ attempt, deaths }) => [attempt, deaths]));
}

export const done: JobOutcome = { to: "done" };
export const release: JobOutcome = { to: "release" };
export const unhandled: JobOutcome = { to: "unhandled" };

export function dead({ clock }: InboxBench, message = "no"): JobOutcome {
  return { to: "dead", error: { name: "Error", message, at: clock.now() } };
}

/** Dead, because the time in which it is tried again was over. */
export function over(bench: InboxBench): JobOutcome {
  return { ...dead(bench), ofWindow: true } as JobOutcome;
}

export function retry({ clock }: InboxBench, delayMs: number, counted = true): JobOutcome {
  const now = clock.now();
  return { to: "retry", at: now + delayMs, delayMs, counted, error: { name: "Error", message: "no", at: now } };
}

/** The records of some claims, each with its run: of a change, or the tracking event's id. */
export function recordsOf(claims: readonly Claim[]): string[][] {
  return claims.map(({ jobs }) => jobs.map(recordOf));
}

/** The records of jobs that the inbox holds with their events, or gives with their deliveries. */
export async function recordsIn(inbox: WorkingInbox, query: JobQuery = {}): Promise<string[]> {
  const jobs = await findAll(inbox, query);
  const records: string[] = [];
  for (const { id, entry, event } of jobs) {
    const found = event === undefined ? await inbox.jobs.get(id) : undefined;
    const body = Buffer.from(found?.delivery?.bodyBase64 ?? "", "base64");
    records.push(recordOf({ entry, event, delivery: { body } }));
  }
  return records;
}

/** Runs all there is, one after another, in the order in which it may be claimed. */
export async function drain(inbox: WorkingInbox): Promise<string[]> {
  const seen: string[] = [];
  for (let claims = await claimAll(inbox, { max: 1 }); claims.length > 0; claims = await claimAll(inbox, { max: 1 })) {
    for (const claim of claims) {
      seen.push(...claim.jobs.map(recordOf));
      await settleAll(inbox, claim, ...claim.jobs.map(() => done));
    }
  }
  return seen;
}

/** The records of one lane, each settled so as soon as it comes, with the time of its first attempt. */
export async function firstAttempts(inbox: WorkingInbox, outcome: JobOutcome): Promise<[record: string, at: number][]> {
  const seen: [string, number][] = [];
  for (let [claim] = await claimAll(inbox, ONE); claim !== undefined; [claim] = await claimAll(inbox, ONE)) {
    for (const job of claim.jobs) seen.push([recordOf(job), job.firstAttemptAt]);
    await settleAll(inbox, claim, ...claim.jobs.map(() => outcome));
  }
  return seen;
}

/** A page of jobs, long enough for any case. */
export async function findAll(inbox: WorkingInbox, query: JobQuery = {}): Promise<readonly StoredJob[]> {
  const { jobs } = await inbox.jobs.find({ ...query, limit: 1_000 });
  return jobs;
}

/** One dead job of each of these records. */
export async function killAll(bench: InboxBench, ...entries: readonly (string | MailEntry)[]): Promise<string[]> {
  await storeAll(bench.inbox, mail(entries));
  const claims = await claimAll(bench.inbox);
  for (const claim of claims) await settleAll(bench.inbox, claim, dead(bench));
  return claims.map(({ jobs }) => jobs[0].id);
}

/** Whether numbers in text grow. */
export function assertGrowing(ids: readonly string[], what: string): void {
  for (const [index, id] of ids.entries())
    assert.ok(index === 0 || Number(id) > Number(ids[index - 1]), `${what} do not grow: ${ids.join(", ")}`);
}

function recordOf({ event, delivery, entry }: Recorded): string {
  const job = { event, entry, delivery: delivery as ClaimedJob["delivery"] };
  return String((eventAt(job) as { readonly id?: unknown }).id);
}

interface Recorded extends Pick<ClaimedJob, "event" | "entry"> {
  readonly delivery: Pick<ClaimedJob["delivery"], "body">;
}

const ONE = { max: 1 };
