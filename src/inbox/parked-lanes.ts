import { createHash } from "node:crypto";
import type { LaneWindow } from "./lane-window.ts";
import type { Owner } from "./turns.ts";

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
  /** Due by `free` alone. */
  readonly holder?: Owner | undefined;
}

/** Lanes that left the memory until they are due: so jobs that wait for a time take no room from those that could run. */
export interface ParkedLanes {
  /** A lane leaves the memory. Of one that had come back in part, its jobs wait in front of the rest. */
  park(lane: ParkedLane): void;
  /** What comes into a parked lane comes behind its jobs. @returns false where the lane is not parked */
  join(id: number, key: string | undefined): boolean;
  /** Whether a lane is parked, or has only come back in part. */
  has(key: string | undefined): boolean;
  /** Of a parked lane, or of one that has only come back in part: null where it ends. */
  setWindow(key: string, window: LaneWindow | null): void;
  /** The first id of a lane that is not back, and the last. */
  restOf(key: string | undefined): readonly [first: number, last: number] | undefined;
  /** Jobs that are due, or stand behind one that is, to be read: the same ones until they are back, or one of their lanes is parked. */
  due(now: number, most: number): ParkedPage | undefined;
  /** They are in memory again, or gone from the storage. @returns false where others are to come back by now */
  back(page: ParkedPage): boolean;
  /** Jobs may be gone from the storage. What comes back with one of them that is parked does so at once, as room allows. */
  recheck(gone: ReadonlySet<number>): void;
  /** The window of a lane of which some has come back; once where all has. */
  windowOf(key: string | undefined): LaneWindow | undefined;
  /** A pause may have ended: what is parked for one comes back, as room allows. */
  resume(): void;
  /** Of each holder for which this holds some comes back, as room allows. */
  free(isWanted: (holder: Owner) => boolean): void;
  /** Jobs. */
  readonly size: number;
  /** Those that a pause holds. */
  paused(): number;
  /** Those that wait for their time, and not for room. */
  blockedLanes(): number;
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

/** When a lane comes back whose head is due at a time. */
export const backAt = (runAt: number): number => Math.floor(runAt / TOGETHER_MS) * TOGETHER_MS;

/** When a lane is due that may not start now: at no time, until `resume`, or `free`. */
export const HELD: Pick<ParkedLane, "runAt" | "delayMs"> = { runAt: Infinity, delayMs: Infinity };

/** Lanes that come back together. */
interface Group {
  readonly name: string | number;
  /** Some come back when it is free again; undefined: all do at their time. */
  holder: Owner | undefined;
  dueAt: number;
  /** The longest delay among them: what is further away than that was parked before the clock went back. */
  delayMs: number;
  /** Of each lane the first job. One that is not its first any more stands for nothing: the lane has left the group. */
  readonly ids: number[];
  /** Of each lane the hash of its key: a key may be as long as a path. */
  readonly lanes: number[];
  /** Lanes of the group that are back. */
  back: number;
  oldest: number;
}

interface Page extends ParkedPage {
  readonly group: Group;
  /** The place in the group behind its last lane. */
  readonly end: number;
  /** How many jobs it has of each lane with a key. */
  readonly counts: ReadonlyMap<number, number>;
}

/** Stands for the hash of a lane without a key. */
const NO_KEY = -1;

/** Makes an empty set of them. */
export function createParkedLanes(isPaused: (holder: Owner) => boolean = () => false): ParkedLanes {
  const groups = new Set<Group>();
  /** Those that more lanes may come into, by their time or their holder. */
  const open = new Map<string | number, Group>();
  /** The first job of each lane with a key, and the others where there are any, by the hash of the key. */
  const firstOf = new Map<number, number>();
  const behind = new Map<number, number[]>();
  const windows = new Map<string, LaneWindow>();
  /** What is being read. */
  let coming: Page | undefined;
  let size = 0;

  function begin(name: string | number, holder: Owner | undefined): Group {
    if (groups.size === 0) windows.clear(); // of lanes whose jobs were all gone
    const dueAt = typeof name === "number" ? name : Infinity;
    const group = { name, holder, dueAt, delayMs: 0, ids: [], lanes: [], back: 0, oldest: Infinity };
    groups.add(group);
    open.set(name, group);
    return group;
  }

  function close(group: Group): void {
    if (open.get(group.name) === group) open.delete(group.name);
  }

  const isOfPause = ({ dueAt, holder }: Group): boolean =>
    dueAt === Infinity && (holder === undefined || isPaused(holder));

  function next(now: number): Group | undefined {
    let soonest: Group | undefined;
    for (const group of groups) {
      const isDue = group.dueAt <= now || group.dueAt - now > group.delayMs;
      if (isDue && (soonest === undefined || group.dueAt < soonest.dueAt)) soonest = group;
    }
    return soonest;
  }

  function put(group: Group, hash: number, first: number): void {
    group.ids.push(first);
    group.lanes.push(hash);
    if (hash !== NO_KEY) firstOf.set(hash, first);
  }

  /** So many jobs of a lane are back: the rest comes behind the other lanes of the group. */
  function shorten(group: Group, hash: number, count: number): void {
    const others = behind.get(hash);
    const first = others?.splice(0, count).at(count - 1);
    if (others === undefined || others.length === 0) behind.delete(hash);
    if (first !== undefined) return put(group, hash, first);
    firstOf.delete(hash);
  }

  function jobsOf({ ids, lanes, back }: Group): number {
    let count = 0;
    for (let place = back; place < ids.length; place += 1) {
      const hash = lanes[place] ?? NO_KEY;
      if (hash === NO_KEY || firstOf.get(hash) === ids[place]) count += 1 + (behind.get(hash)?.length ?? 0);
    }
    return count;
  }

  function hasAny({ ids, lanes, back }: Group, gone: ReadonlySet<number>): boolean {
    const isGone = (id: number): boolean => gone.has(id);
    return ids.some(
      (id, nth) => nth >= back && (isGone(id) || behind.get(lanes[nth] ?? NO_KEY)?.some(isGone) === true),
    );
  }

  function pageOf(group: Group, most: number): Page {
    const ids: number[] = [];
    const counts = new Map<number, number>();
    let place = group.back;
    for (; place < group.ids.length && ids.length < most; place += 1) {
      const [id = 0, hash = NO_KEY] = [group.ids[place], group.lanes[place]];
      if (hash === NO_KEY) ids.push(id);
      else if (firstOf.get(hash) === id && !counts.has(hash)) {
        const some = [id].concat(behind.get(hash)?.slice(0, most - ids.length - 1) ?? []);
        counts.set(hash, some.length);
        ids.push(...some);
      }
    }
    return { ids, group, end: place, counts };
  }

  const has = (key: string | undefined): boolean => key !== undefined && firstOf.size > 0 && firstOf.has(hashOf(key));

  return {
    park({ key, ids, runAt, delayMs, receivedAt, window, holder }) {
      const name = holder === undefined ? backAt(runAt) : `${holder.account} ${holder.consumer}`;
      const group = open.get(name) ?? begin(name, holder);
      group.delayMs = Math.max(group.delayMs, delayMs);
      group.oldest = Math.min(group.oldest, receivedAt);
      size += ids.length;
      const hash = key === undefined ? NO_KEY : hashOf(key);
      const rest = firstOf.get(hash);
      const others = ids.slice(1).concat(rest ?? [], behind.get(hash) ?? []);
      if (others.length > 0) behind.set(hash, others);
      if (coming?.counts.has(hash) === true) coming = undefined; // what is read of the rest would overtake them
      put(group, hash, ids[0] ?? NaN); // it has one
      if (key !== undefined && window !== undefined) windows.set(key, window);
    },
    join(id, key) {
      if (key === undefined || firstOf.size === 0) return false;
      const hash = hashOf(key);
      if (!firstOf.has(hash)) return false;
      const others = behind.get(hash);
      if (others === undefined) behind.set(hash, [id]);
      else others.push(id);
      size += 1;
      return true;
    },
    has,
    setWindow(key, window) {
      if (window === null) windows.delete(key);
      else if (has(key)) windows.set(key, window);
    },
    restOf(key) {
      if (key === undefined || firstOf.size === 0) return undefined;
      const hash = hashOf(key);
      const first = firstOf.get(hash);
      return first === undefined ? undefined : [first, behind.get(hash)?.at(-1) ?? first];
    },
    due(now, most) {
      while (coming === undefined) {
        const group = next(now);
        if (group === undefined) return undefined;
        close(group); // what is parked from now on is not to come back with it
        group.dueAt = -Infinity;
        const page = pageOf(group, most);
        if (page.ids.length > 0) coming = page;
        else {
          groups.delete(group); // all its lanes have left it: the next one of its holder comes instead
          const other = group.holder && [...groups].find(({ name }) => name === group.name);
          if (other?.dueAt === Infinity) other.dueAt = -Infinity;
        }
      }
      return coming;
    },
    back(page) {
      if (coming === undefined || page !== coming) return false;
      const { ids, group, end, counts } = coming;
      coming = undefined;
      group.back = end;
      if (group.holder !== undefined) group.dueAt = Infinity; // one page is enough, until it is wanted again
      size -= ids.length;
      for (const [hash, count] of counts) shorten(group, hash, count);
      if (group.back >= group.ids.length) groups.delete(group);
      return true;
    },
    recheck(gone) {
      for (const group of groups) {
        if (!hasAny(group, gone)) continue;
        if (coming?.group === group) coming = undefined; // it may have been read before they went
        close(group);
        [group.dueAt, group.holder] = [-Infinity, undefined];
      }
    },
    resume() {
      for (const group of groups) {
        if (group.dueAt !== Infinity || group.holder !== undefined) continue;
        close(group);
        group.dueAt = -Infinity;
      }
    },
    free(isWanted) {
      const seen = new Set<string | number>(); // what was parked first comes first
      for (const group of groups) {
        if (group.holder === undefined || seen.has(group.name)) continue;
        seen.add(group.name);
        if (group.dueAt === Infinity && isWanted(group.holder)) group.dueAt = -Infinity;
      }
    },
    paused: () => sumOf(groups, (group) => (isOfPause(group) ? jobsOf(group) : 0)),
    windowOf(key) {
      const window = key === undefined ? undefined : windows.get(key);
      if (window !== undefined && key !== undefined && !has(key)) windows.delete(key);
      return window;
    },
    get size() {
      return size;
    },
    blockedLanes: () => sumOf(groups, ({ dueAt, ids }) => (dueAt > 0 && dueAt < Infinity ? ids.length : 0)),
    nextDueAt: () => leastOf(groups, ({ dueAt }) => dueAt),
    oldestReceivedAt: () => leastOf(groups, (group) => (isOfPause(group) ? Infinity : group.oldest)),
  };
}

function sumOf(groups: Iterable<Group>, of: (group: Group) => number): number {
  return [...groups].reduce((sum, group) => sum + of(group), 0);
}

function leastOf(groups: Iterable<Group>, of: (group: Group) => number): number | undefined {
  let least: number | undefined;
  for (const group of groups) least = Math.min(least ?? Infinity, of(group));
  return least;
}

/** 48 bits: of a million lanes no two have the same in all likelihood. If they do, they come back together. */
function hashOf(key: string): number {
  return createHash("sha256").update(key).digest().readUIntBE(0, 6);
}
