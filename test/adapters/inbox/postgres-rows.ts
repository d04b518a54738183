import { expect } from "vitest";
import type { InboxJobs, JobQuery } from "../../../src/adapter.ts";
import { eventually } from "../../support/eventually.ts";
import type { Tables } from "./postgres-tables.ts";

export async function idsOf(jobs: InboxJobs, query: JobQuery = {}): Promise<string[]> {
  return (await jobs.find({ ...query, limit: 10_000 })).jobs.map(({ id }) => id);
}

export async function statesOf(jobs: InboxJobs, query: JobQuery = {}): Promise<string[]> {
  return (await jobs.find({ ...query, limit: 10_000 })).jobs.map(({ state }) => state);
}

export async function removals({ pool, ident }: Tables): Promise<string[]> {
  const rows = await pool.query<{ job: number }>(`select unnest(jobs) as job from ${ident}.removal order by 1`);
  return rows.map(({ job }) => String(job));
}

export async function countIn({ pool, ident }: Tables, table: string): Promise<number> {
  const [row] = await pool.query<{ count: number }>(`select count(*) as count from ${ident}.${table}`);
  return row?.count ?? -1;
}

export async function waitsForLock({ pool }: Tables, sessions = 1): Promise<void> {
  await eventually(async () => {
    const waiting = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    expect((await pool.query(waiting)).length).toBeGreaterThanOrEqual(sessions);
  });
}
