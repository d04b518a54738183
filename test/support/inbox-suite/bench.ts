import assert from "node:assert/strict";
import { eventAt } from "../../../src/dispatch/read-back.ts";
import type {
  Claim,
  ClaimedJob,
  InboxHost,
  JobOutcome,
  JobQuery,
  Kept,
  NewDelivery,
  NewEvent,
  NewJob,
  StoredJob,
  WorkingInbox,
} from "../../../src/inbox/port.ts";
import { eventsOf, parseDocument } from "../../../src/protocol/envelope.ts";
import { fakeClock, type FakeClock } from "../fake-clock.ts";
import { logBook } from "../log-book.ts";
import { bodyOf, change, makeDelivery, tracked, trackingBody, type BodyFields } from "../make-delivery.ts";

/** An inbox that is open and worked on, and what it told its worker. */
export interface InboxBench {
  readonly inbox: WorkingInbox;
  readonly host: InboxHost;
  readonly clock: FakeClock;
  readonly heard: { begun: number; woken: number; readonly lost: Claim[] };
}

/** Sentences about an inbox, each with its proof. */
export type InboxCases = Readonly<Record<string, (bench: InboxBench) => Promise<void>>>;

const DEDUPE_WINDOW_MS = 8 * 86_400_000;

export async function openBench(make: () => WorkingInbox | Promise<WorkingInbox>): Promise<InboxBench> {
  const clock = fakeClock();
  const host = { name: "default", clock, log: logBook().logger, dedupeWindowMs: DEDUPE_WINDOW_MS };
  const heard: InboxBench["heard"] = { begun: 0, woken: 0, lost: [] };
  const inbox = await make();
  await inbox.open(host);
  await inbox.work({
    begin: () => (heard.begun += 1),
    wake: () => (heard.woken += 1),
    lost: (claims) => void heard.lost.push(...claims),
  });
  return { inbox, host, clock, heard };
}

/** One entry of a delivery of e-mails, and its jobs. By default one job in a lane of its own name that does not merge. */
export interface MailEntry extends Partial<NewJob> {
  readonly id: string;
  readonly changeType?: string;
  /** Instead of the one. */
  readonly jobs?: readonly Partial<NewJob>[];
}

export interface MailFields extends BodyFields {
  readonly receivedAt?: number;
  readonly source?: string;
}

/** A delivery of e-mails with its events. */
export function mail(entries: readonly (string | MailEntry)[], { receivedAt, source, ...fields }: MailFields = {}) {
  const all = entries.map((entry) => (typeof entry === "string" ? { id: entry } : entry));
  const body = bodyOf({ payloads: all.map(({ id, changeType }) => change(id, changeType)), ...fields });
  const jobs = all.map(({ id, changeType: _changeType, jobs: several, ...job }) =>
    (several ?? [job]).map((one): NewJob => Object.assign({}, NO_JOB, { lane: `default ${id}` }, one)),
  );
  return newDelivery(body, (index) => ({ unique: undefined, jobs: jobs[index] ?? [] }), { receivedAt, source });
}

const NO_JOB: NewJob = { state: "waiting", consumer: "default", lane: undefined, mergeKey: undefined };
const NO_CONSUMER = { consumer: undefined, lane: undefined, mergeKey: undefined } as const;

/** Jobs of nobody. */
export const UNHANDLED: NewJob = { ...NO_CONSUMER, state: "unhandled" };
export const SKIPPED: NewJob = { ...NO_CONSUMER, state: "skipped" };

/** A delivery of tracking events, each told once: its key and its content are what is given. */
export function told(...events: readonly { readonly key: string; readonly content: string }[]): NewDelivery {
  const body = trackingBody(...events.map((_, index) => tracked(index + 1)));
  return newDelivery(body, (index) => ({ unique: events[index], jobs: [{ ...NO_JOB, lane: `default ${index}` }] }));
}

function newDelivery(
  body: string,
  rest: (index: number) => Pick<NewEvent, "unique" | "jobs">,
  { receivedAt, source }: { readonly receivedAt?: number | undefined; readonly source?: string | undefined } = {},
): NewDelivery & { readonly events: readonly NewEvent[] } {
  const delivery = makeDelivery(body, { source, ...(receivedAt === undefined ? {} : { receivedAt }) });
  const events = eventsOf(parseDocument(delivery.body)).map((event, entry) =>
    Object.assign({ entry, event }, rest(entry)),
  );
  return { delivery, events };
}

/** The same delivery, kept by a process that does not work. */
export function raw({ delivery }: NewDelivery): NewDelivery {
  return { delivery, events: undefined };
}

/** Keeps deliveries, all of which are taken. */
export async function keepAll(inbox: WorkingInbox, ...deliveries: readonly NewDelivery[]): Promise<readonly Kept[]> {
  const kept = await inbox.keep(deliveries);
  return kept.map((one) => {
    assert.ok("id" in one, "it was not kept");
    return one;
  });
}

/** What may be claimed now, without merging. */
export async function claimAll(inbox: WorkingInbox, limits: { max?: number; mergeMax?: number } = {}) {
  const { claims } = await inbox.claim({ max: 100, mergeMax: 1, ...limits });
  return claims;
}

/** The one claim there is. */
export async function claimOne(inbox: WorkingInbox, mergeMax = 1): Promise<Claim> {
  const claims = await claimAll(inbox, { mergeMax });
  assert.equal(claims.length, 1);
  return claims[0] as Claim;
}

export async function settleAll(inbox: WorkingInbox, claim: Claim, ...outcomes: readonly JobOutcome[]): Promise<void> {
  assert.deepEqual(await inbox.settle([{ claim, outcomes }]), [true]);
}

export const done: JobOutcome = { to: "done" };
export const release: JobOutcome = { to: "release" };
export const unhandled: JobOutcome = { to: "unhandled" };

export function dead({ clock }: InboxBench, message = "no"): JobOutcome {
  return { to: "dead", error: { name: "Error", message, at: clock.now() } };
}

export function retry({ clock }: InboxBench, delayMs: number, counted = true): JobOutcome {
  const now = clock.now();
  return { to: "retry", at: now + delayMs, delayMs, counted, error: { name: "Error", message: "no", at: now } };
}

/** The record of a change, or the tracking event's id. */
function recordOf(job: ClaimedJob): string {
  return String((eventAt(job) as { readonly id?: unknown }).id);
}

/** The records of some claims, each with its run. */
export function recordsOf(claims: readonly Claim[]): string[][] {
  return claims.map(({ jobs }) => jobs.map(recordOf));
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

/** A page of jobs, long enough for any case. */
export async function findAll(inbox: WorkingInbox, query: JobQuery = {}): Promise<readonly StoredJob[]> {
  const { jobs } = await inbox.jobs.find({ ...query, limit: 1_000 });
  return jobs;
}

/** One dead job of each of these records. */
export async function killAll(bench: InboxBench, ...entries: readonly (string | MailEntry)[]): Promise<string[]> {
  await keepAll(bench.inbox, mail(entries));
  const claims = await claimAll(bench.inbox);
  for (const claim of claims) await settleAll(bench.inbox, claim, dead(bench));
  return claims.map(({ jobs }) => jobs[0].id);
}
