import { FRESH, type JobError, type LaneWindow, type Progress } from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import type { Row } from "./lanes.ts";
import type { StepReply } from "./encode-step.ts";

/** Reads open jobs of shards. */
export interface ShardRows {
  /** What was committed since a cut, in the order of ids, and the new cut. */
  follow(shards: readonly number[], cut: Cut): Promise<Followed>;
  /** The next jobs of some shards, one shard after the other; of the first one those behind an id. */
  page(shards: readonly number[], after: number): Promise<Page>;
  /** Those of a shard that are there, in the order of ids. */
  jobs(shard: number, ids: readonly number[]): Promise<readonly Row[]>;
}

/** Of each writer, what is known: all of it up to an id. */
export type Cut = ReadonlyMap<number, { readonly seq: number; readonly lastId: number }>;

interface Followed {
  readonly head: Head | null | undefined;
  readonly rows: readonly JobRow[];
}

type Head = Omit<StepReply, "shards"> & { readonly server: number };

export interface Page {
  readonly rows: readonly JobRow[];
  /** So many of the shards were read to their end. */
  readonly whole: number;
  /** The last id of what was read of the one behind them. */
  readonly last: number;
  /** By shard, those of its lanes. */
  readonly windows: ReadonlyMap<number, ReadonlyMap<string, LaneWindow>>;
}

/** An open job as the tables have it. */
export interface JobRow {
  readonly shard: number;
  readonly id: number;
  readonly writer: number;
  readonly day: number;
  readonly delivery: number;
  readonly entry: number;
  readonly consumer: string;
  readonly account?: number | null;
  /** The account, in what is followed. */
  readonly head?: number | null;
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

/** Jobs read at once: the loop must not stop for a million. */
const PAGE = 2_000;

const COLUMNS = `shard, id, writer, day, delivery, entry, consumer, account, lane, merge_key, received_at, replay_of,
  case when attempts + deaths + run_at > 0 or error is not null then
    jsonb_build_object('attempts', attempts, 'deaths', deaths, 'groupMax', group_max, 'firstAttemptAt', first_attempt_at, 'runAt', run_at, 'delayMs', delay_ms, 'error', error) end as progress`;

export function createShardRows(queries: Queries, ident: () => string): ShardRows {
  async function windowsOf(shards: readonly number[]): Promise<Page["windows"]> {
    const rows = await queries.query<{ shard: number; lane: string; since: number; up_to: number }>(
      /* sql */ `select w.* from unnest($1::smallint[]) as s (id) cross join lateral (
         select shard, lane, since, up_to from ${ident()}.lane_window where shard = s.id offset 0) as w`,
      [shards],
    );
    const windows = new Map(shards.map((shard) => [shard, new Map<string, LaneWindow>()]));
    for (const { shard, lane, since, up_to: upTo } of rows) windows.get(shard)?.set(lane, { since, upTo });
    return windows;
  }

  return {
    async follow(shards, cut) {
      const known = JSON.stringify([...cut].map(([writer, { seq, lastId }]) => [writer, seq, lastId]));
      const [first, ...rows] = await queries.query<JobRow>(`select * from ${ident()}.follow($1, $2)`, [shards, known]);
      return { head: first?.head as unknown as Head | null | undefined, rows };
    },
    async page(shards, after) {
      const rows = await queries.query<JobRow>(
        /* sql */ `select j.* from unnest($1::smallint[]) with ordinality as s (id, nth) cross join lateral (
           select ${COLUMNS} from ${ident()}.job
           where shard = s.id and id > case when s.nth = 1 then $2::bigint else 0 end order by id limit $3) as j limit $3`,
        [shards, after, PAGE],
      );
      const end = rows.length < PAGE ? undefined : rows.at(-1);
      const whole = end === undefined ? shards.length : shards.indexOf(end.shard);
      return { rows, whole, last: end?.id ?? 0, windows: await windowsOf(shards.slice(0, whole + 1)) };
    },
    async jobs(shard, ids) {
      const rows = await queries.query<JobRow>(
        `select ${COLUMNS} from ${ident()}.job where shard = $1 and id = any ($2::bigint[]) order by id`,
        [shard, ids],
      );
      return rows.map(toRow);
    },
  };
}

/** As it comes into memory. */
export function toRow(row: JobRow): Row {
  return {
    id: row.id,
    shard: row.shard,
    day: row.day,
    delivery: row.delivery,
    entry: row.entry,
    consumer: row.consumer,
    account: row.account ?? row.head ?? undefined,
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
