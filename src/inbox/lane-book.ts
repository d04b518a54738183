import { createChurnMap } from "./churn-map.ts";
import { createDueQueue } from "./due-queue.ts";
import { createFifo } from "./fifo.ts";
import type { LaneWindow } from "./lane-window.ts";
import type { ClaimLimits } from "./claims.ts";
import { isDue, SUSPECT_DEATHS, type Progress } from "./state.ts";

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
  place: Lane | undefined;
}

/** The jobs of one lane, in order, as a list: nothing ever walks it but from its head, as far as a claim reaches. */
export interface Lane {
  readonly key: string | undefined;
  head: LaneRow | undefined;
  tail: LaneRow | undefined;
  claimed: boolean;
  /** In the queue of ready lanes, or of those that wait for a time. */
  listed: "ready" | "suspect" | "due" | undefined;
  /** What its jobs have inherited; it ends with the lane. */
  window: LaneWindow | undefined;
}

/** Lanes in memory: who is next, who may run now, who waits for a time. Any number of lanes at the same cost a job. */
export interface LaneBook<R> {
  /** To the tail of its lane. */
  append(row: R, now: number): void;
  /** Nothing is in it. */
  isFree(lane: string): boolean;
  /** Heads of free lanes that are due at `now`, each with the run behind it; their lanes are closed until `give`. */
  take(limits: ClaimLimits, now: number): R[][];
  /** Some heads that are due come only when asked for. */
  suspects(): boolean;
  /** Opens the lane of a run again; those that no longer wait leave it. */
  give(run: readonly R[], now: number): void;
  /** Takes a waiting job out; not one that is taken. */
  remove(row: R, now: number): void;
  /** What a lane has inherited, as it was written down. */
  inherit(lane: string, window: LaneWindow): void;
  /** When the next waiting lane is due. */
  nextDueAt(): number | undefined;
  /** Lanes whose head waits for its time. */
  blocked(): number;
}

/** An empty one. */
export function createLaneBook<R extends LaneRow>(): LaneBook<R> {
  const lanes = createChurnMap<string, Lane>();
  const ready = createFifo<Lane>();
  const suspects = createFifo<Lane>();
  const later = createDueQueue<Lane>((lane) => (lane.listed === "due" ? lane.head?.progress : undefined));
  let blocked = 0;
  let suspected = 0;

  /** An entry of a lane in either queue counts only while the lane says so: none is ever searched for to take it out. */
  function mark(lane: Lane, listed: Lane["listed"]): void {
    blocked += (listed === "due" ? 1 : 0) - (lane.listed === "due" ? 1 : 0);
    suspected += (listed === "suspect" ? 1 : 0) - (lane.listed === "suspect" ? 1 : 0);
    lane.listed = listed;
  }

  /** Puts a free lane where its head says. */
  function list(lane: Lane, now: number): void {
    while (lane.head?.place === undefined && lane.head !== undefined) lane.head = lane.head.next; // removed in the meantime
    if (lane.head === undefined) {
      lane.tail = undefined;
      mark(lane, undefined);
      if (lane.key !== undefined) lanes.delete(lane.key);
    } else if (isDue(lane.head.progress, now)) {
      const listed = isSuspect(lane.head) ? "suspect" : "ready";
      if (lane.listed !== listed) (listed === "ready" ? ready : suspects).push(lane);
      mark(lane, listed);
    } else {
      mark(lane, "due");
      later.push(lane, lane.head.progress.runAt, now);
    }
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
          listed: undefined,
          window: undefined,
        };
        if (row.lane !== undefined) lanes.set(row.lane, lane);
      }
      row.place = lane;
      if (lane.tail === undefined) lane.head = row;
      else lane.tail.next = row;
      lane.tail = row;
      if (lane.head === row && !lane.claimed) list(lane, now);
    },

    isFree: (lane) => lanes.get(lane) === undefined,

    take({ max, mergeMax, suspects: asked = false }, now) {
      for (const lane of later.due(now)) if (lane.listed === "due") list(lane, now);
      const runs: R[][] = [];
      while (runs.length < max) {
        const lane = (asked ? suspects : ready).shift();
        if (lane === undefined) break;
        if (lane.listed !== (asked ? "suspect" : "ready") || lane.head === undefined) continue;
        mark(lane, undefined);
        lane.claimed = true;
        runs.push(runFrom(lane.head, mergeMax) as R[]);
      }
      return runs;
    },

    give(run, now) {
      const lane = run[0]?.place;
      const last = run.at(-1);
      if (lane === undefined || last === undefined) return;
      // A run is the beginning of its lane: what still waits stays in front, in order, whatever came behind it meanwhile.
      let rest = last.next;
      if (lane.tail === last) lane.tail = undefined;
      for (const row of run.toReversed()) {
        row.next = undefined;
        if (row.progress.state !== "waiting") {
          row.place = undefined;
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
      const lane = row.place;
      row.place = undefined;
      if (lane !== undefined && lane.head === row && !lane.claimed) list(lane, now);
    },

    inherit(key, window) {
      const lane = lanes.get(key);
      if (lane !== undefined) lane.window = window;
    },

    suspects: () => suspected > 0,
    nextDueAt: () => later.next(),
    blocked: () => blocked,
  };
}

/** The head and those directly behind it that may come along. A suspect runs alone, and what follows it waits. */
function runFrom(head: LaneRow, mergeMax: number): LaneRow[] {
  const run = [head];
  const { mergeKey } = head;
  if (mergeKey === undefined || isSuspect(head)) return run;
  let last = head;
  while (run.length < mergeMax) {
    let next = last.next;
    while (next !== undefined && next.place === undefined) next = next.next; // removed in the meantime
    if (next === undefined || next.mergeKey !== mergeKey || isSuspect(next)) break;
    run.push(next);
    last = next;
  }
  return run;
}

function isSuspect({ progress }: LaneRow): boolean {
  return progress.deaths >= SUSPECT_DEATHS;
}
