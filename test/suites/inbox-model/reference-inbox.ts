import type { JobOutcome } from "../../../src/inbox/port/claims.ts";
import type { Delivery, Expanded, NewEvent, NewJob } from "../../../src/inbox/port/delivery.ts";
import type { Paused } from "../../../src/inbox/port/pauses.ts";
import {
  claimPlainly,
  isPlainlyDue,
  isPlainlySuspect,
  orphanPlainly,
  plainJob,
  settlePlainly,
  type PlainJob,
  type PlainJobFields,
} from "./reference-jobs.ts";

/** A delivery that waits to be expanded, with the events that it will have. */
interface PlainDelivery {
  readonly id: string;
  readonly delivery: Delivery;
  readonly accountId: number;
  readonly events: readonly NewEvent[];
  cursor: number;
}

/** The port over arrays: nothing is indexed, nothing is cached, everything is looked for each time. */
export interface PlainInbox {
  /** In the order of ids; what is done or skipped is left out. */
  jobs: PlainJob[];
  /** In the order of ids. */
  unexpanded: PlainDelivery[];
  /** @param expanded whether its events are given */
  store(delivery: PlainDelivery, expanded: boolean, told: Told): Expanded & { readonly expanded: boolean };
  /** The next `count` entries of an unexpanded delivery. */
  expand(delivery: PlainDelivery, count: number, told: Told): Expanded;
  /** The first of each lane that is free. */
  heads(): PlainJob[];
  pause(what: Paused): void;
  /** @returns whether it was paused */
  resume(what: Paused): boolean;
  /** In no order. */
  pauses: readonly Paused[];
  isPaused(job: PlainJob): boolean;
  /** What comes with a head. */
  runOf(head: PlainJob, mergeMax: number): PlainJob[];
  claim(run: readonly PlainJob[], now: number): void;
  settle(job: PlainJob, outcome: JobOutcome, now: number): void;
  /** Settled jobs come again, at the tail. */
  replay(jobs: readonly PlainJob[]): void;
  reopen(job: PlainJob, replacements: readonly NewJob[]): void;
  remove(gone: (job: PlainJob) => boolean): void;
  die(): void;
  /** Notes which jobs are due now, and which keys are past their window. */
  look(now: number): void;
}

/** What the inbox said, and when. */
interface Told {
  readonly said: Expanded;
  readonly now: number;
}

interface Seen {
  readonly key: string;
  readonly content: string;
  readonly at: number;
  /** Its window was seen to end: a wall clock that jumps back afterwards may undo that, or not. */
  wasOver: boolean;
}

export function createPlainInbox(dedupeWindowMs: number): PlainInbox {
  const seen: Seen[] = [];

  function addEvents(from: PlainDelivery, events: readonly NewEvent[], { said, now }: Told): Expanded {
    const duplicates: number[] = [];
    const conflicts: number[] = [];
    for (const [index, { entry, unique, jobs }] of events.entries()) {
      const known = seen.filter(({ key, at }) => key === unique?.key && now - at < dedupeWindowMs);
      const same = known.filter(({ content }) => content === unique?.content);
      if (isSo(same, said.duplicates.includes(index))) {
        duplicates.push(index);
        continue;
      }
      if (isSo(known, said.conflicts.includes(index))) conflicts.push(index);
      if (unique !== undefined) seen.push({ ...unique, at: now, wasOver: false });
      for (const job of jobs) add({ ...placeOf(from, entry), ...job, replays: [] });
    }
    return { duplicates, conflicts };
  }

  function add(fields: PlainJobFields): void {
    if (fields.state !== "skipped") plain.jobs.push(plainJob(fields));
  }

  const plain: PlainInbox = {
    jobs: [],
    unexpanded: [],
    pauses: [],
    pause(what) {
      plain.resume(what);
      plain.pauses = [...plain.pauses, what];
    },
    resume({ consumer, accountId }) {
      const before = plain.pauses;
      plain.pauses = before.filter((one) => one.consumer !== consumer || one.accountId !== accountId);
      return plain.pauses.length < before.length;
    },
    isPaused: (job) =>
      plain.pauses.some(
        ({ consumer = job.consumer, accountId = job.accountId }) =>
          consumer === job.consumer && accountId === job.accountId,
      ),
    store(delivery, expanded, answer) {
      if (expanded && plain.unexpanded.length === 0)
        return { expanded: true, ...addEvents(delivery, delivery.events, answer) };
      plain.unexpanded.push(delivery);
      return { expanded: false, duplicates: [], conflicts: [] };
    },
    expand(delivery, count, answer) {
      const from = delivery.cursor;
      delivery.cursor += count;
      if (delivery.cursor >= delivery.events.length)
        plain.unexpanded = plain.unexpanded.filter((other) => other !== delivery);
      return addEvents(delivery, delivery.events.slice(from, from + count), answer);
    },
    heads: () =>
      plain.jobs.filter(
        (job) => job.state === "waiting" && !laneOf(plain.jobs, job).some((other) => isBefore(other, job)),
      ),
    runOf(head, mergeMax) {
      const behind = laneOf(plain.jobs, head).filter((job) => job !== head);
      const end = behind.findIndex((job) => !merges(head, job));
      return [head, ...behind.slice(0, end < 0 ? undefined : end)].slice(0, mergeMax);
    },
    claim(run, now) {
      for (const job of run) claimPlainly(job, now);
    },
    settle(job, outcome, now) {
      const { firstAttemptAt = now, inherited = Infinity } = job;
      settlePlainly(job, outcome, now);
      const others = laneOf(plain.jobs, job);
      if (outcome.to === "done") for (const other of others) other.inherited = undefined;
      if (outcome.to !== "dead" || outcome.ofWindow !== true || inherited < firstAttemptAt) return;
      for (const other of others) other.inherited = firstAttemptAt;
    },
    replay(jobs) {
      for (const job of jobs) {
        const replays = [...new Set([job.id ?? "", ...job.replays.slice(-1)])];
        plain.remove((other) => other === job);
        add({ ...job, state: "waiting", replays });
      }
    },
    reopen(job, replacements) {
      plain.remove((other) => other === job);
      for (const each of replacements) add({ ...job, ...each });
    },
    remove(gone) {
      plain.jobs = plain.jobs.filter((job) => !gone(job));
    },
    die() {
      orphanPlainly(plain.jobs.filter(({ state }) => state === "running"));
    },
    look(now) {
      for (const job of plain.jobs) if (job.state === "waiting" && isPlainlyDue(job, now)) job.wasDue = true;
      for (const key of seen) if (now - key.at >= dedupeWindowMs) key.wasOver = true;
    },
  };

  function isBefore(other: PlainJob, job: PlainJob): boolean {
    return other.state === "running" || plain.jobs.indexOf(other) < plain.jobs.indexOf(job);
  }

  return plain;
}

/** Whether one of them is known; where a wall clock that jumped back makes that a matter of taste, what the inbox said. */
function isSo(known: readonly Seen[], said: boolean): boolean {
  return known.some(({ wasOver }) => !wasOver) || (known.length > 0 && said);
}

function merges(head: PlainJob, job: PlainJob): boolean {
  return (
    head.mergeKey !== undefined &&
    head.mergeKey === job.mergeKey &&
    head.replays.length > 0 === job.replays.length > 0 &&
    !isPlainlySuspect(head) &&
    !isPlainlySuspect(job)
  );
}

function placeOf({ id, accountId, delivery }: PlainDelivery, entry: number) {
  return { deliveryId: id, accountId, receivedAt: delivery.receivedAt, entry };
}

/** What waits or runs beside a job, itself included, in order. */
function laneOf(jobs: readonly PlainJob[], { lane }: PlainJob): PlainJob[] {
  if (lane === undefined) return [];
  return jobs.filter((job) => job.lane === lane && (job.state === "waiting" || job.state === "running"));
}
