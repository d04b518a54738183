import { setImmediate as nextTurn } from "node:timers/promises";
import { FRESH, type Claim, type JobError, type LaneWindow, type Progress } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { isBroken } from "../connection/to-storage-error.ts";
import type { StoredBatch } from "../store/writer.ts";
import type { Lanes, Row } from "./lanes.ts";
import type { Mark, StepReply } from "./work-steps.ts";

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
  /** The last look at what other processes stored brought nothing. */
  readonly isQuiet: boolean;
  /** A shard that was left for want of room comes back; else other jobs hold it up. */
  readonly hasRoom: boolean;
  /** Whether there is something to follow. */
  isBehind(seen: Pick<StepReply, "vector" | "removal">): boolean;
  readonly shards: readonly number[];
}

export interface ShardMemoryDeps {
  readonly pool: Pool;
  readonly ident: () => string;
  readonly lanes: Lanes;
  readonly now: () => number;
  /** Rows in memory; what is more waits in the tables. */
  readonly maxJobs: number;
  /** This worker is over: what was read is not to be used. */
  readonly isOver: () => boolean;
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

interface JobRow {
  readonly head: (Omit<StepReply, "shards"> & { readonly server: number }) | null;
  readonly shard: number;
  readonly id: number;
  readonly writer: number;
  readonly day: number;
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string;
  readonly lane: string | null;
  readonly merge_key: string | null;
  readonly received_at: number;
  readonly replay_of: number | null;
  readonly progress: ProgressRecord | null;
}

interface ProgressRecord {
  readonly attempts: number;
  readonly deaths: number;
  readonly groupMax: number | null;
  readonly firstAttemptAt: number | null;
  readonly runAt: number;
  readonly delayMs: number;
  readonly error: JobError | null;
}

/** By shard, those of its lanes. */
type Windows = ReadonlyMap<number, ReadonlyMap<string, LaneWindow>>;

/** Jobs read at once: the loop must not stop for a million. */
const PAGE = 2_000;

/** Of the memory: where more is in it, a shard that was left for want of room stays out. */
const FULL = 0.9;
/** Where no more than this is in it, such a shard comes back at once. */
const HALF_FULL = 0.5;
/** Else after a pause: it is read from its first row on, with all that is in memory already. */
const FULL_PAUSE_MS = 5_000;

export function createShardMemory({ pool, ident, lanes, now, maxJobs, isOver, ...tell }: ShardMemoryDeps): ShardMemory {
  const loaded = new Set<number>();
  /** Their first rows are in memory. Claimed as they are: what is left of a lane comes behind them. */
  const begun = new Set<number>();
  /** What is in the lanes: all up to the last id of each writer. */
  let cut = new Map<number, { readonly seq: number; readonly lastId: number }>();
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
    const known = JSON.stringify([...cut].map(([writer, { seq, lastId }]) => [writer, seq, lastId]));
    const rows = await pool.query<JobRow>(`select * from ${ident()}.follow($1, $2)`, [[...loaded], known]);
    if (isOver()) return;
    const head = rows[0]?.head;
    const isOther = tell.server !== undefined && head?.server !== tell.server;
    if (isOther || isBeforeCut(head?.vector ?? [])) return tell.forgot();
    const at = now();
    for (const row of rows.slice(1)) {
      // A shard may have been given up meanwhile.
      if (!loaded.has(row.shard)) continue;
      if (lanes.size < maxJobs) lanes.append(toRow(row), at);
      else cutOff(row.shard);
    }
    setCut(head?.vector ?? []);
    tell.unexpanded(head?.unexpanded === true);
    await removeUpTo(head?.removal ?? 0);
    isQuiet = rows.length <= 1;
    if (!isQuiet) tell.changed();
  }

  /** What comes next of it waits in the tables until there is room again. */
  function cutOff(shard: number): void {
    loaded.delete(shard);
    begun.add(shard);
    fullAt = now();
  }

  const hasRoom = (): boolean => lanes.size < FULL * maxJobs;

  function isOpenTo(shard: number): boolean {
    if (!begun.has(shard)) return lanes.size < maxJobs;
    return lanes.size < HALF_FULL * maxJobs || (hasRoom() && Math.abs(now() - fullAt) >= FULL_PAUSE_MS);
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
    for (let after = 0; ;) {
      const page = await readPage(shards, after);
      const end = page.length < PAGE ? undefined : page.at(-1);
      const read = end === undefined ? shards.length : shards.indexOf(end.shard);
      const windows = await readWindows(shards.slice(0, read + 1));
      if (isOver()) return [];
      tell.read();
      const left = appendPage(page, windows);
      const whole = shards.slice(0, left === undefined ? read : shards.indexOf(left.shard));
      for (const shard of whole) if (begun.delete(shard)) loaded.add(shard);
      if (page.length > 0) tell.changed();
      await nextTurn();
      if (left !== undefined) {
        fullAt = now();
        return [];
      }
      if (whole.length > 0) return shards.slice(whole.length);
      after = end?.id ?? 0;
    }
  }

  /** @returns the first row that there is no room for */
  function appendPage(page: readonly JobRow[], windows: Windows): JobRow | undefined {
    const at = now();
    for (const row of page) {
      if (lanes.size >= maxJobs) return row;
      // What is newer comes when this cut is followed. A shard may have been given up meanwhile.
      if (begun.has(row.shard) && row.id <= (cut.get(row.writer)?.lastId ?? 0))
        append(toRow(row), windows.get(row.shard), at);
    }
    return undefined;
  }

  async function readWindows(shards: readonly number[]): Promise<Windows> {
    const rows = await pool.query<{ shard: number; lane: string; since: number; up_to: number }>(
      `select w.* from unnest($1::smallint[]) as s (id) cross join lateral (
         select shard, lane, since, up_to from ${ident()}.lane_window where shard = s.id offset 0) as w`,
      [shards],
    );
    const windows = new Map(shards.map((shard) => [shard, new Map<string, LaneWindow>()]));
    for (const { shard, lane, since, up_to: upTo } of rows) windows.get(shard)?.set(lane, { since, upTo });
    return windows;
  }

  /** The next jobs of some shards, one shard after the other; of the first one those behind an id. */
  function readPage(shards: readonly number[], after: number): Promise<readonly JobRow[]> {
    return pool.query<JobRow>(
      `select null as head, j.* from unnest($1::smallint[]) with ordinality as s (id, nth) cross join lateral (
         select shard, id, writer, day, delivery, entry, consumer, lane, merge_key, received_at, replay_of,
           case when attempts + deaths + run_at > 0 or error is not null then
             jsonb_build_object('attempts', attempts, 'deaths', deaths, 'groupMax', group_max, 'firstAttemptAt', first_attempt_at, 'runAt', run_at, 'delayMs', delay_ms, 'error', error) end as progress
         from ${ident()}.job where shard = s.id and id > case when s.nth = 1 then $2::bigint else 0 end order by id limit $3) as j limit $3`,
      [shards, after, PAGE],
    );
  }

  /** Of a lane that is in memory already, the window there is newer. */
  function append(row: Row, windows: ReadonlyMap<string, LaneWindow> | undefined, at: number): void {
    lanes.append(row, at);
    const window = row.lane === undefined ? undefined : windows?.get(row.lane);
    if (window !== undefined && row.lane !== undefined && row.queuedIn?.head === row) lanes.setWindow(row.lane, window);
  }

  async function load(shards: readonly number[]): Promise<void> {
    if (loading !== undefined || isOver()) return;
    const wanted = shards.filter((shard) => !loaded.has(shard) && isOpenTo(shard));
    if (wanted.length === 0) return;
    for (const shard of wanted) begun.add(shard);
    const first = serially(() => loadNext(wanted));
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
    unload(shard) {
      loaded.delete(shard);
      begun.delete(shard);
    },
    isLoaded: (shard) => loaded.has(shard),
    get hasRoom() {
      return hasRoom();
    },
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

function toRow(row: JobRow): Row {
  return {
    id: row.id,
    shard: row.shard,
    day: row.day,
    delivery: row.delivery,
    entry: row.entry,
    consumer: row.consumer,
    lane: row.lane ?? undefined,
    mergeKey: row.merge_key ?? undefined,
    receivedAt: row.received_at,
    replayOf: row.replay_of ?? undefined,
    // Most were never tried, and share one.
    progress: row.progress === null ? FRESH : toProgress(row.progress),
    next: undefined,
    queuedIn: undefined,
  };
}

function toProgress({ groupMax, firstAttemptAt, error, ...rest }: ProgressRecord): Progress {
  return {
    ...FRESH,
    ...rest,
    groupMax: groupMax === null ? undefined : Math.max(1, groupMax), // of none a job would wait for ever
    firstAttemptAt: firstAttemptAt ?? undefined,
    error: error ?? undefined,
  };
}
