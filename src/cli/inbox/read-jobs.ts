import type { Job, Jobs, Selection } from "../../index.ts";
import type { Terminal } from "../command.ts";
import { grouped } from "../terminal/format.ts";
import { createTable } from "../terminal/table.ts";

/** Jobs that are read, and printed, at once. */
const PAGE_SIZE = 1_000;

/** Reads jobs page by page, so that the first are printed before the last are read. */
export async function* pagesOf(
  jobs: Jobs,
  filter: NonNullable<Parameters<Jobs["list"]>[0]>,
  limit = Infinity,
): AsyncGenerator<Awaited<ReturnType<Jobs["list"]>>> {
  let left = limit;
  let { after } = filter;
  do {
    const page = await jobs.list({ ...filter, after, limit: Math.min(left, PAGE_SIZE) });
    yield page;
    left -= page.jobs.length;
    after = page.next;
  } while (after !== undefined && left > 0);
}

/** How many jobs of a state and a type there are. */
export interface JobCount {
  readonly state: Job["state"];
  readonly type: string;
  readonly count: number;
}

/** Counts the selected jobs by state and type, the most first. */
export async function countJobs(
  jobs: Jobs,
  selection: Selection | { readonly accountId: number },
): Promise<readonly JobCount[]> {
  const counts = new Map<string, JobCount>();
  for await (const { state, event } of selected(jobs, selection)) {
    const key = `${state} ${event.type}`;
    counts.set(key, { state, type: event.type, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].toSorted((a, b) => b.count - a.count);
}

export function countLines(counts: readonly JobCount[], stream: Terminal): readonly string[] {
  if (counts.length === 0) return [];
  const rows = counts.map(({ state, type, count }) => [grouped(count), state, type]);
  return createTable(["JOBS", "STATE", "TYPE"], stream).lines(rows);
}

async function* selected(jobs: Jobs, selection: Selection | { readonly accountId: number }): AsyncGenerator<Job> {
  if (typeof selection === "string" || Array.isArray(selection)) {
    for (const id of new Set([selection].flat() as string[])) {
      const job = await jobs.get(id);
      if (job !== undefined) yield job;
    }
    return;
  }
  for await (const page of pagesOf(jobs, selection as { readonly accountId: number })) yield* page.jobs;
}
