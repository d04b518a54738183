import { StorageError, type InboxHost, type WorkingInbox } from "../../../src/adapter.ts";
import { forOneReceiver } from "../../../src/inbox/one-receiver.ts";
import { inTransactions } from "./connection/impatient.ts";
import { openPools, type Pools } from "./connection/open-pools.ts";
import type { Pool, Route } from "./connection/pool.ts";
import { assertServer } from "./connection/server-checks.ts";
import { createPresence } from "./connection/presence.ts";
import { createLossLog } from "./loss-log.ts";
import { createPostgresJobs } from "./jobs/admin.ts";
import { prepareSchema } from "./schema/migrate.ts";
import { SHARDS } from "./schema/tables.ts";
import { createIncoming } from "./store/store-deliveries.ts";
import { foldEndedCounts, MOST_UNFOLDED } from "./schema/ended-counts.ts";
import { createWriter } from "./store/writer.ts";
import { createCounts } from "./upkeep/counts.ts";
import { ensureDays } from "./upkeep/day-partitions.ts";
import { createPostgresGaps } from "./upkeep/gaps.ts";
import { createPostgresKeyValues } from "./upkeep/key-values.ts";
import { findLiveWorkers } from "./workers/list-workers.ts";
import { DEFAULT_GONE_MS } from "./work/intervals.ts";
import { createPostgresSubscriptions, createUnsubscribeCount } from "./upkeep/subscriptions.ts";
import { createUpkeep } from "./upkeep/retention.ts";
import { createPostgresPauses } from "./upkeep/pauses.ts";
import { createPostgresTombstones, LOOK_MS } from "./upkeep/tombstones.ts";
import { watchOthers } from "./upkeep/watch-others.ts";
import { createPostgresWorker } from "./work/postgres-worker.ts";

/** Options of an inbox in PostgreSQL without the defaults of `postgresInbox`. */
export interface PostgresOptions {
  /** What `new pg.Pool()` takes. */
  readonly connection: Readonly<Record<string, unknown>>;
  /** Past a pooler of transactions. @default the connection */
  readonly directConnection?: Readonly<Record<string, unknown>> | undefined;
  readonly schema: string;
  /** The schema's own name, whatever the receiver's is. */
  readonly whole?: string | undefined;
  readonly migrate: boolean;
  readonly leaseMs: number;
  /** How long the heart of a process whose connection is gone must stand still. @default 1250 */
  readonly goneMs?: number | undefined;
  readonly keepDoneMs: number;
  readonly keepUnhandledMs: number;
  readonly keepDeadMs: number;
  readonly keepBodies: "retention" | "until-done";
  readonly maxJobs: number;
}

/** A store that failed says so long that the next may fail, too; unless one succeeds. Nothing more may come while this process is not ready. */
const FAILED_MS = 10_000;

/** Between two looks at what other processes changed. */
const WATCH_MS = 1_000;

/** The port on a PostgreSQL server: tables are the truth, the lanes of a shard are in the memory of the process that owns it. */
export function createPostgresInbox(options: PostgresOptions): WorkingInbox<"network"> {
  const {
    connection,
    directConnection = connection,
    schema,
    whole,
    migrate,
    leaseMs,
    goneMs = DEFAULT_GONE_MS,
    maxJobs,
  } = options;
  let host: InboxHost | undefined;
  let pools: Pools | undefined;
  let schemaIdent = "";
  let failure: { readonly error: StorageError; readonly at: number } | undefined;
  const route: Route = { changes: 0 };
  const notOpen = new StorageError("storage-failed", "The inbox is not open.");

  const now = (): number => openHost().clock.now();
  const ident = (): string => schemaIdent;

  function openHost(): InboxHost {
    if (host === undefined) throw notOpen;
    return host;
  }

  /** One that stands for what it is when it is used. */
  function poolOf(name: keyof Pools): Pool {
    const open = (): Pool => {
      if (pools === undefined) throw notOpen;
      return pools[name];
    };
    return {
      query: async (text, values) => open().query(text, values),
      transaction: async (run) => open().transaction(run),
      close: async () => pools?.[name].close(),
      unref: () => pools?.[name].unref(),
    };
  }

  const [store, steps, other] = [poolOf("store"), poolOf("steps"), poolOf("other")];
  const [looks, side] = [inTransactions(poolOf("looks")), inTransactions(poolOf("side"))];
  /** What is looked at each second, and seldom written. */
  const seldomWritten: Pool = { ...other, transaction: side.transaction };
  const writer = createWriter({ pool: store, ident, now, ensureDays: (queries) => ensureDays(queries, ident()) });
  const known = createCounts({ pool: other, ident, leaseMs });
  const worker = createPostgresWorker({
    ident,
    host: openHost,
    steps,
    pool: other,
    leaseMs,
    goneMs,
    maxJobs,
    presence: createPresence(directConnection, ident, route),
    ended(states) {
      for (const state of states) known.counts[state] += 1;
    },
  });
  const loss = createLossLog(() => openHost().log);
  const tombstones = createPostgresTombstones({ ident, pool: seldomWritten, now });
  const subscriptions = createPostgresSubscriptions({ ident, pool: seldomWritten });
  const pauses = createPostgresPauses({ ident, pool: seldomWritten, looks, now });

  async function closePools(): Promise<void> {
    const open = pools;
    pools = undefined;
    await Promise.all(Object.values(open ?? {}).map((one: Pool) => one.close()));
  }

  /** What one process does for all. */
  const isMine = (): boolean => worker.expander() !== undefined;

  const upkeep = createUpkeep({
    ident,
    pool: other,
    host: openHost,
    options,
    isLeader: isMine,
    expired: (jobs) => void (known.counts.expired += jobs),
  });

  /** The server is there, or not, by what was not a store. */
  function answered(error?: unknown): void {
    if (error instanceof StorageError) failure = { error, at: -Infinity };
    else if (error === undefined && failure !== undefined && Math.abs(now() - failure.at) >= FAILED_MS)
      failure = undefined;
  }

  /** Before it is so, no job starts: one that is paused must not. */
  let arePausesKnown = false;

  async function refreshPauses(): Promise<void> {
    const isNew = await pauses.refresh();
    arePausesKnown = true;
    if (isNew) worker.wake();
  }

  const watch = watchOthers({
    host: openHost,
    pool: other,
    looks: [
      { everyMs: LOOK_MS, refreshes: [tombstones.refresh] },
      { everyMs: WATCH_MS, refreshes: [subscriptions.refresh, refreshPauses, known.look], answered },
    ],
  });

  const openAndClose = forOneReceiver({
    name: "PostgreSQL inbox",
    make: "postgresInbox(connection)",
    async open(given) {
      host = given;
      pools = openPools(connection, { leaseMs, route });
      try {
        await assertServer(other);
        schemaIdent = await prepareSchema(other, { schema, whole, name: given.name, migrate, log: given.log });
        await ensureDays(other, ident());
        arePausesKnown = false;
        await watch.begin();
        // A role or a server may be at its limit of connections: whoever is ready has the one that stores.
        await store.transaction((queries) => queries.query("select"));
      } catch (error) {
        watch.end();
        await closePools();
        throw error;
      }
      upkeep.begin();
    },
    async close() {
      watch.end();
      upkeep.end();
      await writer.drained();
      await worker.leave();
      await closePools();
    },
  });

  const inbox: WorkingInbox<"network"> = {
    storage: "network",
    ...openAndClose,
    tombstones,
    allowUnsubscribe: createUnsubscribeCount(side, ident),
    subscriptions,
    gaps: createPostgresGaps({ ident, pool: side, isMine }),
    pauses,
    ready: () => (failure === undefined ? { ready: true } : { ready: false, error: failure.error }),
    unref() {
      worker.unref();
      for (const one of Object.values(pools ?? {}) as Pool[]) one.unref();
    },

    work: worker.work,
    stopWork: worker.stopWork,
    othersWork: worker.othersWork,
    leave: worker.leave,
    ...createIncoming({
      pool: other,
      ident,
      writer,
      worker,
      now,
      dedupeWindowMs: () => openHost().dedupeWindowMs,
      noted({ unexpanded = 0, oldestUnexpandedAt, unhandled = 0, hasNotices = false }) {
        known.counts.unexpanded += unexpanded;
        known.counts.oldestUnexpandedAt = oldestUnexpandedAt;
        known.counts.unhandled += unhandled;
        if (hasNotices) void subscriptions.refresh().catch(() => {});
      },
      stored: (error) => (failure = error && { error, at: now() }),
      loss,
    }),
    liveWorkers: () => findLiveWorkers(other, ident(), worker.others()?.me),
    async claim(limits) {
      if (!arePausesKnown) await refreshPauses();
      return worker.claim(limits);
    },
    settle: worker.settle,
    transactional: worker.transactional,
    jobs: createPostgresJobs({
      ident,
      pool: looks,
      writer,
      looksAt: worker.looksAt,
      loss,
      // What fails here upkeep does.
      fold: () => void looks.query(foldEndedCounts(ident(), MOST_UNFOLDED)).catch(() => {}),
      async changed() {
        await Promise.all([worker.changed(), watch.look()]);
      },
    }),
    keyValues: createPostgresKeyValues({ ident, pool: side }),
    stats() {
      const here = worker.stats();
      const { open, oldestUnexpandedAt, oldestWaitingAt, workersAlive, ...rest } = known.counts;
      const share = worker.share();
      const unread = watch.failure();
      const isKnown = here !== undefined && worker.isAllLoaded();
      const own = here ?? { waiting: open, running: 0, blockedLanes: 0, oldestWaitingAt: undefined };
      // What is not in memory waits as well: as much of the whole as this process has of the lanes.
      const waiting = isKnown
        ? own.waiting
        : Math.max(own.waiting, Math.round(open * (here ? share : 1)) - own.running);
      // Of the whole, as of the last look, too: what the tables have and the memory lacks would wait unseen.
      const all = [oldestUnexpandedAt, oldestWaitingAt, own.oldestWaitingAt];
      const oldest = Math.min(...all.map((at) => at ?? Infinity));
      const alive = Math.max(workersAlive, here === undefined ? 0 : 1);
      return {
        ...rest,
        ...own,
        waiting,
        unexpanded: Math.max(rest.unexpanded, worker.hasUnexpanded() ? 1 : 0),
        oldestWaitingAt: oldest === Infinity ? undefined : oldest,
        isWorkedOn: alive > 0,
        isFull: worker.isFull(),
        workers: { alive, share, shards: share * SHARDS },
        standstill: worker.standstill(),
        ...(unread === undefined ? {} : { failure: unread }),
      };
    },
    // A floor that holds with every setting: who has fsync off is refused, and a commit that would not wait is made to. No setting says that
    // it is a quorum: a role may not wait for the standbys that are named, and which server a fail-over promotes is not the server's to say.
    capabilities: { durability: "fsync", order: "valid-claims", shared: true, workers: "many" },
  };
  return inbox;
}
