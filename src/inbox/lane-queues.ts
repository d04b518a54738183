import { createCompactingMap } from "./collections/compacting-map.ts";
import { createDueQueue } from "./collections/due-queue.ts";
import { createFifo } from "./collections/fifo.ts";
import { isDue, isSuspect, type Progress } from "./job-state.ts";
import type { ClaimLimits, JobOutcome } from "./port/claims.ts";

/** What a lane book needs of a job; an inbox adds its own. */
export interface LaneRow {
  /** Grows along its lane. */
  readonly id: number;
  readonly lane: string | undefined;
  readonly mergeKey: string | undefined;
  progress: Progress;
  /** Kept by the book: the next in its lane. */
  next: LaneRow | undefined;
  /** Kept by the book: where it stands. */
  queuedIn: Lane | undefined;
}

/** The jobs of one lane, in order, as a list: nothing ever walks it but from its head, as far as a claim reaches. */
export interface Lane {
  readonly key: string | undefined;
  head: LaneRow | undefined;
  tail: LaneRow | undefined;
  claimed: boolean;
  /** In the queue of ready lanes, where its head was tried by a process that died or not, of suspects, or of those that wait for a time. */
  queue: "ready" | "tried" | "suspect" | "due" | undefined;
  /** What its jobs have inherited; it ends with the lane. */
  window: LaneWindow | undefined;
}

/** Lanes in memory: who is next, who may run now, who waits for a time. Any number of lanes at the same cost a job. */
export interface LaneQueues<R> {
  /** To the tail of its lane. */
  append(row: R, now: number): void;
  /** Nothing is in it. */
  isFree(lane: string): boolean;
  /** Heads of free lanes that are due at `now`, each with the run behind it; their lanes are closed until `give`. */
  take(limits: ClaimLimits, now: number): R[][];
  /** Some heads that are due come only when asked for. */
  hasSuspects(): boolean;
  /** Over some of the other heads that are due a process died: what comes up after them may have to wait with them. */
  hasTried(): boolean;
  /** Opens the lane of a run again; those that no longer wait leave it. */
  release(run: readonly R[], now: number): void;
  /** Takes a waiting job out; not one that is taken. */
  remove(row: R, now: number): void;
  /** What a lane has inherited, as it was written down. */
  setWindow(lane: string, window: LaneWindow): void;
  /** When the next waiting lane is due. */
  nextDueAt(): number | undefined;
  /** Lanes whose head waits for its time. */
  blockedLanes(): number;
}

/** An empty one. */
export function createLaneQueues<R extends LaneRow>(): LaneQueues<R> {
  const lanes = createCompactingMap<string, Lane>();
  const ready = createFifo<Lane>();
  const suspects = createFifo<Lane>();
  const later = createDueQueue<Lane>((lane) => (lane.queue === "due" ? lane.head?.progress : undefined));
  const count = { ready: 0, tried: 0, suspect: 0, due: 0 };

  /** An entry of a lane in either queue counts only while the lane says so: none is ever searched for to take it out. */
  function mark(lane: Lane, listed: Lane["queue"]): void {
    if (lane.queue !== undefined) count[lane.queue] -= 1;
    if (listed !== undefined) count[listed] += 1;
    lane.queue = listed;
  }

  /** Puts a free lane where its head says. */
  function list(lane: Lane, now: number): void {
    while (lane.head?.queuedIn === undefined && lane.head !== undefined) lane.head = lane.head.next; // removed in the meantime
    if (lane.head === undefined) {
      lane.tail = undefined;
      mark(lane, undefined);
      if (lane.key !== undefined) lanes.delete(lane.key);
    } else if (isDue(lane.head.progress, now)) {
      const { progress } = lane.head;
      const listed = isSuspect(progress) ? "suspect" : progress.deaths > 0 ? "tried" : "ready";
      if (lane.queue !== listed) (listed === "suspect" ? suspects : ready).push(lane);
      mark(lane, listed);
    } else {
      mark(lane, "due");
      later.push(lane, lane.head.progress.runAt, now);
    }
  }

  /** The next of those that are ready, or of the suspects, if that one may come after so many others. */
  function next(after: number, { suspects: asked = false, slots = Infinity }: ClaimLimits): Lane | undefined {
    const queue = asked ? suspects : ready;
    for (let lane = queue.peek(); lane !== undefined; lane = queue.peek()) {
      if (lane.queue === undefined || lane.queue === "due" || (lane.queue === "suspect") !== asked) queue.shift();
      else if (lane.queue === "tried" && after >= slots) return undefined;
      else if (after >= (lane.head?.progress.groupMax ?? Infinity)) return undefined;
      else return queue.shift();
    }
    return undefined;
  }

  return {
    append(row, now) {
      let lane = row.lane === undefined ? undefined : lanes.get(row.lane);
      if (lane === undefined) {
        lane = {
          key: row.lane,
          head: undefined,
          tail: undefined,
          claimed: false,
          queue: undefined,
          window: undefined,
        };
        if (row.lane !== undefined) lanes.set(row.lane, lane);
      }
      row.queuedIn = lane;
      if (lane.tail === undefined) lane.head = row;
      else lane.tail.next = row;
      lane.tail = row;
      if (lane.head === row && !lane.claimed) list(lane, now);
    },

    isFree: (lane) => lanes.get(lane) === undefined,

    take(limits, now) {
      for (const lane of later.due(now)) if (lane.queue === "due") list(lane, now);
      const runs: R[][] = [];
      let room = limits.max;
      while (runs.length < room) {
        const lane = next(runs.length, limits);
        if (lane?.head === undefined) break;
        mark(lane, undefined);
        lane.claimed = true;
        runs.push(runFrom(lane.head, limits.mergeMax) as R[]);
        room = Math.min(room, lane.head.progress.groupMax ?? room);
      }
      return runs;
    },

    release(run, now) {
      const lane = run[0]?.queuedIn;
      const last = run.at(-1);
      if (lane === undefined || last === undefined) return;
      // A run is the beginning of its lane: what still waits stays in front, in order, whatever came behind it meanwhile.
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
      lane.claimed = false;
      list(lane, now);
    },

    remove(row, now) {
      const lane = row.queuedIn;
      row.queuedIn = undefined;
      if (lane !== undefined && lane.head === row && !lane.claimed) list(lane, now);
    },

    setWindow(key, window) {
      const lane = lanes.get(key);
      if (lane !== undefined) lane.window = window;
    },

    hasSuspects: () => count.suspect > 0,
    hasTried: () => count.tried > 0,
    nextDueAt: () => later.next(),
    blockedLanes: () => count.due,
  };
}

/** The head and those directly behind it that may come along. A suspect runs alone, and what follows it waits. */
function runFrom(head: LaneRow, mergeMax: number): LaneRow[] {
  const run = [head];
  const { mergeKey } = head;
  if (mergeKey === undefined || isSuspect(head.progress)) return run;
  let last = head;
  while (run.length < mergeMax) {
    let next = last.next;
    while (next !== undefined && next.queuedIn === undefined) next = next.next; // removed in the meantime
    if (next === undefined || next.mergeKey !== mergeKey || isSuspect(next.progress)) break;
    run.push(next);
    last = next;
  }
  return run;
}

/** What a job that died of its window left to those that waited behind it in its lane. */
export interface LaneWindow {
  /** Wall-clock time of its first attempt. */
  readonly since: number;
  /** Id of the last of them: what comes later has a window of its own. */
  readonly upTo: number;
}

/** When the window began by which a claimed job is judged: at its own first attempt, or at the one that it has inherited. */
export function windowStart({ id, progress, queuedIn }: LaneRow): number {
  const { firstAttemptAt = 0 } = progress;
  const window = queuedIn?.window;
  return window !== undefined && id <= window.upTo ? Math.min(firstAttemptAt, window.since) : firstAttemptAt;
}

/** What the outcomes of a run, whose rows are not changed yet, make of its lane's window. Undefined: nobody inherits anything. */
export function windowAfter(run: readonly LaneRow[], outcomes: readonly JobOutcome[]): LaneWindow | undefined {
  const [first] = run;
  const lane = first?.queuedIn;
  if (lane?.key === undefined) return undefined;
  let { window } = lane;
  let head: LaneRow | undefined;
  for (const [index, row] of run.entries()) {
    const outcome = outcomes[index] ?? { to: "release" };
    if (outcome.to === "done") window = undefined;
    if (outcome.to === "dead" && outcome.ofWindow === true) window = inheritedBy(row, window);
    if (outcome.to === "retry" || outcome.to === "release") head ??= row;
  }
  head ??= run.at(-1)?.next;
  while (head !== undefined && head.queuedIn === undefined) head = head.next; // removed in the meantime
  return window !== undefined && head !== undefined && head.id <= window.upTo ? window : undefined;
}

/** Who had inherited leaves it at that: else one window would go on to whatever comes, for ever. */
function inheritedBy({ id, progress, queuedIn }: LaneRow, window: LaneWindow | undefined): LaneWindow {
  const { firstAttemptAt: since = 0 } = progress;
  if (window !== undefined && id <= window.upTo && window.since < since) return window;
  return { since, upTo: queuedIn?.tail?.id ?? id };
}
