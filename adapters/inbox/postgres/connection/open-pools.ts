import { createPool, type Pool, type PoolOptions, type Route } from "./pool.ts";

/** What deliveries and handlers do not need gives up so soon where others hold a lock. */
const LOCK_MS = 1_000;

/** The connections of a process. */
export interface Pools {
  readonly store: Pool;
  readonly steps: Pool;
  readonly other: Pool;
  /** Gaps, the limit on unsubscribes, texts of other modules, and what is written for people: who waits for a lock here keeps no connection from the work. */
  readonly side: Pool;
  /** What people ask may wait for locks, or read much: it keeps no connection from what deliveries and handlers wait for. */
  readonly looks: Pool;
}

/** How many connections each has, and what it waits for. They open when they are first used. */
export function openPools(
  connection: PoolOptions["connection"],
  { leaseMs, route }: { readonly leaseMs: number; readonly route: Route },
): Pools {
  const pool = (name: string, max: number, rest?: Pick<PoolOptions, "answerMs" | "lockMs">): Pool =>
    createPool({ connection, max, applicationName: `hookline ${name}`, route, ...rest });
  return {
    store: pool("store", 1, { lockMs: LOCK_MS }),
    // A step that takes longer than the lease is too late.
    steps: pool("work", 1, { answerMs: leaseMs }),
    other: pool("other", 2),
    side: pool("side", 1, { lockMs: LOCK_MS }),
    looks: pool("looks", 1, { lockMs: LOCK_MS }),
  };
}
