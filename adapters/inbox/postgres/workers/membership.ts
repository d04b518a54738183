import { setTimeout as sleep } from "node:timers/promises";
import type { InboxStats, StorageError } from "../../../../src/adapter.ts";
import { oneRow } from "../connection/one-row.ts";
import type { Pool } from "../connection/pool.ts";
import { isCancelled, isOfDisk, isRefusal } from "../connection/classify-error.ts";
import { DATABASE, EXPANDER, SERVER, SHARDS } from "../schema/tables.ts";
import { BEAT_MS, DEFAULT_GONE_MS } from "../work/intervals.ts";
import { isNothing, type Handled, type LiveWorker } from "./other-workers.ts";
import { createRowHolders } from "./row-holders.ts";
import { createShardShares, surplusOf } from "./shard-shares.ts";

/** Who works, and on what. */
export interface Membership {
  /** @returns with when the server started, and which database it is */
  register(handled: Handled | null): Promise<Registration>;
  /** Looks at the others: declares those dead whose heart stands still, takes its share of free shards, and says which of its own are too many. */
  tick(me: number, mine: Mine): Promise<Share>;
  /** This process's own worker is over. @param died what it runs on counts a death if others run it */
  leave(worker: number, died: boolean): Promise<void>;
  /**
   * Whether any worker's heart beats that takes jobs; this process has none. Resolves once one was seen to beat, at the latest after `leaseMs`: then one
   * that was killed counts no more.
   */
  othersWork(): Promise<boolean>;
  /** One that is dead, and could not be taken over from at the last look, or not from all of its shards. */
  standstill(): InboxStats["standstill"];
}

interface Registration {
  readonly id: number;
  readonly server: number;
  readonly database: string;
}

interface Mine {
  /** Shards that it gives up: they are another's, even if there is none yet. */
  readonly leaving: readonly number[];
  /** How long something of a shard has run, milliseconds: of those of which nothing runs it has none. */
  readonly ages: () => ReadonlyMap<number, number>;
  /** Whether it holds the lock that says that it is there. */
  readonly isPresent: boolean;
  /** It claims nothing more, and gives up all. */
  readonly isStopping: boolean;
  /** No other has a handler that it lacks: it refuses nothing any more. */
  readonly lacksNothing: boolean;
}

interface Share {
  readonly owned: readonly number[];
  /** Those of them that others are to take. */
  readonly surplus: readonly number[];
  readonly workers: readonly LiveWorker[];
  /** When a heart that stands still may be taken for dead, as it is; Infinity where all beat. */
  readonly lookAgainMs: number;
}

interface Look extends Pick<Share, "workers" | "lookAgainMs"> {
  /** Of those that live: which may be frozen. */
  readonly still: readonly number[];
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
  /** One of the others could not be taken over from. */
  readonly failed: (error: StorageError) => void;
}

interface WorkerRow extends LiveWorker {
  readonly beat: number;
  readonly present: boolean;
  /** It passed shards on, for want of a handler. Looked up of this process's own worker alone. */
  readonly refuses: boolean;
}

/** Leases: until then a process that lives has given up a step that takes too long, and a smaller one holds; and its handlers have been told to abort. */
const END_AFTER = 2;
/** Leases: then others, such as who removes jobs, have long given its row back. */
const TELL_AFTER = 3;
/** One whose heart stands still for so long may be frozen: none of what is free is kept for it. */
const STILL_MS = DEFAULT_GONE_MS;
/** Between two looks whether a heart beats. */
const LISTEN_MS = BEAT_MS / 5;
const ALL_SHARDS: readonly number[] = Array.from({ length: SHARDS + 1 }, (_, shard) => shard);

export function createMembership({ pool, ident, now, leaseMs, isGone, goneMs, failed }: MembershipOptions): Membership {
  /** By the monotonic clock of this process: when a heart was first seen at its last beat. */
  const seen = new Map<number, { readonly beat: number; readonly since: number }>();
  /** What each worker handles never changes, until it stops. */
  let handledBy = new Map<number, Handled | null>();
  const holders = createRowHolders(pool, ident);
  const shares = createShardShares(pool, ident);
  let standing: InboxStats["standstill"];
  /** By the monotonic clock of this process: when a dead worker was first seen to have shards that are not free. */
  const stranded = new Map<number, number>();
  let stranding: InboxStats["standstill"];

  async function findAlive(me?: number): Promise<readonly WorkerRow[]> {
    const rows = await pool.query<WorkerRow>(
      /* sql */ `select id, beat, present, case when id <> all ($1) or handled = '{}' then handled end as handled, exists (select from ${ident()}.shard as s where s.id = ${EXPANDER} and s.owner = w.id) as expands,
         w.id = $2 and exists (select from ${ident()}.shard as s where s.id < ${EXPANDER} and w.id = any (s.refused)) as refuses
       from ${ident()}.worker as w where alive`,
      [[...handledBy.keys()], me ?? null],
    );
    handledBy = new Map(rows.map(({ id, handled }) => [id, handled ?? handledBy.get(id) ?? null]));
    return rows.map((row) => Object.assign(row, { handled: handledBy.get(row.id) ?? null }));
  }

  /**
   * One that fails holds up none of the others. Of jobs that the server cannot read or write, or not in the time that a statement may take, no death
   * is counted: they keep no shard from them.
   */
  async function declareDead({ id, beat }: Pick<WorkerRow, "id" | "beat">, died = true): Promise<boolean> {
    try {
      return await takeOver(id, beat, died);
    } catch (error) {
      failed(error as StorageError);
      return died && (isOfDisk(error) || isRefusal(error) || isCancelled(error)) && declareDead({ id, beat }, false);
    }
  }

  /** It is dead, and another session holds its row, or those of some of its shards. */
  async function insist(
    { id, beat }: Pick<WorkerRow, "id"> & { readonly beat?: number },
    stillMs: number,
  ): Promise<InboxStats["standstill"]> {
    if (stillMs < END_AFTER * leaseMs) return undefined;
    // At the next look the row is free.
    const refused = await (beat === undefined ? holders.endTransactions(id) : holders.endSteps({ id, beat })).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (stillMs < TELL_AFTER * leaseMs) return undefined;
    const { shards, cause } = await holders.find(id, beat === undefined ? "shard" : "worker", refused);
    const of = `The share of worker ${id} (${shards} of ${SHARDS} shards)`;
    return { step: "claim", of, seconds: Math.floor(stillMs / 1_000), cause };
  }

  /** @param owners dead, with shards that are not free */
  async function lookAtStranded(owners: ReadonlySet<number>): Promise<void> {
    for (const id of stranded.keys()) if (!owners.has(id)) stranded.delete(id);
    let found: InboxStats["standstill"];
    for (const id of owners) {
      const since = stranded.get(id) ?? performance.now();
      stranded.set(id, since);
      const why = await insist({ id }, performance.now() - since).catch(failed);
      found ??= why ?? undefined;
    }
    stranding = found;
  }

  /** @returns for how long each heart has stood still, as far as this process saw it */
  function listen(workers: readonly WorkerRow[]): (worker: WorkerRow) => number {
    const before = new Map(seen);
    seen.clear();
    for (const { id, beat } of workers) {
      const last = before.get(id);
      seen.set(id, last?.beat === beat ? last : { beat, since: performance.now() });
    }
    return ({ id }) => performance.now() - (seen.get(id)?.since ?? 0);
  }

  /** @returns those that live, and when to look again */
  async function lookAt(workers: readonly WorkerRow[], me: number): Promise<Look> {
    const stillMsOf = listen(workers);
    const alive: WorkerRow[] = [];
    let found: InboxStats["standstill"];
    let lookAgainMs = Infinity;
    const still: number[] = [];
    for (const one of workers) {
      const { id, present } = one;
      if (id === me) {
        alive.push(one);
        continue;
      }
      const stillMs = stillMsOf(one);
      const isDead = stillMs >= leaseMs || (present && stillMs >= goneMs && (await isGone(id)));
      if (isDead && (await declareDead(one))) continue;
      const why = await insist(one, stillMs).catch(failed);
      found ??= why ?? undefined;
      alive.push(one);
      if (stillMs >= STILL_MS) still.push(id);
      const due = (present ? [goneMs, leaseMs] : [leaseMs]).find((ms) => ms > stillMs);
      if (due !== undefined) lookAgainMs = Math.min(lookAgainMs, due - stillMs);
    }
    standing = found;
    return { workers: alive, lookAgainMs, still };
  }

  /** No clock crosses machines: it changes nothing unless the heart still stands where it stood. */
  async function takeOver(worker: number, beat: number | null, died: boolean): Promise<boolean> {
    const values = [worker, beat, now(), died];
    const row = await oneRow<{ taken: boolean }>(pool, `select ${ident()}.take_over($1, $2, $3, $4) as taken`, values);
    return row.taken;
  }

  return {
    async register(handled) {
      return oneRow<Registration>(
        pool,
        `insert into ${ident()}.worker (handled) values ($1) returning id, ${SERVER} as server, ${DATABASE} as database`,
        [handled === null ? null : JSON.stringify(handled)],
      );
    },
    async tick(me, { leaving: given, ages, isPresent, isStopping, lacksNothing }) {
      const leaving = isStopping ? ALL_SHARDS : given;
      if (isStopping) await shares.refuseAll(me);
      const workers = await findAlive(me);
      if (workers.some(({ id, present }) => id === me && present !== isPresent))
        await pool.query(`update ${ident()}.worker set present = $2 where id = $1`, [me, isPresent]);
      if (lacksNothing && !isStopping && workers.some(({ id, refuses }) => id === me && refuses))
        await shares.refuseNone(me);
      const { still, ...seenNow } = await lookAt(workers, me);
      await pool.query(`select ${ident()}.free_orphans()`);
      const rows = await shares.take(me, { leaving, still });
      const owned = rows.filter(({ owner }) => owner === me);
      await lookAtStranded(new Set(rows.map(({ owner }) => owner).filter((owner) => owner !== me)));
      const ids = owned.map(({ id }) => id);
      return { owned: ids, surplus: isStopping ? ids : surplusOf(owned, { leaving, ages }), ...seenNow };
    },
    async othersWork() {
      for (let first: ReadonlyMap<number, number> | undefined; ;) {
        const workers = (await findAlive()).filter(({ handled }) => !isNothing(handled));
        const stillMsOf = listen(workers);
        first ??= new Map(workers.map(({ id, beat }) => [id, beat]));
        if (workers.some(({ id, beat }) => first?.get(id) !== beat)) return true;
        if (workers.every((one) => stillMsOf(one) >= leaseMs)) return false;
        await sleep(LISTEN_MS);
      }
    },
    async leave(worker, died) {
      [standing, stranding] = [undefined, undefined];
      await takeOver(worker, null, died);
    },
    standstill: () => standing ?? stranding,
  };
}
