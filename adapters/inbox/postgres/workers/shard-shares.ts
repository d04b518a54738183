import type { Pool } from "../connection/pool.ts";
import { EXPANDER, SHARDS } from "../schema/tables.ts";

/** Which shards a worker has: its share of those that it may have. It refuses those that it passed on for want of a handler. */
export interface ShardShares {
  /**
   * Takes its share of the shards that are free.
   * @param leaving shards that it gives up
   * @param still workers that are frozen, as it seems: they would take none of it
   * @returns its own, and those of owners that live no more
   */
  take(
    me: number,
    given: { readonly leaving: readonly number[]; readonly still: readonly number[] },
  ): Promise<readonly OwnedShard[]>;
  /** No other worker counts on it, or gives it a part of what it shares with it. A shard that another session locks is left to the next tick. */
  refuseAll(me: number): Promise<void>;
  /** All but the expansion, which may have been passed on for want of room. A locked one is left to the next tick, too. */
  refuseNone(me: number): Promise<void>;
}

interface OwnedShard {
  readonly id: number;
  readonly owner: number;
  /** So many each worker has that may have it. */
  readonly fair: number;
}

export function createShardShares(pool: Pool, ident: () => string): ShardShares {
  /** Refused or not, it must be somebody's. */
  function mayTake(shard: string): string {
    return `(not $1 = any (${shard}.refused) or not exists (select from ${ident()}.worker as w where w.alive and not w.id = any (${shard}.refused)))`;
  }

  /**
   * As many as each has where all lanes are shared by those that do not refuse it; where there are none, by all that have handlers: who stops
   * has none. So one of them has fewer, while it is free.
   * @param still the parameter with the workers that are frozen
   */
  function fairOf(shard: string, still: string): string {
    return /* sql */ `(select ceil(${SHARDS}.0 / greatest(coalesce(nullif(count(*) filter (where not w.id = any (${shard}.refused)), 0), count(*) filter (where w.handled is distinct from '{}')), 1))::int
      from ${ident()}.worker as w where w.alive and not w.id = any (${still}::bigint[]))`;
  }

  return {
    async take(me, { leaving, still }) {
      await pool.query(
        /* sql */ `update ${ident()}.shard set owner = $1 where exists (select from ${ident()}.worker where id = $1 and alive) and id in (
           select free.id from ${ident()}.shard as free where free.owner is null and not free.id = any ($2::int[]) and ${mayTake("free")} and (free.id = ${EXPANDER} or free.id in (
             select ranked.id from (
               select one.id, ${fairOf("one", "$3")} as fair, row_number() over (order by ${fairOf("one", "$3")} desc, one.id) as nth from ${ident()}.shard as one
               where one.owner is null and one.id < ${EXPANDER} and not one.id = any ($2::int[]) and ${mayTake("one")}) as ranked
             where ranked.nth + (select count(*) from ${ident()}.shard where owner = $1 and id < ${EXPANDER}) <= ranked.fair)) for update skip locked)`,
        [me, leaving, still],
      );
      return pool.query<OwnedShard>(
        /* sql */ `select id, owner, ${fairOf("s", "$2")} as fair from ${ident()}.shard as s
         where owner = $1 or owner is not null and not exists (select from ${ident()}.worker as w where w.id = s.owner and w.alive)`,
        [me, still],
      );
    },
    async refuseAll(me) {
      await pool.query(
        `update ${ident()}.worker set handled = '{}' where id = $1 and alive and handled is distinct from '{}'`,
        [me],
      );
      await pool.query(
        /* sql */ `update ${ident()}.shard as s set refused = array(select w.id from ${ident()}.worker as w where w.alive and w.id = any (s.refused || $1::bigint))
         where s.id in (select id from ${ident()}.shard where not $1 = any (refused) for update skip locked)`,
        [me],
      );
    },
    async refuseNone(me) {
      await pool.query(
        /* sql */ `update ${ident()}.shard set refused = array_remove(refused, $1) where id in (
           select id from ${ident()}.shard where id < ${EXPANDER} and $1 = any (refused) for update skip locked)`,
        [me],
      );
    },
  };
}

/** Those of which each has the fewest first; of these, those of which nothing runs, then those that run most shortly. */
export function surplusOf(
  owned: readonly OwnedShard[],
  { leaving, ages }: { readonly leaving: readonly number[]; readonly ages: () => ReadonlyMap<number, number> },
): readonly number[] {
  const found = ages();
  const ageOf = ({ id }: OwnedShard): number => found.get(id) ?? -1;
  const kept = owned
    .filter(({ id }) => id !== EXPANDER && !leaving.includes(id))
    .toSorted((a, b) => a.fair - b.fair || ageOf(a) - ageOf(b) || a.id - b.id);
  const surplus: number[] = [];
  for (const { id, fair } of kept) if (kept.length - surplus.length > fair) surplus.push(id);
  return surplus;
}
