import type { Claimed, Line } from "./journal.ts";

/** One delivery: sent again only where its events have natural keys. Those of a lane are sent one after the other, each after the answer to the last. */
export interface Sent {
  readonly lane: string;
  /** Of its entries, in order. */
  readonly names: readonly string[];
  ackedAt: number | undefined;
}

/** A registration of a process as a worker. */
export interface Life {
  readonly instance: string;
  readonly bornAt: number;
  /** When another process, or its own end, took its claims from it. */
  readonly fencedAt: number | undefined;
}

export interface Evidence {
  /** In the order of sending. */
  readonly sent: readonly Sent[];
  readonly journal: readonly Line[];
  readonly lives: readonly Life[];
  /** Names of the dead letters: each of them has killed, or seemed to kill, its process several times. */
  readonly dead: ReadonlySet<string>;
  /** Jobs that the server has ended, each with who asked for it: a process that was suspended may never hear of it. */
  readonly settled: readonly { readonly job: number; readonly instance: string; readonly at: number }[];
  /** Jobs and deliveries that still wait at the end. */
  readonly open: number;
}

export interface Findings {
  /** One text for each violation, which begins with the broken rule. */
  readonly wrong: readonly string[];
  readonly runs: number;
  readonly merged: number;
  /** Overlaps of a lane's runs of which one had lost its claim. */
  readonly overlapsOfLost: number;
}

/** A call of a handler. */
interface Run {
  readonly instance: string;
  readonly claim: Claimed;
  readonly names: readonly string[];
  readonly jobs: readonly number[];
  readonly startedAt: number;
  endedAt: number;
  /** Of its lines in the journal. */
  readonly place: number;
  endPlace: number;
  ok: boolean;
  /** Of its settlement: undefined where none is known. */
  held: boolean | undefined;
  /** Until when its claim was valid. */
  validUntil: number;
}

/**
 * LOST: acknowledged, and no handler ended it. ORDER: a run began before what was acknowledged before it was sent had ended; merged jobs are one
 * run. TWICE: settled twice, or run again after it was settled; one that was sent is one job. OVERLAP: two runs of a lane with valid claims at once.
 */
export function checkRuns(evidence: Evidence): Findings {
  const runs = runsOf(evidence);
  const { wrong, overlapsOfLost } = checkOverlaps(runs);
  return {
    wrong: [...checkLost(evidence, runs), ...checkOrder(evidence, runs), ...checkTwice(runs), ...wrong],
    runs: runs.length,
    merged: runs.filter(({ jobs }) => jobs.length > 1).length,
    overlapsOfLost,
  };
}

/** In the order of their starts. */
function runsOf({ journal, lives, settled }: Evidence): readonly Run[] {
  const ofInstance = Map.groupBy(
    lives.toSorted((a, b) => a.bornAt - b.bornAt),
    ({ instance }) => instance,
  );
  const claims = new Map<string, Claimed>();
  const ofJob = new Map<string, Claimed>();
  const byCall = new Map<string, Run>();
  const byClaim = new Map<string, Run[]>();
  const runs: Run[] = [];
  // A process that is suspended between its look at the clock and its write adds its line seconds later.
  for (const [place, line] of journal.toSorted((a, b) => a.at - b.at).entries()) {
    const { instance, at } = line;
    if (line.what === "claim") {
      claims.set(`${instance} ${line.claim}`, line);
      for (const job of line.jobs) ofJob.set(`${instance} ${job}`, line);
    } else if (line.what === "start") {
      const claim = ofJob.get(`${instance} ${line.job}`);
      if (claim === undefined) throw new Error(`Job ${line.job} began in ${instance} without a claim.`);
      const end = claim.jobs.indexOf(line.job) + 1;
      const part = [end - line.merged, end] as const;
      const life = ofInstance.get(instance)?.findLast(({ bornAt }) => bornAt <= claim.at);
      const run: Run = {
        instance,
        claim,
        names: claim.names.slice(...part),
        jobs: claim.jobs.slice(...part),
        startedAt: at,
        endedAt: Infinity,
        place,
        endPlace: Infinity,
        ok: false,
        held: undefined,
        validUntil: life?.fencedAt ?? Infinity,
      };
      runs.push(run);
      byCall.set(`${instance} ${line.call}`, run);
      const key = `${instance} ${claim.claim}`;
      byClaim.set(key, [...(byClaim.get(key) ?? []), run]);
    } else if (line.what === "end") {
      const run = byCall.get(`${instance} ${line.call}`);
      if (run !== undefined) [run.endedAt, run.endPlace, run.ok] = [at, place, line.ok];
    } else {
      const held = line.what === "settle" && line.held;
      for (const run of byClaim.get(`${instance} ${line.claim}`) ?? []) run.held = held;
    }
  }
  const byJob = new Map(settled.map((one) => [`${one.instance} ${one.job}`, one.at]));
  for (const run of runs.toReversed()) {
    const keys = run.jobs.map((job) => `${run.instance} ${job}`);
    if (!run.ok || !keys.every((key) => (byJob.get(key) ?? 0) >= run.endedAt)) continue;
    run.held = true;
    for (const key of keys) byJob.delete(key); // an earlier run of it was not the one
  }
  // A settlement that held counts, whoever had taken the claim away.
  for (const run of runs) if (run.held === true) run.validUntil = Infinity;
  return runs;
}

/** Whether its claim was valid when it began. */
const isValid = ({ startedAt, validUntil }: Run): boolean => startedAt < validUntil;

/** What it ran need not run again, as far as is known. */
const isOver = ({ ok, held, endedAt, validUntil }: Run): boolean => ok && (held ?? endedAt < validUntil);

function checkLost({ sent, dead, open }: Evidence, runs: readonly Run[]): string[] {
  const ended = new Set(runs.filter(isOver).flatMap(({ names }) => names));
  const lost = sent
    .filter(({ ackedAt }) => ackedAt !== undefined)
    .flatMap(({ names }) => names.filter((name) => !ended.has(name) && !dead.has(name)));
  return [
    ...lost.map((name) => `LOST ${name} was acknowledged, and no handler ended it`),
    ...(open > 0 ? [`LOST ${open} jobs or deliveries still wait`] : []),
  ];
}

interface Lane {
  /** Names that were acknowledged, in order. */
  readonly acked: readonly string[];
  /** Of each name: how many had been acknowledged before it was sent. Entries of one delivery have an order as well. */
  readonly before: ReadonlyMap<string, number>;
  /** So many of the acknowledged ones are over. */
  passed: number;
  /** The run that began furthest behind. */
  furthest: { readonly before: number; readonly run: Run } | undefined;
}

/** By name. */
function lanesOf(sent: readonly Sent[]): ReadonlyMap<string, Lane> {
  const lanes = new Map<string, Lane>();
  for (const deliveries of Map.groupBy(sent, ({ lane }) => lane).values()) {
    const acked: string[] = [];
    const before = new Map<string, number>();
    const lane: Lane = { acked, before, passed: 0, furthest: undefined };
    for (const { names, ackedAt } of deliveries) {
      for (const name of names) lanes.set(name, lane);
      for (const name of names) {
        before.set(name, acked.length);
        if (ackedAt !== undefined) acked.push(name);
      }
    }
  }
  return lanes;
}

function checkOrder({ sent, dead }: Evidence, runs: readonly Run[]): string[] {
  const wrong: string[] = [];
  const lanes = lanesOf(sent);
  const overAt = new Map<string, number>();
  for (const run of runs.filter(isOver))
    for (const name of run.names) overAt.set(name, Math.min(run.endPlace, overAt.get(name) ?? Infinity));
  for (const run of runs) {
    if (!isValid(run)) continue;
    const lane = lanes.get(run.names[0] ?? "");
    if (lane === undefined) {
      wrong.push(`ORDER ${say(run)} was never sent`);
      continue;
    }
    const { acked, before, furthest } = lane;
    const isPast = (name = ""): boolean => dead.has(name) || (overAt.get(name) ?? Infinity) < run.place;
    while (lane.passed < acked.length && isPast(acked[lane.passed])) lane.passed += 1;
    const inRun = new Set<string>();
    let { passed } = lane;
    for (const name of run.names) {
      while (passed < acked.length && (isPast(acked[passed]) || inRun.has(acked[passed] ?? ""))) passed += 1;
      const place = before.get(name) ?? 0;
      if (place > passed) wrong.push(`ORDER ${name} in ${say(run)} began before ${acked[passed]} of its lane was done`);
      if (acked[place] === name && furthest !== undefined && place < furthest.before)
        wrong.push(`ORDER ${name} in ${say(run)} began after ${say(furthest.run)} of its lane`);
      inRun.add(name);
    }
    const first = before.get(run.names[0] ?? "") ?? 0;
    if (first > (furthest?.before ?? -1)) lane.furthest = { before: first, run };
  }
  return wrong;
}

function checkTwice(runs: readonly Run[]): string[] {
  const wrong: string[] = [];
  const settled = new Map<number, Run>();
  for (const run of runs.filter(({ ok, held }) => ok && held === true))
    for (const job of run.jobs) {
      const other = settled.get(job);
      if (other !== undefined) wrong.push(`TWICE job ${job} was settled by ${say(other)} and by ${say(run)}`);
      else settled.set(job, run);
    }
  for (const run of runs)
    for (const job of run.jobs) {
      const other = settled.get(job);
      if (other !== undefined && other !== run && isValid(run) && run.place > other.endPlace)
        wrong.push(`TWICE job ${job} was settled by ${say(other)} and ran again in ${say(run)}`);
    }
  const sent = new Map<string, Set<number>>();
  for (const run of runs)
    for (const [index, name] of run.names.entries())
      sent.set(name, (sent.get(name) ?? new Set()).add(run.jobs[index] as number));
  for (const [name, ids] of sent) if (ids.size > 1) wrong.push(`TWICE ${name} became the jobs ${[...ids].join()}`);
  return wrong;
}

function checkOverlaps(runs: readonly Run[]): { readonly wrong: readonly string[]; readonly overlapsOfLost: number } {
  const wrong: string[] = [];
  let overlapsOfLost = 0;
  const open = new Map<string, Run[]>();
  for (const run of runs) {
    const { consumer, lane } = run.claim;
    if (lane === undefined) continue;
    const key = `${consumer} ${lane}`;
    const others = (open.get(key) ?? []).filter(({ endPlace }) => endPlace > run.place);
    for (const other of others) {
      if (other.instance === run.instance && other.claim === run.claim) continue;
      const isOfLost = !isValid(run) || other.validUntil <= run.startedAt;
      if (!isOfLost) wrong.push(`OVERLAP ${say(run)} began while ${say(other)} of its lane ran`);
      // The run of a process that was killed has no end.
      else if (other.endPlace < Infinity) overlapsOfLost += 1;
    }
    open.set(key, [...others, run]);
  }
  return { wrong, overlapsOfLost };
}

function say({ names, jobs, instance, startedAt }: Run): string {
  const last = names.length > 1 ? `..${names.at(-1)}` : "";
  return `${names[0]}${last} (job ${jobs[0]}, process ${instance}, at ${startedAt})`;
}
