import { setImmediate as nextTurn } from "node:timers/promises";
import type { Claim } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { isBroken, isUnreadable } from "../connection/classify-error.ts";
import type { StoredBatch } from "../store/writer.ts";
import type { Lanes, Row } from "./lanes.ts";
import { createShardRows, toRow, type Cut, type JobRow, type Page } from "./shard-rows.ts";
import type { Mark, StepReply } from "./encode-step.ts";

/** Makes the lanes in memory follow the tables: what is in them of the shards that are loaded, up to an exact cut. */
export interface ShardMemory {
  /** Brings in what was committed since the last cut, and takes out what was removed by hand. */
  follow(): Promise<void>;
  /** Whether what was stored by this batch has come. */
  hasSeen(batch: Pick<StoredBatch, "writer" | "base">): boolean;
  /**
   * Brings in shards that are this worker's now, as far as there is room: resolves with the first, and others follow by themselves. What was
   * left, or failed, comes with a later call: `isLoaded` is false until then.
   */
  load(shards: readonly number[]): Promise<void>;
  /** The same, each by itself, to the end: one that cannot be read costs the others nothing. @throws the first error, or at once where no server answers */
  loadSingly(shards: readonly number[]): Promise<void>;
  /** Until the next shard is there, while some are brought in. */
  readonly loading: Promise<unknown> | undefined;
  /** Nothing of it is to be followed any more. */
  unload(shard: number): void;
  isLoaded(shard: number): boolean;
  /** Parked jobs of a shard that is followed. One of which some cannot be read is to be loaded again, which says why. */
  read(ids: readonly number[], shard: number): Promise<readonly Row[]>;
  /** The last look at what other processes stored brought nothing. */
  readonly isQuiet: boolean;
  /** Other jobs keep it out, or what is left of it: from the moment that there was no room until it is loaded. */
  isKeptOut(shard: number): boolean;
  /** Whether there is something to follow. */
  isBehind(seen: Pick<StepReply, "vector" | "removal">): boolean;
  readonly shards: readonly number[];
}

export interface ShardMemoryDeps {
  readonly pool: Pool;
  readonly ident: () => string;
  readonly lanes: Lanes;
  readonly now: () => number;
  /** This worker is over: what was read is not to be used. */
  readonly isOver: () => boolean;
  /** It is this worker's, and is not given up. */
  readonly isMine: (shard: number) => boolean;
  /** Jobs came, or went. */
  readonly changed: () => void;
  /** Whether deliveries wait to be expanded. */
  readonly unexpanded: (are: boolean) => void;
  /** Claims ended with their jobs. */
  readonly lost: (claims: readonly Claim[]) => void;
  /** When the server started that this worker is registered on; undefined: it is not looked at. */
  readonly server: number | undefined;
  /** The server lacks what it had committed, or is another one and may: ids come again, and nothing of this memory holds. */
  readonly forgot: () => void;
  /** A page of a shard was read: there may be many. */
  readonly read: () => void;
}

/** Of the memory: where more is in it, a shard that was left for want of room stays out. */
const FULL = 0.9;
/** Where no more than this is in it, such a shard comes back at once. */
const HALF_FULL = 0.5;
/** Else after a pause: it is read from its first row on, with all that is in memory already. */
const FULL_PAUSE_MS = 5_000;

export function createShardMemory({ pool, ident, lanes, now, isOver, isMine, ...tell }: ShardMemoryDeps): ShardMemory {
  const stored = createShardRows(pool, ident);
  const loaded = new Set<number>();
  /** Their first rows are in memory. Claimed as they are: what is left of a lane comes behind them. */
  const begun = new Set<number>();
  /** Shards that wait for room. */
  const keptOut = new Set<number>();
  /** What is in the lanes: all up to the last id of each writer. */
  let cut: Cut = new Map();
  let removed: number | undefined;
  let isQuiet = true;
  /** When there was no room any more. */
  let fullAt = -Infinity;
  let last: Promise<unknown> = Promise.resolve();
  let loading: Promise<unknown> | undefined;

  /** One after the other: each begins at the cut that the one before ended at. */
  function serially<T>(run: () => Promise<T>): Promise<T> {
    const mine = last.then(run);
    last = mine.catch(() => {});
    return mine;
  }

  async function follow(): Promise<void> {
    isQuiet = true; // where it fails, too
    const { head, rows } = await stored.follow([...loaded], cut);
    if (isOver()) return;
    const isOther = tell.server !== undefined && head?.server !== tell.server;
    if (isOther || isBeforeCut(head?.vector ?? [])) return tell.forgot();
    const at = now();
    for (const row of rows) {
      // A shard may have been given up meanwhile.
      if (loaded.has(row.shard) && !lanes.append(toRow(row), at)) cutOff(row.shard);
    }
    setCut(head?.vector ?? []);
    tell.unexpanded(head?.unexpanded === true);
    await removeUpTo(head?.removal ?? 0);
    isQuiet = rows.length === 0;
    if (!isQuiet) tell.changed();
  }

  /** What comes next of it waits in the tables until there is room again. */
  function cutOff(shard: number): void {
    loaded.delete(shard);
    begun.add(shard);
    keptOut.add(shard);
    fullAt = now();
  }

  function isOpenTo(shard: number): boolean {
    if (!begun.has(shard)) return lanes.hasRoom(now());
    return lanes.fill() < HALF_FULL || (Math.abs(now() - fullAt) >= FULL_PAUSE_MS && lanes.hasRoom(now(), FULL));
  }

  async function removeUpTo(removal: number): Promise<void> {
    // What is loaded later was read after it.
    removed ??= removal;
    if (removal <= removed) return;
    const rows = await pool.query<{ jobs: readonly number[] }>(
      `select to_jsonb(jobs) as jobs from ${ident()}.removal where id > $1 and id <= $2`,
      [removed, removal],
    );
    if (isOver()) return;
    removed = removal;
    const ended = lanes.remove(new Set(rows.flatMap(({ jobs }) => jobs)), now());
    if (ended.length > 0) tell.lost(ended);
    tell.changed();
  }

  /** A writer that commits only grows. */
  function isBeforeCut(vector: readonly Mark[]): boolean {
    return vector.some(([writer, seq, , lastId]) => {
      const known = cut.get(writer);
      return known !== undefined && (seq < known.seq || lastId < known.lastId);
    });
  }

  function setCut(vector: readonly Mark[]): void {
    cut = new Map(vector.map(([writer, seq, , lastId]) => [writer, { seq, lastId }]));
  }

  async function loadOn(first: Promise<readonly number[]>): Promise<void> {
    for (let next = first; ;) {
      loading = next;
      const left = await next;
      if (left.length === 0 || isOver()) return;
      next = serially(() => loadNext(left));
    }
  }

  /**
   * Brings in the first shard, with those that fit into its last page. Between two of these calls others follow, and claims begin; so one that
   * was cut off is read from its first row on again: what was committed late, or ended meanwhile, may be anywhere.
   * @returns those that are left, while there is room
   */
  async function loadNext(shards: readonly number[]): Promise<readonly number[]> {
    await follow();
    const unread = new Set(shards);
    for (let after = 0; ;) {
      const page = await lanes.whileRead(
        shards,
        () => stored.page(shards, after),
        (read) => ({ ...read, left: isOver() ? undefined : append(read, unread) }),
      );
      if (isOver()) return [];
      tell.read();
      const { left } = page;
      const whole = shards.slice(0, left === undefined ? page.whole : shards.indexOf(left.shard));
      for (const shard of whole) {
        keptOut.delete(shard);
        if (begun.delete(shard)) loaded.add(shard);
      }
      if (page.rows.length > 0) tell.changed();
      await nextTurn();
      if (left !== undefined) {
        fullAt = now();
        keptOut.add(left.shard);
        if (begun.delete(left.shard)) begun.add(left.shard); // behind the others, which have had no turn
        return [];
      }
      if (whole.length > 0) return shards.slice(whole.length);
      after = page.last;
    }
  }

  /**
   * @param unread shards of which no row was read
   * @returns the first row that there is no room for
   */
  function append({ rows, windows }: Page, unread: Set<number>): JobRow | undefined {
    const at = now();
    // What is newer comes when this cut is followed. What is in memory may have changed since. A shard may have been given up meanwhile.
    const fresh = rows.filter(
      ({ id, shard, writer }) => begun.has(shard) && id <= (cut.get(writer)?.lastId ?? 0) && !lanes.has(id),
    );
    // At its first row, known or not: what leaves the memory between two pages is read no more.
    for (const { shard } of rows) if (begun.has(shard) && unread.delete(shard)) lanes.beginLoad(shard);
    for (const one of fresh) {
      const row = toRow(one);
      if (!lanes.append(row, at)) return one;
      // Of a lane that is in memory already, the window there is newer.
      const window = row.lane === undefined ? undefined : windows.get(row.shard)?.get(row.lane);
      if (window !== undefined && row.lane !== undefined && row.queuedIn?.head === row)
        lanes.setWindow(row.lane, window);
    }
    return undefined;
  }

  function unload(shard: number): void {
    loaded.delete(shard);
    begun.delete(shard);
    keptOut.delete(shard);
  }

  async function load(shards: readonly number[]): Promise<void> {
    if (loading !== undefined || isOver()) return;
    const missing = shards.filter((shard) => isMine(shard) && !loaded.has(shard)); // it may have been given up meanwhile
    const wanted = missing.filter(isOpenTo);
    for (const shard of missing) if (!wanted.includes(shard)) keptOut.add(shard);
    if (wanted.length === 0) return;
    for (const shard of wanted) begun.add(shard);
    // By turns: those first that were cut off longest ago, or none would come to some of them while the memory stays full.
    const first = serially(() => loadNext([...begun].filter((shard) => wanted.includes(shard))));
    void loadOn(first)
      .catch(() => {}) // what was left is asked for again
      .finally(() => (loading = undefined));
    await first;
  }

  return {
    follow: () => serially(async () => (isOver() ? undefined : follow())),
    hasSeen: ({ writer, base }) => (cut.get(writer)?.lastId ?? 0) >= base,
    load,
    async loadSingly(shards) {
      let failure: unknown;
      for (const shard of shards) {
        while (loading !== undefined) await loading.catch(() => {});
        try {
          await load([shard]);
        } catch (error) {
          if (isBroken(error)) throw error;
          failure ??= error;
        }
      }
      if (failure !== undefined) throw failure;
    },
    get loading() {
      return loading;
    },
    unload,
    isLoaded: (shard) => loaded.has(shard),
    async read(ids, shard) {
      try {
        return await stored.jobs(shard, ids);
      } catch (error) {
        if (!isUnreadable(error)) throw error;
        unload(shard);
        lanes.beginLoad(shard); // the page is not gone, and what stands behind it is not to come before it
        return [];
      }
    },
    isKeptOut: (shard) => keptOut.has(shard),
    isBehind: ({ vector, removal }) =>
      (removal ?? 0) > (removed ?? 0) || vector.some(([writer, , , lastId]) => lastId > (cut.get(writer)?.lastId ?? 0)),
    get isQuiet() {
      return isQuiet;
    },
    get shards() {
      return [...loaded];
    },
  };
}
