import { expect, test } from "vitest";
import { checkInvariants, type Evidence, type FinalJob } from "./check-invariants.ts";
import { makeDelivery, type Kind } from "./deliveries.ts";
import type { JournalLine } from "./journal.ts";
import type { Sent } from "./service.ts";

function sent(kind: Kind, { at, acked }: { readonly at: number; readonly acked?: number }, entries = 1): Sent {
  return {
    ...makeDelivery(kind, { entries }),
    sentAt: at,
    tries: 1,
    ...(acked === undefined ? {} : { ackedAt: acked }),
  };
}

function jobOf({ entries, sha }: Sent, id: number, more: Partial<FinalJob> = {}): FinalJob {
  const [{ name, lane } = { name: "", lane: undefined }] = entries;
  return { id, name, sha, lane, state: "done", consumer: "default", replayed: false, ...more };
}

let calls = 0;

/** A handler call for these jobs, and its end. */
function run(jobs: readonly FinalJob[], { instance = "1", ok = true, merged = jobs.length, each = false } = {}) {
  const [newest] = jobs.slice(-1);
  if (newest === undefined) throw new Error("Of nothing.");
  const call = (calls += 1);
  const names = (each ? jobs : [newest]).map(({ name }) => name);
  const start = {
    at: "start",
    instance,
    call,
    job: newest.id,
    merged,
    attempt: 1,
    replay: false,
    names,
    each,
  } as const;
  return { start, end: { at: "end", instance, call, ok, sha: newest.sha } as const };
}

function brokenRules(evidence: Partial<Evidence>): readonly string[] {
  const wrong = checkInvariants({ sent: [], journal: [], jobs: [], attempts: 4, ...evidence });
  return wrong.map((text) => text.slice(0, 2));
}

/** Two done jobs of one lane that ran one after the other. */
function pair() {
  const deliveries = [sent("email", { at: 1, acked: 2 }), sent("email", { at: 3, acked: 4 })] as const;
  const jobs = [jobOf(deliveries[0], 1), jobOf(deliveries[1], 2)] as const;
  return { sent: deliveries, jobs, first: run([jobs[0]]), second: run([jobs[1]]) };
}

function all(...runs: readonly { readonly start: JournalLine; readonly end: JournalLine }[]): JournalLine[] {
  return runs.flatMap(({ start, end }) => [start, end]);
}

test("accepts two jobs that ran one after the other", () => {
  const { first, second, ...rest } = pair();
  expect(brokenRules({ ...rest, journal: all(first, second) })).toEqual([]);
});

test("accepts two jobs that ran in one merged call", () => {
  const { sent: deliveries, jobs } = pair();
  expect(brokenRules({ sent: deliveries, jobs, journal: all(run(jobs)) })).toEqual([]);
});

test("accepts a process that died in a call and another that ran it again", () => {
  const { first, second, jobs, ...rest } = pair();
  const journal = [first.start, ...all(run([jobs[0]], { instance: "2" }), second)];
  expect(
    brokenRules({ ...rest, jobs, journal: journal.filter((line) => line !== second.start && line !== second.end) }),
  ).toEqual(["I2"]);
  expect(
    brokenRules({
      ...rest,
      jobs,
      journal: [first.start, ...all(run([jobs[0]], { instance: "2" }), run([jobs[1]], { instance: "2" }))],
    }),
  ).toEqual([]);
});

test("reports an acknowledged delivery that is missing", () => {
  expect(brokenRules({ sent: [sent("email", { at: 1, acked: 2 })] })).toEqual(["I1"]);
  expect(brokenRules({ sent: [sent("email", { at: 1 })] })).toEqual([]);
});

test("reports that one of two consumers has no job", () => {
  const booking = sent("booking", { at: 1, acked: 2 });
  const job = jobOf(booking, 1);
  expect(brokenRules({ sent: [booking], jobs: [job], journal: all(run([job])) })).toEqual(["I1"]);
});

test("reports a done job whose handler never ended", () => {
  const { first, second, ...rest } = pair();
  expect(brokenRules({ ...rest, journal: [...all(first), second.start] })).toEqual(["I2"]);
});

test("reports a job that still waits", () => {
  const one = sent("email", { at: 1, acked: 2 });
  expect(brokenRules({ sent: [one], jobs: [jobOf(one, 1, { state: "waiting" })] })).toEqual(["I2"]);
});

test("reports two running jobs of one lane, in one process and in two", () => {
  const { first, second, jobs, ...rest } = pair();
  expect(brokenRules({ ...rest, jobs, journal: [first.start, second.start, first.end, second.end] })).toContain("I3");
  const other = run([jobs[0]], { instance: "2" });
  expect(
    brokenRules({ ...rest, jobs, journal: [first.start, other.start, other.end, first.end, ...all(second)] }),
  ).toEqual(["I3"]);
});

test("reports that the second job of a lane ran before the first", () => {
  const { first, second, ...rest } = pair();
  expect(brokenRules({ ...rest, journal: all(second, first) })).toEqual(["I3"]);
});

test("reports two jobs in another order than they were sent", () => {
  const { sent: deliveries } = pair();
  const jobs = [jobOf(deliveries[1], 1), jobOf(deliveries[0], 2)];
  const journal = all(...jobs.map((job) => run([job])));
  expect(brokenRules({ sent: deliveries, jobs, journal })).toEqual(["I3"]);
});

test("reports a merged call that misses a change", () => {
  const { sent: deliveries, jobs } = pair();
  const merged = run(jobs, { each: true });
  const journal = [{ ...merged.start, names: merged.start.names.slice(1) }, merged.end];
  expect(brokenRules({ sent: deliveries, jobs, journal })).toEqual(["I3"]);
});

test("reports a unique event with two jobs", () => {
  const one = sent("tracking", { at: 1, acked: 2 });
  const jobs = [jobOf(one, 1), jobOf(one, 2)];
  expect(brokenRules({ sent: [one], jobs, journal: all(...jobs.map((job) => run([job]))) })).toEqual(["I4"]);
});

test("reports a job that ran again in the process where it had succeeded", () => {
  const { first, second, jobs, ...rest } = pair();
  expect(brokenRules({ ...rest, jobs, journal: all(first, run([jobs[0]]), second) })).toEqual(["I4"]);
});

test("reports a job with more failures than its limit", () => {
  const one = sent("email", { at: 1, acked: 2 });
  const job = jobOf(one, 1, { state: "dead" });
  const journal = all(...Array.from({ length: 5 }, () => run([job], { ok: false })));
  expect(brokenRules({ sent: [one], jobs: [job], journal })).toEqual(["I5"]);
});

test("reports changed bytes, in the file and at the handler", () => {
  const one = sent("email", { at: 1, acked: 2 });
  const job = jobOf(one, 1, { sha: "other" });
  expect(brokenRules({ sent: [one], jobs: [job], journal: all(run([job])) })).toEqual(["I6"]);
  const { start, end } = run([jobOf(one, 1)]);
  expect(brokenRules({ sent: [one], jobs: [jobOf(one, 1)], journal: [start, { ...end, sha: "other" }] })).toEqual([
    "I6",
  ]);
});
