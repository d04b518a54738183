import { oneRow } from "../connection/one-row.ts";
import type { Pool } from "../connection/pool.ts";
import { REMOVED } from "../schema/body-functions.ts";
import { BLOCK } from "../schema/tables.ts";

/** Removing the bodies of deliveries whose jobs are all done or skipped, by the process that does the upkeep. */
export interface BodyRemoval {
  pass(): Promise<void>;
  /** Another process may do the upkeep from now on. */
  forget(): void;
}

/** Deliveries of one step. */
const PAGE = 500;
/** Lists of jobs that are read at once. */
const LISTS = 10_000;
/** Ids that one step looks for deliveries in. */
const SPAN = 1_000_000;
/** Of pages in which all stays: with many that stay, a look at each of them takes some passes. */
const KEPT_PAGES = 10;
/** Between two looks at all: a store may have taken so long that it was passed over. */
const PASSES = 180;

/** @param pause whether to go on */
export function createBodyRemoval(pool: Pool, ident: () => string, pause: () => Promise<boolean>): BodyRemoval {
  /** All up to this id was looked at. It is behind the newest by a pass, since of two stores the later one may have the lower ids. */
  let [after, next, passes] = [0, 0, 0];
  /** Those that stay because of an open job, and because of one that ended otherwise than done. */
  const open = new Set<number>();
  const ended = new Set<number>();

  /** @returns how many stay */
  async function remove(ids: readonly number[]): Promise<number> {
    const { left } = await oneRow<{ left: { open: readonly number[]; ended: readonly number[] } }>(
      pool,
      `select ${ident()}.remove_bodies($1) as left`,
      [ids],
    );
    for (const id of ids) open.delete(id);
    for (const id of ids) ended.delete(id);
    for (const id of left.open) open.add(id);
    for (const id of left.ended) if (!open.has(id)) ended.add(id);
    return left.open.length + left.ended.length;
  }

  /** Each commit takes thousands of ids: where there are no deliveries, a walk through all of them would take hours. */
  async function beforeNext(from: number, newest: number): Promise<number> {
    const { id } = await oneRow<{ id: number | null }>(
      pool,
      `select min(id) as id from ${ident()}.delivery where id > $1`,
      [from],
    );
    return id === null ? newest : id - 1;
  }

  async function lookOn(newest: number): Promise<void> {
    for (let from = after; from < newest && (await pause());) {
      const rows = await pool.query<{ id: number }>(
        `select id from ${ident()}.delivery where id > $1 and id <= $1 + ${SPAN} and headers <> ${REMOVED} order by id limit ${PAGE}`,
        [from],
      );
      const ids = rows.map(({ id }) => id);
      if (ids.length > 0) await remove(ids);
      if (ids.length > 0) from = ids.length === PAGE ? (ids.at(-1) ?? newest) : from + SPAN;
      else from = await beforeNext(from + SPAN, newest);
    }
  }

  /** A replay of a dead job is to be done soon. A list of jobs that is newer than the last look may be one. */
  async function lookForReplays(): Promise<void> {
    for (let from: number | undefined = after; from !== undefined && ended.size > 0 && (await pause());) {
      const lists: readonly { id: number; delivery: number }[] = await pool.query(
        `select first_job as id, delivery from ${ident()}.job_list where first_job > $1 order by first_job limit ${LISTS}`,
        [from],
      );
      for (const { delivery } of lists) if (ended.delete(delivery)) open.add(delivery);
      from = lists.length === LISTS ? lists.at(-1)?.id : undefined;
    }
  }

  /** The longest ago that were looked at, each once. */
  async function lookAgain(stay: Set<number>): Promise<void> {
    let full = 0;
    for (let pages = Math.ceil(stay.size / PAGE); pages > 0 && full < KEPT_PAGES && (await pause()); pages -= 1) {
      const ids: number[] = [];
      for (const id of stay) if (ids.push(id) === PAGE) break;
      if ((await remove(ids)) === ids.length) full += 1;
    }
  }

  return {
    async pass() {
      const { last } = await oneRow<{ last: number }>(pool, `select last_value as last from ${ident()}.block`);
      const newest = (last + 1) * BLOCK;
      if (passes === 0) after = 0;
      passes = (passes + 1) % PASSES;
      await lookForReplays();
      await lookAgain(open);
      await lookAgain(ended);
      await lookOn(newest);
      [after, next] = [next, newest];
    },
    forget() {
      [after, next, passes] = [0, 0, 0];
      open.clear();
      ended.clear();
    },
  };
}
