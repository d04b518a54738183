import { oneRow } from "../connection/one-row.ts";
import type { Queries } from "../connection/pool.ts";
import { KEPT_DAY } from "../schema/tables.ts";
import { DAY_MS } from "./retention-times.ts";

/** Partitions of the tables that have one for each day. */
export interface DayPartitions {
  /** Those that there are, the oldest first, without the one of what outlived its day. */
  days(): Promise<readonly number[]>;
  /** The newest day of which there is something. */
  newest(): Promise<number | undefined>;
  /**
   * Moves what is still referred to out of a day, and drops it. `busy`: a reader or another process is in the way. `over`: the pause said so.
   */
  drop(day: number): Promise<"dropped" | "busy" | "over">;
}

export interface DayPartitionsDeps {
  readonly queries: Queries;
  readonly ident: () => string;
  /** Between two steps. @returns whether to go on */
  readonly pause: () => Promise<boolean>;
}

interface Place {
  readonly shard: number;
  readonly id: number;
}

/** Makes those of today and the days after it that are made ahead by the server's clock. Whoever stores meanwhile does not wait. */
export async function ensureDays(queries: Queries, ident: string): Promise<void> {
  await queries.query(`select ${ident}.ensure_days()`);
}

/** In this order: what refers to a delivery moves from one table to a later one, or gets a new id. */
const SOURCES = ["unexpanded", "job", "dead", "unhandled"] as const;

/** So much may come while one page after the other is moved; then the next pass goes on. */
const ATTEMPTS = 3;

export function createDayPartitions({ queries, ident, pause }: DayPartitionsDeps): DayPartitions {
  /** Days of which all was moved that has a lower id. */
  const moved = new Map<number, number>();

  async function days(): Promise<number[]> {
    const rows = await queries.query<{ day: number }>(
      /* sql */ `select substring(c.relname from '^delivery_([0-9]+)$')::int as day from pg_inherits as i join pg_class as c on c.oid = i.inhrelid
       where i.inhparent = $1::regclass and c.relname ~ '^delivery_[0-9]+$' order by 1`,
      [`${ident()}.delivery`],
    );
    return rows.map(({ day }) => day).filter((day) => day !== KEPT_DAY);
  }

  async function barrier(): Promise<number | null> {
    const { since } = await oneRow<{ since: number | null }>(queries, `select ${ident()}.barrier() as since`);
    return since;
  }

  /** @returns an id below which nothing refers to the day */
  async function move(day: number): Promise<number | "busy" | "over"> {
    const since = await barrier();
    if (since === null) return "busy";
    for (const source of SOURCES) {
      let place: Partial<Place> = { shard: 0, id: 0 };
      while (place.id !== undefined) {
        if (!(await pause())) return "over";
        const { next }: { next: Partial<Place> | null } = await oneRow(
          queries,
          `select ${ident()}.keep_page($1, $2, $3, $4) as next`,
          [day, source, place.shard, place.id],
        );
        if (next === null) return "busy";
        place = next;
      }
    }
    return since;
  }

  /** While nothing is locked: what came meanwhile. */
  async function moveLate(day: number, since: number): Promise<"moved" | "busy" | "over"> {
    for (;;) {
      if (!(await pause())) return "over";
      const { more } = await oneRow<{ more: boolean | null }>(queries, `select ${ident()}.keep_late($1, $2) as more`, [
        day,
        since,
      ]);
      if (more === null) return "busy";
      if (!more) return "moved";
    }
  }

  return {
    days,
    async newest() {
      for (const day of (await days()).toReversed()) {
        const { there } = await oneRow<{ there: boolean }>(
          queries,
          `select exists (select from ${ident()}.delivery where day = $1) as there`,
          [day],
        );
        if (there) return day;
      }
      return undefined;
    },
    async drop(day) {
      const first = moved.get(day) ?? (await move(day));
      if (typeof first === "string") return first;
      moved.set(day, first);
      for (let [attempt, since] = [1, first]; attempt <= ATTEMPTS; attempt += 1) {
        const next = await barrier();
        if (next === null) return "busy";
        const late = await moveLate(day, since);
        if (late !== "moved") return late;
        moved.set(day, (since = next));
        const { outcome } = await oneRow<{ outcome: "dropped" | "busy" | "again" }>(
          queries,
          `select ${ident()}.drop_day($1, $2) as outcome`,
          [day, since],
        );
        if (outcome === "busy") return "busy";
        if (outcome === "dropped") {
          moved.delete(day);
          return "dropped";
        }
      }
      return "busy";
    },
  };
}

/** The last day of which all was stored at a time or before it. */
export function lastDayBefore(ms: number): number {
  return Math.floor(ms / DAY_MS) - 1;
}
