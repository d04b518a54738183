import { orphaned, claimed, type Progress } from "../../../../src/adapter.ts";
import type { Pool, Queries } from "../connection/pool.ts";
import { EXPANDER, SHARDS } from "../schema/tables.ts";
import type { Handled, LiveWorker } from "./other-workers.ts";

/** Who works, and on what. */
export interface Membership {
  register(handled: Handled | null): Promise<number>;
  /** Looks at the others: declares those dead whose heart stands still, takes its share of free shards, and says which of its own are too many. */
  tick(me: number, mine: Mine): Promise<Share>;
  /** Takes over from a worker whose heart still stood at `beat`. @returns whether it did */
  declareDead(worker: number, beat: number | undefined): Promise<boolean>;
}

interface Mine {
  /** Shards that it gives up: they are another's, even if there is none yet. */
  readonly leaving: readonly number[];
  /** Whether it holds the lock that says that it is there. */
  readonly isPresent: boolean;
}

interface Share {
  readonly owned: readonly number[];
  /** Those of them that others are to take. */
  readonly surplus: readonly number[];
  readonly workers: readonly LiveWorker[];
  /** When a heart that stands still may be taken for dead, as it is; Infinity where all beat. */
  readonly lookAgainMs: number;
}

export interface MembershipOptions {
  readonly pool: Pool;
  readonly ident: () => string;
  readonly now: () => number;
  readonly leaseMs: number;
  /** Whether a worker's own connection is gone: then it counts as dead sooner. An accelerator, never trusted. */
  readonly isGone: (worker: number) => Promise<boolean>;
  /** How long after that its heart must have stood still. */
  readonly goneMs: number;
}

interface WorkerRow extends LiveWorker {
  readonly beat: number;
  readonly present: boolean;
}

export function createMembership({ pool, ident, now, leaseMs, isGone, goneMs }: MembershipOptions): Membership {
  /** By the monotonic clock of this process: when a heart was first seen at its last beat. */
  const seen = new Map<number, { readonly beat: number; readonly since: number }>();
  /** What each worker handles never changes. */
  let handledBy = new Map<number, Handled | null>();

  async function findAlive(): Promise<readonly WorkerRow[]> {
    const rows = await pool.query<WorkerRow>(
      `select id, beat, present, case when id <> all ($1) then handled end as handled, exists (select from ${ident()}.shard as s where s.id = ${EXPANDER} and s.owner = w.id) as expands
       from ${ident()}.worker as w where alive`,
      [[...handledBy.keys()]],
    );
    handledBy = new Map(rows.map(({ id, handled }) => [id, handledBy.get(id) ?? handled]));
    return rows.map(({ id, beat, present, expands }) => {
      return { id, beat, present, expands, handled: handledBy.get(id) ?? null };
    });
  }

  /** @returns those that live, and when to look again */
  async function lookAt(workers: readonly WorkerRow[], me: number): Promise<Pick<Share, "workers" | "lookAgainMs">> {
    for (const id of seen.keys()) if (!workers.some((one) => one.id === id)) seen.delete(id);
    const alive: WorkerRow[] = [];
    let lookAgainMs = Infinity;
    for (const one of workers) {
      const { id, beat, present } = one;
      const last = seen.get(id);
      const since = last?.beat === beat ? last.since : performance.now();
      seen.set(id, { beat, since });
      if (id === me) {
        alive.push(one);
        continue;
      }
      const stillMs = performance.now() - since;
      const isDead = stillMs >= leaseMs || (present && stillMs >= goneMs && (await isGone(id)));
      if (isDead && (await declareDead(id, beat))) continue;
      alive.push(one);
      const due = (present ? [goneMs, leaseMs] : [leaseMs]).find((ms) => ms > stillMs);
      if (due !== undefined) lookAgainMs = Math.min(lookAgainMs, due - stillMs);
    }
    return { workers: alive, lookAgainMs };
  }

  /** No clock crosses machines: it changes nothing unless the heart still stands where it stood. */
  async function declareDead(worker: number, beat: number | undefined): Promise<boolean> {
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

  /** One that a transaction of the application holds is left out: it may be open for long, and all others would wait. */
  async function countDeaths(queries: Queries, { running, since }: Marked): Promise<void> {
    if (running.length === 0) return;
    const rows = await queries.query<Row>(
      `select j.shard, j.id, j.attempts, j.deaths, j.group_max, j.first_attempt_at from generate_series(0, ${SHARDS - 1}) as s (shard)
       cross join lateral (select * from ${ident()}.job where job.shard = s.shard and job.id = any ($1) for update skip locked offset 0) as j order by j.id`,
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

  /** What a dead one could not give back at once. */
  async function freeOrphans(): Promise<void> {
    const isOrphan = `s.owner is not null and not exists (select from ${ident()}.worker as w where w.id = s.owner and w.alive)`;
    const [some] = await pool.query(`select 1 from ${ident()}.shard as s where ${isOrphan} limit 1`);
    if (some === undefined) return;
    await pool.transaction(async (queries) => {
      const rows = await queries.query<{ id: number }>(
        `select s.id from ${ident()}.shard as s where ${isOrphan} for update skip locked`,
      );
      // A second statement sees the worker that took one since the first began: to that one, which locked its row, it was not there.
      await queries.query(`update ${ident()}.shard as s set owner = null where s.id = any ($1) and ${isOrphan}`, [
        rows.map(({ id }) => id),
      ]);
    });
  }

  async function freeShardsOf(queries: Queries, worker: number): Promise<void> {
    await queries.query(
      `update ${ident()}.shard set owner = null where id in (select id from ${ident()}.shard where owner = $1 for update skip locked)`,
      [worker],
    );
  }

  /** Refused or not, it must be somebody's. */
  function mayTake(shard: string): string {
    return `(not $1 = any (${shard}.refused) or not exists (select from ${ident()}.worker as w where w.alive and not w.id = any (${shard}.refused)))`;
  }

  /** As many as each has where all lanes are shared by those that do not refuse it. So one of them has fewer, while it is free. */
  function fairOf(shard: string): string {
    return `(select ceil(${SHARDS}.0 / greatest(count(*), 1))::int from ${ident()}.worker as w where w.alive and not w.id = any (${shard}.refused))`;
  }

  return {
    async register(handled) {
      const [row] = await pool.query<{ id: number }>(
        `insert into ${ident()}.worker (handled) values ($1) returning id`,
        [handled === null ? null : JSON.stringify(handled)],
      );
      return row?.id ?? 0;
    },
    async tick(me, { leaving, isPresent }) {
      const workers = await findAlive();
      if (workers.some(({ id, present }) => id === me && present !== isPresent))
        await pool.query(`update ${ident()}.worker set present = $2 where id = $1`, [me, isPresent]);
      const seenNow = await lookAt(workers, me);
      await freeOrphans();
      await pool.query(
        `update ${ident()}.shard set owner = $1 where exists (select from ${ident()}.worker where id = $1 and alive) and id in (
           select free.id from ${ident()}.shard as free where free.owner is null and not free.id = any ($2::int[]) and ${mayTake("free")} and (free.id = ${EXPANDER} or free.id in (
             select ranked.id from (
               select one.id, ${fairOf("one")} as fair, row_number() over (order by ${fairOf("one")} desc, one.id) as nth from ${ident()}.shard as one
               where one.owner is null and one.id < ${EXPANDER} and not one.id = any ($2::int[]) and ${mayTake("one")}) as ranked
             where ranked.nth + (select count(*) from ${ident()}.shard where owner = $1 and id < ${EXPANDER}) <= ranked.fair)) for update skip locked)`,
        [me, leaving],
      );
      const owned = await pool.query<OwnedRow>(
        `select id, ${fairOf("s")} as fair from ${ident()}.shard as s where owner = $1 order by fair, id`,
        [me],
      );
      return { owned: owned.map(({ id }) => id), surplus: surplusOf(owned, leaving), ...seenNow };
    },
    declareDead,
  };
}

interface OwnedRow {
  readonly id: number;
  readonly fair: number;
}

/** @param owned those of which each has the fewest first */
function surplusOf(owned: readonly OwnedRow[], leaving: readonly number[]): readonly number[] {
  const kept = owned.filter(({ id }) => id !== EXPANDER && !leaving.includes(id));
  const surplus: number[] = [];
  for (const { id, fair } of kept) if (kept.length - surplus.length > fair) surplus.push(id);
  return surplus;
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
