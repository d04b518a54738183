import assert from "node:assert/strict";
import type { Claim, Claimed, ClaimLimits } from "../../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import type { StoredJob } from "../../../src/inbox/port/jobs.ts";
import type { PlainInbox } from "./reference-inbox.ts";
import { isPlainlyDue, isPlainlySuspect, type PlainJob } from "./reference-jobs.ts";

/** All that can be seen of an inbox is what its specification says. */
export async function compareAll(inbox: WorkingInbox, plain: PlainInbox, now: number): Promise<void> {
  const states = ["waiting", "running", "dead", "unhandled"] as const;
  const { jobs } = await inbox.jobs.find({ states, limit: 10_000 });
  assert.equal(jobs.length, plain.jobs.length, `it holds ${told(jobs)}; expected ${plain.jobs.length} jobs`);
  let last = 0;
  for (const [index, job] of jobs.entries()) {
    const expected = plain.jobs[index] as PlainJob;
    expected.id ??= job.id;
    assert.ok(Number(job.id) > last, `job ${job.id} comes after job ${last}: ids grow`);
    last = Number(job.id);
    assert.deepEqual(facts(job, expected), factsOf(expected), `job ${job.id} is not as it should be`);
  }
  const unexpanded = await inbox.unexpanded(10_000);
  assert.deepEqual(
    unexpanded.map(({ id, cursor }) => ({ id, cursor })),
    plain.unexpanded.map(({ id, cursor }) => ({ id, cursor })),
    "other deliveries are unexpanded than should be",
  );
  await compareUnhandled(inbox, plain);
  if (inbox.pauses !== undefined)
    assert.deepEqual(
      new Set(inbox.pauses.current().map(({ consumer, accountId }) => `${consumer} ${accountId}`)),
      new Set(plain.pauses.map(({ consumer, accountId }) => `${consumer} ${accountId}`)),
      "other jobs are paused than should be",
    );
  compareStats(inbox, plain, now);
}

async function compareUnhandled(inbox: WorkingInbox, plain: PlainInbox): Promise<void> {
  const handled = [{ type: "email.updated", consumer: "default" }];
  const given = await inbox.jobs.unhandled({ handled, limit: 10_000 });
  const unhandled = plain.jobs.filter(({ state }) => state === "unhandled");
  assert.deepEqual(
    given.map(({ id }) => id),
    unhandled.filter(({ consumer = "default" }) => consumer === "default").map(({ id }) => id),
    "other jobs are unhandled for a consumer than should be",
  );
}

/** What a claim gave is what may be claimed, and all of it where there is room; the specification follows it. */
export function compareClaims(
  { claims, ...rest }: Claimed,
  plain: PlainInbox,
  { limits, now }: { readonly limits: ClaimLimits; readonly now: number },
): PlainJob[][] {
  const isAsked = (head: PlainJob): boolean => isPlainlySuspect(head) === (limits.suspects ?? false);
  const heads = plain.heads().filter((head) => isAsked(head) && !plain.isPaused(head));
  assert.ok(claims.length <= limits.max, `claim gave ${claims.length} claims, at most ${limits.max} were asked for`);
  const runs = claims.map((claim) => {
    const [{ id }] = claim.jobs;
    const head = heads.find((job) => job.id === id);
    assert.ok(head !== undefined, `job ${id} was claimed, which is no head of a free lane that may come now`);
    assert.ok(
      isPlainlyDue(head, now) || head.wasDue,
      `job ${id} was claimed before its time, ${head.runAt}; it is ${now}`,
    );
    const run = plain.runOf(head, limits.mergeMax);
    compareRun(claim, run, now);
    plain.claim(run, now);
    return run;
  });
  const left = heads.filter((head) => head.state === "waiting" && isPlainlyDue(head, now));
  if (limits.suspects === true) compareGroup(runs.flat(), left, limits.max);
  else compareOrder(runs, left, limits);
  compareRest(rest, plain, now);
  return runs;
}

/** Those over which the process died once are among the first, or wait with others. */
function compareOrder(runs: readonly PlainJob[][], left: readonly PlainJob[], { max, slots = max }: ClaimLimits): void {
  const late = runs.slice(slots).flatMap(([head]) => (head?.deaths === 1 ? head : []));
  assert.equal(late.length, 0, `${idsOf(late)} came behind the first ${slots}, and the process died once over it`);
  const mayWait = runs.length >= slots && left.some(({ deaths }) => deaths === 1);
  if (runs.length < max && !mayWait) assert.equal(left.length, 0, `${idsOf(left)} could be claimed, and did not come`);
}

/** Suspects come together, as many as may. */
function compareGroup(group: readonly PlainJob[], left: readonly PlainJob[], max: number): void {
  const most = Math.min(max, ...group.map(({ groupMax }) => groupMax));
  assert.ok(group.length <= most, `${group.length} suspects came together, at most ${most} may`);
  const more = left.filter(({ groupMax }) => group.length < Math.min(most, groupMax));
  if (more.length > 0 && more.length === left.length) assert.fail(`${idsOf(more)} could come along, and did not`);
}

function compareRun({ jobs }: Claim, run: readonly PlainJob[], now: number): void {
  assert.deepEqual(
    jobs.map(({ id }) => id),
    run.map(({ id }) => id),
    "a claim has another run behind its head than its lane has",
  );
  for (const [index, expected] of run.entries()) {
    const { id, deliveryId, entry, consumer, lane, attempt, firstAttemptAt, deaths, replayOf } = jobs[index] ?? jobs[0];
    assert.deepEqual(
      { deliveryId, entry, consumer, lane, attempt, firstAttemptAt, deaths, replay: isReplay(replayOf, expected) },
      {
        deliveryId: expected.deliveryId,
        entry: expected.entry,
        consumer: expected.consumer,
        lane: expected.lane,
        attempt: expected.deaths < 3 ? expected.attempts + 1 : expected.attempts,
        firstAttemptAt: Math.min(expected.firstAttemptAt ?? now, now, expected.inherited ?? Infinity),
        deaths: expected.deaths,
        replay: true,
      },
      `job ${id} was claimed, and is not as it should be`,
    );
  }
}

function compareRest({ nextDueAt, suspects }: Omit<Claimed, "claims">, plain: PlainInbox, now: number): void {
  const heads = plain.heads();
  const asked = heads.filter((head) => isPlainlySuspect(head) && !plain.isPaused(head));
  if (asked.some((head) => isPlainlyDue(head, now))) assert.equal(suspects, true, "claim hides its suspects");
  else if (!asked.some(({ wasDue }) => wasDue)) assert.equal(suspects, false, "claim tells of suspects, there is none");
  const early = heads.filter((head) => !isPlainlyDue(head, now));
  const soonest = Math.min(...early.filter(({ wasDue }) => !wasDue).map(({ runAt }) => runAt));
  const may = [soonest, ...early.map(({ runAt }) => runAt).filter((at) => at < soonest)];
  assert.ok(
    may.includes(nextDueAt ?? Infinity),
    `nextDueAt is ${nextDueAt}, expected ${may.filter(Number.isFinite).join(" or ") || undefined}`,
  );
}

/** @throws AssertionError where the jobs and deliveries in each state are other than many */
export function compareCounts(inbox: WorkingInbox, plain: PlainInbox): void {
  const { unexpanded, waiting, running, dead, unhandled } = inbox.stats();
  const jobs = (state: PlainJob["state"]): number => plain.jobs.filter((job) => job.state === state).length;
  assert.deepEqual(
    { unexpanded, waiting, running, dead, unhandled },
    {
      unexpanded: plain.unexpanded.length,
      waiting: jobs("waiting"),
      running: jobs("running"),
      dead: jobs("dead"),
      unhandled: jobs("unhandled"),
    },
    "stats count something else",
  );
}

function compareStats(inbox: WorkingInbox, plain: PlainInbox, now: number): void {
  const { blockedLanes, oldestWaitingAt, waiting, running } = inbox.stats();
  const isShared = inbox.capabilities.workers === "many";
  const jobs = (state: PlainJob["state"]): PlainJob[] => plain.jobs.filter((job) => job.state === state);
  if (!isShared) compareCounts(inbox, plain);
  assert.deepEqual(
    { waiting, running },
    { waiting: jobs("waiting").length, running: jobs("running").length },
    "stats count something else",
  );
  const retried = plain.heads().filter(({ runAt }) => runAt > 0);
  const blocked = retried.filter((head) => !isPlainlyDue(head, now) && !head.wasDue);
  assert.ok(
    blockedLanes >= blocked.length && blockedLanes <= retried.length,
    `stats tell of ${blockedLanes} blocked lanes, expected ${blocked.length} to ${retried.length}`,
  );
  // What is paused is nobody's oldest, once a claim has said so.
  if (isShared || plain.pauses.length > 0) return;
  const times = jobs("waiting").map(({ receivedAt }) => receivedAt);
  const unexpanded = plain.unexpanded.map(({ delivery }) => delivery.receivedAt);
  // A replay stands behind younger ones: whether it is the oldest is a matter of taste.
  const oldest = [
    [...times.slice(0, 1), ...unexpanded],
    [...times, ...unexpanded],
  ].map((all) => Math.min(...all));
  assert.ok(
    oldest.includes(oldestWaitingAt ?? Infinity),
    `oldestWaitingAt is ${oldestWaitingAt}, expected ${oldest.filter(Number.isFinite).join(" or ") || undefined}`,
  );
}

/** What the port says of a job in its state. */
function facts(job: StoredJob, expected: PlainJob): object {
  const { id, deliveryId, entry, state, consumer, lane, attempts, error, receivedAt, runAt, settledAt, replayOf } = job;
  return {
    id,
    deliveryId,
    entry,
    state,
    consumer,
    attempts,
    receivedAt,
    replay: isReplay(replayOf, expected),
    ...(state === "waiting" ? { lane, runAt, error } : {}),
    ...(state === "dead" ? { error, settledAt } : {}),
  };
}

function factsOf(job: PlainJob): object {
  const { id, deliveryId, entry, state, consumer, lane, attempts, error, receivedAt, runAt, settledAt } = job;
  return {
    id,
    deliveryId,
    entry,
    state,
    consumer,
    attempts,
    receivedAt,
    replay: true,
    ...(state === "waiting" ? { lane, runAt: runAt === 0 ? undefined : runAt, error } : {}),
    ...(state === "dead" ? { error, settledAt } : {}),
  };
}

function isReplay(replayOf: string | undefined, { replays }: PlainJob): boolean {
  return replayOf === undefined ? replays.length === 0 : replays.includes(replayOf);
}

function told(jobs: readonly StoredJob[]): string {
  return `${jobs.length} jobs (${jobs.map(({ id, state }) => `${id} ${state}`).join(", ")})`;
}

function idsOf(jobs: readonly PlainJob[]): string {
  return jobs.map(({ id }) => `job ${id}`).join(", ");
}
