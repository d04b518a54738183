import type { Queries } from "../connection/pool.ts";
import { isUnpaused } from "./pauses.ts";

/** Jobs that are looked at in one look, in the order of the only index. */
const LOOKS = 10_000;

interface Part {
  readonly at: number | null;
  readonly count: number;
  readonly shard: number | null;
  readonly id: number | null;
}

/**
 * Where many jobs are paused, some other one may wait behind them: each call looks at some more, until it finds one.
 * @returns when that was received; undefined: none has been found yet
 */
export function createUnpausedSearch(queries: Queries, ident: () => string): () => Promise<number | undefined> {
  let [shard, id] = [-1, 0];
  let found: number | undefined;
  return async () => {
    const [part] = await queries.query<Part>(
      /* sql */ `with part as materialized (select shard, id, received_at, account, consumer from ${ident()}.job where (shard, id) > ($1, $2) order by shard, id limit ${LOOKS}),
       last as (select shard, id from part order by shard desc, id desc limit 1)
       select (select count(*) from part) as count, (select shard from last) as shard, (select id from last) as id,
         (select received_at from part as j where ${isUnpaused(ident())} and id not in
           (select job from ${ident()}.worker as w cross join unnest(w.running) as job where w.alive) order by j.shard, j.id limit 1) as at`,
      [shard, id],
    );
    const isEnd = (part?.count ?? 0) < LOOKS;
    // One that was found may be found again. Behind the last one the next look begins anew: a replay may have put one in front.
    if (part?.at != null || isEnd) found = part?.at ?? undefined;
    if (part?.at == null) [shard, id] = isEnd ? [-1, 0] : [part?.shard ?? -1, part?.id ?? 0];
    return found;
  };
}
