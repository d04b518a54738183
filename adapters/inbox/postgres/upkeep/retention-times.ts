import type { Queries } from "../connection/pool.ts";

export const DAY_MS: number = 24 * 60 * 60 * 1_000;

/** The times by which things are too old to be stored. */
export interface RetentionTimes {
  /** By the clock of the processes, which stamps rows, milliseconds since the epoch. */
  stamps(now: number): number;
  /** By the clock of the server, which says into which day a delivery goes. */
  days(now: number): number;
  /** So much of them passes by the timers: no setting of a clock moves those. */
  pass(ms: number): void;
  /** Whoever does this next goes on there. */
  save(): Promise<void>;
}

/** How much faster than time itself: a month without a process is caught up with in twelve hours. */
const CATCH_UP = 60;

/**
 * Never ahead of the clocks, and they do not jump ahead with them: they begin where the last process was, or at the newest of what is stored, and
 * catch up. A clock that is set a year ahead by mistake makes things too early old by one hour each minute, until it is set right; a
 * restart meanwhile does not believe it, although the newest rows are of that time. They go back to a clock that is behind as slowly: one
 * process whose clock begins in 1970 at its boot delays all of them by an hour for each minute until that is set.
 */
export async function openRetentionTimes(
  queries: Queries,
  ident: string,
  {
    newestDay,
    stampNow,
    serverNow,
  }: { readonly newestDay: number | undefined; readonly stampNow: number; readonly serverNow: number },
): Promise<RetentionTimes> {
  const [row] = await queries.query<{ saved: string | null; stamp: number | null }>(
    `select (select value from ${ident}.meta where key = 'retention') as saved,
       greatest((select received_at from ${ident}.delivery where day = $1 order by id desc limit 1), (select max(seen_at) from ${ident}.dedupe)) as stamp`,
    [newestDay ?? -1],
  );
  const saved =
    row?.saved == null ? {} : (JSON.parse(row.saved) as { readonly stamps?: number; readonly days?: number });
  let stamps = saved.stamps ?? row?.stamp ?? stampNow;
  let days = saved.days ?? (newestDay === undefined ? serverNow : newestDay * DAY_MS);
  /** As they were asked for last. */
  const clocks = { stamps: stampNow, days: serverNow };
  return {
    stamps: (now) => Math.min(stamps, (clocks.stamps = now)),
    days: (now) => Math.min(days, (clocks.days = now)),
    pass(ms) {
      const step = ms * CATCH_UP;
      stamps = Math.max(Math.min(stamps, clocks.stamps) + step, stamps - step);
      days = Math.max(Math.min(days, clocks.days) + step, days - step);
    },
    async save() {
      await queries.query(
        `insert into ${ident}.meta values ('retention', $1) on conflict (key) do update set value = excluded.value`,
        [JSON.stringify({ stamps, days })],
      );
    },
  };
}
