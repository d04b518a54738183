import { createCompactingMap } from "./collections/compacting-map.ts";
import { createDueQueue } from "./collections/due-queue.ts";
import { isSuspect } from "./job-deaths.ts";
import { isDue, type Progress } from "./job-state.ts";
import { runFrom } from "./jobs/merge-run.ts";
import type { LaneWindow } from "./lane-window.ts";
import type { ClaimLimits } from "./port/claims.ts";
import { createTurns, type Owner, type Turns } from "./turns.ts";

/** The fields of a job that lanes need; an inbox adds its own. */
export interface LaneRow {
  /** Grows along its lane. */
  readonly id: number;
  readonly lane: string | undefined;
  readonly mergeKey: string | undefined;
  /** Who handles it. */
  readonly consumer?: string | undefined;
  /** Whose turn it is in; undefined: all without one share a turn. */
  readonly account?: number | undefined;
  progress: Progress;
  /** Set by the queues: the next job of the lane. */
  next: LaneRow | undefined;
  /** Set by the queues: the lane that the job is in; undefined once it left. */
  queuedIn: Lane | undefined;
}

/** The jobs of one lane, in order. Singly linked; only ever traversed from the head, as far as a claim reaches. */
export interface Lane {
  readonly key: string | undefined;
  head: LaneRow | undefined;
  tail: LaneRow | undefined;
  /** Where the lane is: `ready`, `tried` if a process died over its head, `suspect`, `due` if its head waits for a time, or `claimed`. */
  queue: "ready" | "tried" | "suspect" | "due" | "claimed" | undefined;
  /** Set by the turns: when it became ready, and its neighbours. */
  since: number;
  before: Lane | undefined;
  behind: Lane | undefined;
  /** The window that its jobs inherited; it ends with the lane. */
  window: LaneWindow | undefined;
}

/** A lane that was taken out, with its jobs in order: at least one. */
export interface WithdrawnLane<R> extends Pick<Lane, "key" | "window"> {
  readonly rows: readonly R[];
  /** A pause holds it. */
  readonly isPaused: boolean;
  /** None of this account and consumer may start now, and no pause says so. */
  readonly holder: Owner | undefined;
}

/** Lanes in memory: which jobs are next, which may run now, which wait for a time. The cost of a job does not grow with the number of lanes. */
export interface LaneQueues<R> extends Pick<Turns, "isPaused" | "isPausing" | "mayBegin" | "hasReady"> {
  /** Adds a job at the tail of its lane. */
  append(row: R, now: number): void;
  /** Whether the lane is empty. */
  isFree(lane: string): boolean;
  /** Takes the heads of free lanes that are due at `now`, each with its run; their lanes are closed until `release`. */
  take(limits: ClaimLimits, now: number): [R, ...R[]][];
  /** Whether suspects are due, which are taken only on request. */
  hasSuspects(): boolean;
  /** Whether a process died over one of the other due heads: jobs that become due later may have to wait with it. */
  hasTried(): boolean;
  /** Reopens the lane of a run; jobs that no longer wait leave it. */
  release(run: readonly R[], now: number): void;
  /** Nothing of a free lane is taken until `open`, whatever comes into it; and a claim of its owner runs. */
  close(lane: string | undefined, owner: Owner): void;
  /** One that was closed: its jobs are taken again. */
  open(lane: string | undefined, owner: Owner, now: number): void;
  /** Removes a waiting job, not one that was taken. */
  remove(row: R, now: number): void;
  /**
   * Takes out lanes whose head waits for its time, or may not start now, with so many jobs or more if there are: as if they had never been there.
   * @param mayGo asked for each of them, and for no more than a few times as many as jobs are wanted
   */
  withdraw(jobs: number, mayGo: (lane: WithdrawnLane<R>) => boolean, now: number): WithdrawnLane<R>[];
  /** Restores the stored window of a lane. */
  setWindow(lane: string, window: LaneWindow): void;
  /** When the next waiting lane is due. */
  nextDueAt(): number | undefined;
  /** Lanes whose head waits for its time. */
  blockedLanes(): number;
}

/** So many jobs come along in the runs of one claim that do not start at once: it is read as a whole before any of them begins. */
const MOST_ALONG = 4_000;
/** So many lanes that may not go are looked at for each job that is to go: they may be all that wait. */
const KEPT_FOR_A_JOB = 4;

/** Makes empty lanes. */
export function createLaneQueues<R extends LaneRow>(): LaneQueues<R> {
  const lanes = createCompactingMap<string, Lane>();
  const turns = createTurns();
  const later = createDueQueue<Lane>((lane) => (lane.queue === "due" ? lane.head?.progress : undefined));
  const count = { ready: 0, tried: 0, suspect: 0, due: 0, claimed: 0 };

  /** An entry of `later` counts only while `lane.queue` is `due`: it is never searched for and removed. */
  function mark(lane: Lane, listed: Lane["queue"]): void {
    if (lane.queue !== undefined) count[lane.queue] -= 1;
    if (listed !== undefined) count[listed] += 1;
    lane.queue = listed;
  }

  /** Puts a free lane into the queue that its head belongs to. */
  function list(lane: Lane, now: number): void {
    const before = lane.head;
    const was = turnsOf(lane);
    while (lane.head?.queuedIn === undefined && lane.head !== undefined) lane.head = lane.head.next; // removed in the meantime
    const { head } = lane;
    const progress = head?.progress;
    const isReady = progress !== undefined && isDue(progress, now);
    const listed = !isReady ? undefined : isSuspect(progress) ? "suspect" : "ready";
    // It keeps its place, unless its head is another account's now.
    const stays = was === listed && before?.account === head?.account && before?.consumer === head?.consumer;
    if (was !== undefined && before !== undefined && !stays) turns.remove(lane, was, before);
    if (progress === undefined) {
      lane.tail = undefined;
      mark(lane, undefined);
      if (lane.key !== undefined) lanes.delete(lane.key);
    } else if (listed !== undefined) {
      mark(lane, listed === "ready" && progress.deaths > 0 ? "tried" : listed);
      if (was === undefined || !stays) turns.add(lane, listed);
    } else {
      mark(lane, "due");
      later.push(lane, progress.runAt, now);
    }
  }

  /** The next lane, if it may run beside `after` others. */
  function next(after: number, { suspects = false, slots = Infinity }: ClaimLimits): Lane | undefined {
    const mayRun = ({ queue, head }: Lane): boolean =>
      (queue !== "tried" || after < slots) && after < (head?.progress.groupMax ?? Infinity);
    return turns.shift(suspects ? "suspect" : "ready", mayRun);
  }

  function laneOf(key: string | undefined): Lane {
    const known = key === undefined ? undefined : lanes.get(key);
    if (known !== undefined) return known;
    // No spread: an object made by one takes more memory, and there may be a million.
    const lane: Lane = {
      key,
      head: undefined,
      tail: undefined,
      before: undefined,
      behind: undefined,
      queue: undefined,
      since: 0,
      window: undefined,
    };
    if (key !== undefined) lanes.set(key, lane);
    return lane;
  }

  /** It ends, and its jobs are in no lane any more. */
  function dissolve(lane: Lane, rows: readonly LaneRow[]): void {
    const was = turnsOf(lane);
    if (was !== undefined && lane.head !== undefined) turns.remove(lane, was, lane.head);
    mark(lane, undefined);
    if (lane.key !== undefined) lanes.delete(lane.key);
    for (const row of rows) [row.next, row.queuedIn] = [undefined, undefined];
  }

  return {
    append(row, now) {
      const lane = laneOf(row.lane);
      row.queuedIn = lane;
      if (lane.tail === undefined) lane.head = row;
      else lane.tail.next = row;
      lane.tail = row;
      if (lane.head === row && lane.queue !== "claimed") list(lane, now);
    },

    isFree: (lane) => lanes.get(lane) === undefined,

    take(limits, now) {
      if (limits.rules !== undefined) turns.follow(limits.rules);
      for (const lane of later.due(now)) if (lane.queue === "due") list(lane, now);
      const runs: [R, ...R[]][] = [];
      let room = limits.max;
      let along = 0;
      while (runs.length < room && (along < MOST_ALONG || runs.length < (limits.slots ?? 1))) {
        const lane = next(runs.length, limits);
        if (lane?.head === undefined) break;
        mark(lane, "claimed");
        const run = runFrom(lane.head, limits.mergeMax) as [R, ...R[]];
        runs.push(run);
        along += run.length - 1;
        room = Math.min(room, lane.head.progress.groupMax ?? room);
      }
      return runs;
    },

    release(run, now) {
      const lane = run[0]?.queuedIn;
      const last = run.at(-1);
      if (run[0] !== undefined) turns.count(run[0], -1);
      if (lane === undefined || last === undefined) return;
      // A run is the front of its lane: its jobs that still wait stay in front, in order.
      let rest = last.next;
      if (lane.tail === last) lane.tail = undefined;
      for (const row of run.toReversed()) {
        row.next = undefined;
        if (row.progress.state !== "waiting") {
          row.queuedIn = undefined;
          continue;
        }
        row.next = rest;
        rest = row;
        lane.tail ??= row;
      }
      lane.head = rest;
      mark(lane, undefined);
      list(lane, now);
    },

    close(key, owner) {
      turns.count(owner, 1);
      if (key !== undefined) mark(laneOf(key), "claimed");
    },

    open(key, owner, now) {
      turns.count(owner, -1);
      if (key === undefined) return;
      const lane = laneOf(key);
      mark(lane, undefined);
      list(lane, now);
    },

    remove(row, now) {
      const lane = row.queuedIn;
      row.queuedIn = undefined;
      if (lane !== undefined && lane.head === row && lane.queue !== "claimed") list(lane, now);
    },

    withdraw(jobs, mayGo, now) {
      const withdrawn: WithdrawnLane<R>[] = [];
      const kept: Lane[] = [];
      const held = turns.held();
      let taken = 0;
      while (taken < jobs && kept.length < jobs * KEPT_FOR_A_JOB) {
        const late = later.takeLate();
        const lane = late ?? held.next().value;
        if (lane === undefined) break;
        const owner = late === undefined ? lane.head : undefined;
        const isPaused = owner !== undefined && turns.isPaused(owner);
        const holder = owner && !isPaused ? { consumer: owner.consumer, account: owner.account } : undefined;
        const one = { key: lane.key, window: lane.window, rows: [...rowsOf(lane)] as R[], isPaused, holder };
        if (mayGo(one)) {
          dissolve(lane, one.rows);
          withdrawn.push(one);
          taken += one.rows.length;
        } else kept.push(lane);
      }
      for (const lane of kept) if (lane.queue === "due") later.push(lane, lane.head?.progress.runAt ?? 0, now);
      return withdrawn;
    },

    setWindow(key, window) {
      const lane = lanes.get(key);
      if (lane !== undefined) lane.window = window;
    },

    isPaused: turns.isPaused,
    isPausing: turns.isPausing,
    mayBegin: turns.mayBegin,
    hasReady: turns.hasReady,
    hasSuspects: () => turns.has("suspect"),
    hasTried: () => count.tried > 0,
    nextDueAt: () => later.next(),
    blockedLanes: () => count.due,
  };
}

/** Which turns it is in. */
function turnsOf({ queue }: Lane): "ready" | "suspect" | undefined {
  return queue === "ready" || queue === "tried" ? "ready" : queue === "suspect" ? "suspect" : undefined;
}

function* rowsOf(lane: Lane): Generator<LaneRow, void, undefined> {
  for (let row = lane.head; row !== undefined; row = row.next) if (row.queuedIn !== undefined) yield row;
}
