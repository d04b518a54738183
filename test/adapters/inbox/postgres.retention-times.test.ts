import { expect, test } from "vitest";
import { openRetentionTimes } from "../../../adapters/inbox/postgres/upkeep/retention-times.ts";
import type { Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";

const NOW = Date.parse("2026-05-06T07:08:09Z");
const MINUTE_MS = 60_000;
const DECADES_MS = 50 * 365 * 24 * 60 * MINUTE_MS;

/** A database with what was saved in it. */
function saving(): Queries & { saved: string | null } {
  const database = {
    saved: JSON.stringify({ stamps: NOW, days: NOW }) as string | null,
    query: async (text: string, values: readonly unknown[] = []) => {
      if (text.includes("insert")) database.saved = String(values[0]);
      return [{ saved: database.saved, stamp: null }] as never;
    },
  };
  return database;
}

const opened = (queries: Queries, now: number) =>
  openRetentionTimes(queries, "hookline", { newestDay: undefined, stampNow: now, serverNow: now });

test("a process whose clock is decades behind for some minutes delays what others remove by hours alone", async () => {
  const database = saving();
  const behind = await opened(database, NOW - DECADES_MS);
  for (let minute = 0; minute < 10; minute += 1) {
    const now = NOW - DECADES_MS + minute * MINUTE_MS;
    expect([behind.stamps(now), behind.days(now)]).toEqual([now, now]);
    behind.pass(MINUTE_MS);
    await behind.save();
  }
  const right = await opened(database, NOW + 10 * MINUTE_MS);
  const least = NOW - 10 * 60 * MINUTE_MS;
  expect(right.stamps(NOW + 10 * MINUTE_MS)).toBe(least);
  expect(right.days(NOW + 10 * MINUTE_MS)).toBe(least);
});
