import { createTrustedTime } from "../../../../src/inbox/upkeep/retention.ts";
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

/** Two, as the processes and the server have clocks of their own. Each is trusted as `createTrustedTime` says. */
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
    /* sql */ `select (select value from ${ident}.meta where key = 'retention') as saved,
       greatest((select received_at from ${ident}.delivery where day = $1 order by id desc limit 1), (select max(seen_at) from ${ident}.dedupe)) as stamp`,
    [newestDay ?? -1],
  );
  const saved =
    row?.saved == null ? {} : (JSON.parse(row.saved) as { readonly stamps?: number; readonly days?: number });
  /** As they were asked for last. */
  const clocks = { stamps: stampNow, days: serverNow };
  const stamps = createTrustedTime(() => clocks.stamps, saved.stamps ?? row?.stamp ?? undefined);
  const days = createTrustedTime(
    () => clocks.days,
    saved.days ?? (newestDay === undefined ? undefined : newestDay * DAY_MS),
  );
  return {
    stamps(now) {
      clocks.stamps = now;
      return stamps.now();
    },
    days(now) {
      clocks.days = now;
      return days.now();
    },
    pass(ms) {
      stamps.pass(ms);
      days.pass(ms);
    },
    async save() {
      await queries.query(
        `insert into ${ident}.meta values ('retention', $1) on conflict (key) do update set value = excluded.value`,
        [JSON.stringify({ stamps: stamps.reached, days: days.reached })],
      );
    },
  };
}
