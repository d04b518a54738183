import { createHash } from "node:crypto";
import type { LaneWindow } from "./lane-queues.ts";

/** What stays of a lane in memory while its jobs wait in the storage alone: 70 bytes for a lane of one job. */
export interface ParkedLane {
  readonly key: string | undefined;
  /** Of its jobs, in order: at least one. */
  readonly ids: readonly number[];
  /** Of its first job. */
  readonly runAt: number;
  readonly delayMs: number;
  /** Of its oldest job. */
  readonly receivedAt: number;
  readonly window: LaneWindow | undefined;
}

/** Lanes that left the memory until they are due: so jobs that wait for a time take no room from those that could run. */
export interface ParkedLanes {
  /** A lane that is not parked leaves the memory. */
  park(lane: ParkedLane): void;
  /** What comes into a parked lane comes behind its jobs. @returns false where the lane is not parked */
  join(id: number, key: string | undefined): boolean;
  /** Whether a lane is parked, or has only come back in part. */
  has(key: string | undefined): boolean;
  /** Restores the stored window of a parked lane. @returns false where the lane is not parked */
  setWindow(key: string, window: LaneWindow): boolean;
  /** Jobs that are due, or stand behind one that is, to be read from the storage: the same ones until they are back. */
  due(now: number, most: number): ParkedPage | undefined;
  /** They are in memory again, or gone from the storage. @returns false where the lanes are not parked any more */
  back(page: ParkedPage): boolean;
  /** Some of the jobs may be gone from the storage: all come back once, as room allows. */
  recheck(): void;
  /** Once: the window of a lane that has come back. */
  windowOf(key: string | undefined): LaneWindow | undefined;
  /** Jobs. */
  readonly size: number;
  readonly lanes: number;
  /** When the next lane is due; -Infinity where one came back in part. */
  nextDueAt(): number | undefined;
  /** When the oldest of their first jobs was received. */
  oldestReceivedAt(): number | undefined;
}

/** Jobs to be read together. The object itself is the token. */
export interface ParkedPage {
  readonly ids: readonly number[];
}

/** Lanes that are due in the same ten seconds come back together, at the beginning of these. */
const TOGETHER_MS = 10_000;

/** Lanes that come back together. */
interface Group {
  dueAt: number;
  /** The longest delay among them: what is further away than that was parked before the clock went back. */
  delayMs: number;
  readonly ids: number[];
  /** Hashes of the lanes' keys: a key may be as long as a path. */
  readonly lanes: number[];
  /** Jobs that are back. */
  back: number;
  count: number;
  oldest: number;
}

/** Makes an empty set of them. */
export function createParkedLanes(): ParkedLanes {
  const groups = new Set<Group>();
  /** Those that more lanes may come into, by their time. */
  const open = new Map<number, Group>();
  const groupOf = new Map<number, Group>();
  const windows = new Map<string, LaneWindow>();
  const pages = new WeakMap<ParkedPage, Group>();
  let [size, lanes] = [0, 0];

  function begin(dueAt: number): Group {
    if (groups.size === 0) windows.clear(); // of lanes whose jobs were all gone
    const group = { dueAt, delayMs: 0, ids: [], lanes: [], back: 0, count: 0, oldest: Infinity };
    groups.add(group);
    open.set(dueAt, group);
    return group;
  }

  function close(group: Group): void {
    if (open.get(group.dueAt) === group) open.delete(group.dueAt);
  }

  function end(group: Group): void {
    close(group);
    groups.delete(group);
    for (const lane of group.lanes) groupOf.delete(lane);
    lanes -= group.count;
  }

  function next(now: number): Group | undefined {
    let soonest: Group | undefined;
    for (const group of groups) {
      const isDue = group.dueAt <= now || group.dueAt - now > group.delayMs;
      if (isDue && (soonest === undefined || group.dueAt < soonest.dueAt)) soonest = group;
    }
    return soonest;
  }

  const find = (key: string | undefined): Group | undefined =>
    key === undefined || groupOf.size === 0 ? undefined : groupOf.get(hashOf(key));

  return {
    park({ key, ids, runAt, delayMs, receivedAt, window }) {
      const dueAt = Math.floor(runAt / TOGETHER_MS) * TOGETHER_MS;
      const group = open.get(dueAt) ?? begin(dueAt);
      for (const id of ids) group.ids.push(id);
      group.delayMs = Math.max(group.delayMs, delayMs);
      group.oldest = Math.min(group.oldest, receivedAt);
      group.count += 1;
      size += ids.length;
      lanes += 1;
      if (key === undefined) return;
      const hash = hashOf(key);
      groupOf.set(hash, group);
      group.lanes.push(hash);
      if (window !== undefined) windows.set(key, window);
    },
    join(id, key) {
      const group = find(key);
      if (group === undefined) return false;
      group.ids.push(id);
      size += 1;
      return true;
    },
    has: (key) => find(key) !== undefined,
    setWindow(key, window) {
      if (find(key) === undefined) return false;
      windows.set(key, window);
      return true;
    },
    due(now, most) {
      const group = next(now);
      if (group === undefined) return undefined;
      close(group); // what is parked from now on is not to come back with it
      group.dueAt = -Infinity;
      const page = { ids: group.ids.slice(group.back, group.back + most) };
      pages.set(page, group);
      return page;
    },
    back(page) {
      const group = pages.get(page);
      if (group === undefined || !groups.has(group)) return false;
      group.back += page.ids.length;
      size -= page.ids.length;
      if (group.back >= group.ids.length) end(group);
      return true;
    },
    recheck() {
      open.clear();
      for (const group of groups) group.dueAt = -Infinity;
    },
    windowOf(key) {
      const window = key === undefined ? undefined : windows.get(key);
      if (window !== undefined && key !== undefined) windows.delete(key);
      return window;
    },
    get size() {
      return size;
    },
    get lanes() {
      return lanes;
    },
    nextDueAt: () => leastOf(groups, ({ dueAt }) => dueAt),
    oldestReceivedAt: () => leastOf(groups, ({ oldest }) => oldest),
  };
}

function leastOf(groups: Iterable<Group>, of: (group: Group) => number): number | undefined {
  let least: number | undefined;
  for (const group of groups) least = Math.min(least ?? Infinity, of(group));
  return least;
}

/** 48 bits: of a million lanes no two have the same in all likelihood. If they do, the one waits until the other is due. */
function hashOf(key: string): number {
  return createHash("sha256").update(key).digest().readUIntBE(0, 6);
}
