import type { LiveWorker } from "../../../../src/adapter.ts";
import type { Queries } from "../connection/pool.ts";
import { SHARDS } from "../schema/tables.ts";

/** Those that the tables say are alive; one that was killed too, until others take over from it. @param me this process's, where it works */
export async function findLiveWorkers(queries: Queries, ident: string, me?: number): Promise<readonly LiveWorker[]> {
  const rows = await queries.query<{
    readonly id: number;
    readonly running: number;
    readonly shards: number;
  }>(/* sql */ `select w.id, cardinality(w.running) as running,
       (select count(*)::int from ${ident}.shard as s where s.owner = w.id and s.id < ${SHARDS}) as shards
     from ${ident}.worker as w where w.alive order by w.id`);
  return rows.map(({ id, running, shards }) => {
    return { id: String(id), isThis: id === me, share: shards / SHARDS, running };
  });
}
