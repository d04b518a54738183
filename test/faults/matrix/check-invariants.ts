import type { JournalLine, Started } from "./journal.ts";
import type { Sent } from "./service.ts";

/** The final state of a job in the inbox. */
export interface FinalJob {
  readonly id: number;
  readonly name: string;
  readonly state: string;
  readonly consumer: string | undefined;
  readonly lane: string | undefined;
  /** SHA-256 of the stored bytes. */
  readonly sha: string;
  readonly replayed: boolean;
}

export interface Evidence {
  readonly sent: readonly Sent[];
  readonly journal: readonly JournalLine[];
  readonly jobs: readonly FinalJob[];
  /** How often a job may fail before it is dead. */
  readonly attempts: number;
  /** Jobs were replayed: a new job at the tail of the lane replaces each, and a done job no longer shows that it is a replay. */
  readonly replays?: boolean | undefined;
}

/**
 * One text for each violation, which begins with the broken rule; empty if there is none.
 * I1 every acknowledged delivery is stored. I2 every job ended in its handler or is dead. I3 jobs of a lane run one at a time and in order.
 * I4 a unique event is one job, and only another process runs a successful job again. I5 attempts stay within the limit plus the
 * deaths. I6 bodies are unchanged.
 */
export function checkInvariants(evidence: Evidence): readonly string[] {
  return [...checkStored(evidence), ...checkSendOrder(evidence), ...checkRuns(evidence)];
}

function checkStored({ sent, jobs }: Evidence): string[] {
  const byName = groupBy(jobs, ({ name }) => name);
  return sent.flatMap(({ entries, ackedAt, sha, name: delivery }) =>
    entries.flatMap(({ name, unique, consumers }) => {
      const found = byName.get(name) ?? [];
      const wrong: string[] = [];
      if (ackedAt !== undefined && new Set(found.map(({ consumer }) => consumer)).size < consumers)
        wrong.push(`I1 ${name} was acknowledged, and has ${found.length} jobs instead of ${consumers}`);
      if (unique && found.filter(({ replayed }) => !replayed).length > consumers)
        wrong.push(`I4 ${name} is unique, and has ${found.length} jobs for ${consumers} consumers`);
      for (const { id, sha: stored } of found)
        if (stored !== sha) wrong.push(`I6 job ${id} of ${delivery} has other bytes than were sent`);
      return wrong;
    }),
  );
}

/** A delivery that was acknowledged before another was sent comes first in their lane. */
function checkSendOrder({ sent, jobs, replays = false }: Evidence): string[] {
  if (replays) return [];
  const first = new Map<string, number>();
  for (const { name, id, replayed } of jobs) if (!replayed) first.set(name, Math.min(first.get(name) ?? Infinity, id));
  const steps = sent.flatMap((one) => [
    { at: one.sentAt, one, acked: false },
    ...(one.ackedAt === undefined ? [] : [{ at: one.ackedAt, one, acked: true }]),
  ]);
  const wrong: string[] = [];
  const latest = new Map<string, number>();
  for (const { one, acked } of steps.toSorted((a, b) => a.at - b.at))
    for (const { lane, name } of one.entries) {
      const id = first.get(name);
      if (lane === undefined || id === undefined) continue;
      const before = latest.get(lane) ?? 0;
      if (acked) latest.set(lane, Math.max(before, id));
      else if (id < before)
        wrong.push(`I3 ${name} was sent after job ${before} of its lane was acknowledged: it is ${id}`);
    }
  return wrong;
}

interface Lane {
  readonly jobs: readonly FinalJob[];
  /** Index of the first job that has neither succeeded nor is dead. */
  passed: number;
  open: Started | undefined;
}

function checkRuns({ journal, jobs, attempts, replays = false }: Evidence): string[] {
  const wrong: string[] = [];
  const lanes = new Map<string, Lane>();
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const names = new Set(jobs.map(({ name }) => name));
  for (const [key, inLane] of groupBy(jobs, (job) => `${job.consumer} ${job.lane ?? `job ${job.id}`}`))
    lanes.set(key, { jobs: inLane.toSorted((a, b) => a.id - b.id), passed: 0, open: undefined });
  const lastLine = new Map(journal.map(({ instance }, index) => [instance, index]));
  const calls = new Map<string, readonly FinalJob[]>();
  /** The instances in which a job succeeded. */
  const ended = new Map<number, Set<string>>();
  const failures = new Map<number, number>();

  const laneOf = ({ consumer, lane, id }: FinalJob): Lane => lanes.get(`${consumer} ${lane ?? `job ${id}`}`) as Lane;

  function start(line: Started, index: number): void {
    const newest = byId.get(line.job);
    if (newest === undefined) {
      if (!replays || !line.names.every((name) => names.has(name)))
        wrong.push(`I1 job ${line.job} ran, and is not there`);
      return;
    }
    const lane = laneOf(newest);
    const { open } = lane;
    if (open !== undefined && (open.instance === line.instance || (lastLine.get(open.instance) ?? 0) > index))
      wrong.push(
        `I3 job ${line.job} began in instance ${line.instance} while ${open.job} of its lane ran in instance ${open.instance}`,
      );
    lane.open = line;
    const at = lane.jobs.indexOf(newest, Math.max(0, lane.passed - 1_000));
    const covered = lane.jobs.slice(Math.max(0, at - line.merged + 1), at + 1);
    const expected = covered.map(({ name }) => name);
    if (covered.length !== line.merged || line.names.join() !== (line.each ? expected : expected.slice(-1)).join())
      wrong.push(`I3 the call of job ${line.job} got ${line.names.join()}, its lane has ${expected.join()}`);
    while (isOver(lane.jobs[lane.passed])) lane.passed += 1;
    if (at - line.merged + 1 > lane.passed)
      wrong.push(`I3 job ${line.job} began before job ${lane.jobs[lane.passed]?.id} of its lane was done`);
    for (const { id } of covered) {
      if (ended.get(id)?.has(line.instance)) wrong.push(`I4 job ${id} ended well, and ran again in the same process`);
    }
    const oldest = failures.get(covered[0]?.id ?? 0) ?? 0;
    if (line.attempt > 1 + oldest + lastLine.size) wrong.push(`I5 job ${line.job} is at attempt ${line.attempt}`);
    calls.set(`${line.instance} ${line.call}`, covered);
  }

  function isOver(job: FinalJob | undefined): boolean {
    return job !== undefined && (job.state === "dead" || ended.has(job.id));
  }

  for (const [index, line] of journal.entries()) {
    if (line.at === "start") start(line, index);
    if (line.at !== "end") continue;
    const covered = calls.get(`${line.instance} ${line.call}`) ?? [];
    const [newest] = covered.slice(-1);
    if (newest === undefined) continue;
    const lane = laneOf(newest);
    if (lane.open?.instance === line.instance && lane.open.call === line.call) lane.open = undefined;
    if (line.sha !== undefined && line.sha !== newest.sha) wrong.push(`I6 job ${newest.id} was given other bytes`);
    for (const { id } of covered) {
      if (line.ok) ended.set(id, (ended.get(id) ?? new Set()).add(line.instance));
      else failures.set(id, (failures.get(id) ?? 0) + 1);
    }
  }
  for (const [id, count] of failures)
    if (count > attempts + lastLine.size - 1) wrong.push(`I5 job ${id} failed ${count} times`);
  for (const { id, state, name } of jobs) {
    if (state === "done" && !ended.has(id))
      wrong.push(`I2 job ${id} (${name}) is done, and no handler of it ended well`);
    if (state !== "done" && state !== "dead") wrong.push(`I2 job ${id} (${name}) is still ${state}`);
  }
  return wrong;
}

function groupBy<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const key = keyOf(one);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return groups;
}
