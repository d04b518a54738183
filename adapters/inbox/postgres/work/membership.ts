import { orphaned, claimed, type Progress } from "../../../../src/adapter.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { EXPANDER, SHARDS } from "../schema/tables.ts";

/** Who works, and on what. */
export interface Membership {
  register(): Promise<number>;
  /** Looks at the others: buries those whose heart stands still, takes its share of free shards, and says which of its own are too many. */
  tick(me: number, mine: readonly number[]): Promise<Share>;
  /** Takes over from a worker whose heart still stood at `beat`. @returns whether it did */
  bury(worker: number, beat: number | undefined): Promise<boolean>;
}

interface Share {
  readonly owned: readonly number[];
  /** So many shards are more than this worker's fair share. */
  readonly tooMany: number;
  readonly workersAlive: number;
}

export interface MembershipOptions {
  readonly pool: Pool;
  readonly ident: () => string;
  readonly now: () => number;
  readonly leaseMs: number;
  /** Whether a worker's own connection is gone: then it is buried sooner. An accelerator, never trusted. */
  readonly isGone: (worker: number) => Promise<boolean>;
  /** How long after that its heart must have stood still. */
  readonly goneMs: number;
}

interface WorkerRow {
  readonly id: number;
  readonly beat: number;
}

export function createMembership({ pool, ident, now, leaseMs, isGone, goneMs }: MembershipOptions): Membership {
  /** By the monotonic clock of this process: when a heart was first seen at its last beat. */
  const seen = new Map<number, { readonly beat: number; readonly since: number }>();

  async function lookAt(workers: readonly WorkerRow[], me: number): Promise<void> {
    for (const id of seen.keys()) if (!workers.some((one) => one.id === id)) seen.delete(id);
    for (const { id, beat } of workers) {
      if (id === me) continue;
      const last = seen.get(id);
      if (last?.beat !== beat) seen.set(id, { beat, since: performance.now() });
      const stillMs = performance.now() - (seen.get(id)?.since ?? 0);
      if (stillMs >= leaseMs || (stillMs >= goneMs && (await isGone(id)))) await bury(id, beat);
    }
  }

  /** No clock crosses machines: it changes nothing unless the heart still stands where it stood. */
  async function bury(worker: number, beat: number | undefined): Promise<boolean> {
    return pool.transaction(async (queries) => {
      const [dead] = await queries.query<Marked>(
        `update ${ident()}.worker set alive = false where id = $1 and alive and ($2::bigint is null or beat = $2) returning to_jsonb(running) as running, to_jsonb(since) as since`,
        [worker, beat ?? null],
      );
      if (dead === undefined) return false;
      await countDeaths(queries, dead);
      // One that a transaction of the application holds is freed later.
      await freeShardsOf(queries, worker);
      return true;
    });
  }

  async function countDeaths(queries: Queries, { running, since }: Marked): Promise<void> {
    if (running.length === 0) return;
    const rows = await queries.query<Row>(
      `select j.shard, j.id, j.attempts, j.deaths, j.group_max, j.first_attempt_at from generate_series(0, ${SHARDS - 1}) as s (shard)
       cross join lateral (select * from ${ident()}.job where job.shard = s.shard and job.id = any ($1) offset 0) as j order by j.id`,
      [running],
    );
    const begun = new Map(running.map((id, index) => [id, since[index]]));
    const all = orphaned(rows.map((row) => claimed(toProgress(row), begun.get(row.id) ?? now())));
    const given = rows.map(({ shard: s, id: i }, index) => {
      const { attempts: a, deaths: d, groupMax: g = null, firstAttemptAt: f = null } = all[index] as Progress;
      return { s, i, a, d, g, f };
    });
    await queries.query(
      `update ${ident()}.job set attempts = o.a, deaths = o.d, group_max = o.g, first_attempt_at = o.f, run_at = 0, delay_ms = 0
       from jsonb_to_recordset($1) as o (s smallint, i bigint, a int, d int, g int, f bigint) where job.shard = o.s and job.id = o.i`,
      [JSON.stringify(given)],
    );
  }

  async function freeShardsOf(queries: Queries, worker: number): Promise<void> {
    await queries.query(
      `update ${ident()}.shard set owner = null where id in (select id from ${ident()}.shard where owner = $1 for update skip locked)`,
      [worker],
    );
  }

  return {
    async register() {
      const [row] = await pool.query<{ id: number }>(`insert into ${ident()}.worker default values returning id`);
      return row?.id ?? 0;
    },
    async tick(me, mine) {
      await lookAt(await pool.query<WorkerRow>(`select id, beat from ${ident()}.worker where alive`), me);
      // What a dead one could not give back at once.
      await pool.query(
        `update ${ident()}.shard set owner = null where id in (
           select s.id from ${ident()}.shard as s where s.owner is not null and not exists (select from ${ident()}.worker as w where w.id = s.owner and w.alive) for update skip locked)`,
      );
      const [{ alive, fair } = { alive: 1, fair: SHARDS }] = await pool.query<{ alive: number; fair: number }>(
        `select count(*)::int as alive, ceil(${SHARDS}.0 / greatest(count(*), 1))::int as fair from ${ident()}.worker where alive`,
      );
      const lanes = mine.filter((shard) => shard !== EXPANDER).length;
      await pool.query(
        `update ${ident()}.shard set owner = $1 where exists (select from ${ident()}.worker where id = $1 and alive) and id in (
           select free.id from ${ident()}.shard as free where free.owner is null and (free.id = ${EXPANDER} or free.id in (
             select id from ${ident()}.shard where owner is null and id < ${EXPANDER} order by id limit $2)) for update skip locked)`,
        [me, Math.max(0, fair - lanes)],
      );
      const owned = await pool.query<{ id: number }>(`select id from ${ident()}.shard where owner = $1 order by id`, [
        me,
      ]);
      return { owned: owned.map(({ id }) => id), tooMany: Math.max(0, lanes - fair), workersAlive: alive };
    },
    bury,
  };
}

/** What a worker marked as running, and when each was first attempted. */
interface Marked {
  readonly running: readonly number[];
  readonly since: readonly (number | null)[];
}

interface Row {
  readonly shard: number;
  readonly id: number;
  readonly attempts: number;
  readonly deaths: number;
  readonly group_max: number | null;
  readonly first_attempt_at: number | null;
}

function toProgress({ attempts, deaths, group_max: groupMax, first_attempt_at: firstAttemptAt }: Row): Progress {
  return {
    state: "waiting",
    attempts,
    deaths,
    groupMax: groupMax ?? undefined,
    firstAttemptAt: firstAttemptAt ?? undefined,
    runAt: 0,
    delayMs: 0,
    error: undefined,
    settledAt: undefined,
  };
}
