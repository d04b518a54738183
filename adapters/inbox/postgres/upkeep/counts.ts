import { impatient } from "../connection/impatient.ts";
import type { Queries } from "../connection/pool.ts";
import { isOfTable } from "../connection/classify-error.ts";
import { EXACT, readStats, type SharedStats } from "./read-stats.ts";
import { createUnpausedSearch } from "./unpaused-search.ts";

/** What this process knows of the whole, until it looks again. */
export interface KnownCounts {
  /** What it does itself, it adds. */
  readonly counts: Counts;
  look(): Promise<void>;
}

interface Counts {
  unexpanded: number;
  dead: number;
  unhandled: number;
  expired: number;
  open: number;
  oldestUnexpandedAt: number | undefined;
  /** Unexpanded or waiting. */
  oldestWaitingAt: number | undefined;
  workersAlive: number;
}

interface Heart {
  readonly beat: number;
  /** By the monotonic clock: since when it stands still. */
  readonly since: number;
}

export interface CountsDeps {
  readonly pool: Queries;
  readonly ident: () => string;
  readonly leaseMs: number;
}

export function createCounts({ pool, ident, leaseMs }: CountsDeps): KnownCounts {
  let counts: Counts = {
    unexpanded: 0,
    dead: 0,
    unhandled: 0,
    expired: 0,
    open: 0,
    oldestUnexpandedAt: undefined,
    oldestWaitingAt: undefined,
    workersAlive: 0,
  };
  /** Of the workers that are there by the tables: the row of one that was killed stays, until another one takes over from it. */
  let hearts: ReadonlyMap<number, Heart> = new Map();

  const hasty = impatient(pool);
  const findUnpaused = createUnpausedSearch(pool, ident);

  function heartOf(id: number, beat: number): Heart {
    const before = hearts.get(id);
    return before?.beat === beat ? before : { beat, since: performance.now() };
  }

  /** Where what failed cannot be counted, all else is. */
  async function read(): Promise<{ readonly stats: SharedStats; readonly failure?: unknown }> {
    try {
      return { stats: await readStats(hasty, ident()) };
    } catch (failure) {
      if (!isOfTable(failure)) throw failure;
      const { dead, unhandled } = counts;
      return { stats: { ...(await readStats(hasty, ident(), false)), dead, unhandled }, failure };
    }
  }

  return {
    get counts() {
      return counts;
    },
    async look() {
      const [{ stats, failure }, [row]] = await Promise.all([
        read(),
        hasty.query<{ at: number }>(`select received_at as at from ${ident()}.unexpanded order by delivery limit 1`),
      ]);
      const { waiting, running, beats, ...rest } = stats;
      const isPart = waiting > EXACT && stats.oldestWaitingAt === row?.at; // all jobs that were looked at are paused
      const oldest = Math.min(
        stats.oldestWaitingAt ?? Infinity,
        (isPart ? await findUnpaused() : undefined) ?? Infinity,
      );
      hearts = new Map(beats.map(([id, beat]) => [id, heartOf(id, beat)]));
      const workersAlive = [...hearts.values()].filter(({ since }) => performance.now() - since < leaseMs).length;
      counts = {
        ...rest,
        workersAlive,
        open: waiting + running,
        oldestUnexpandedAt: row?.at,
        oldestWaitingAt: oldest === Infinity ? undefined : oldest,
      };
      if (failure !== undefined) throw failure;
    },
  };
}
