import {
  toStored,
  type InboxJobs,
  type JobError,
  type JobQuery,
  type JobSelection,
  type StoredJob,
} from "../../../src/adapter.ts";
import type { Commits } from "./commits.ts";
import type { FoundJob } from "./find.ts";
import type { JobRow } from "./messages.ts";
import { toDelivery } from "./records.ts";

export interface SqliteJobsParts {
  readonly commits: Commits;
  /** New jobs, of which this process may have to know. */
  readonly made: (rows: readonly JobRow[]) => void;
  /** Jobs that are gone from the file; what ran of them is lost. */
  readonly gone: (ids: readonly number[]) => void;
}

/** Changed in one commit, so that no other waits long. */
const PAGE = 200;

/** Looking into the file, and changing it by hand. */
export function sqliteJobs({ commits, made, gone }: SqliteJobsParts): InboxJobs {
  /** In order, a range of ids a commit. */
  async function* found(query: JobQuery, after = 0): AsyncGenerator<FoundJob> {
    for (let next: number | undefined = after; next !== undefined;) {
      const page: { readonly jobs: readonly FoundJob[]; readonly next: number | undefined } = await commits.add(
        "find",
        next,
      );
      for (const job of page.jobs) if (matches(job, query)) yield job;
      next = page.next;
    }
  }

  async function selected(selection: JobSelection): Promise<number[]> {
    if ("ids" in selection) return [...new Set(selection.ids)].map(Number).filter(Number.isSafeInteger);
    const ids: number[] = [];
    for await (const { id } of found(selection)) ids.push(id);
    return ids;
  }

  return {
    async find({ after, limit, ...query }) {
      const jobs: StoredJob[] = [];
      for await (const job of found(query, Number(after ?? 0))) {
        if (jobs.length === limit) return { jobs, next: String(jobs.at(-1)?.id) };
        jobs.push(toStoredJob(job));
      }
      return { jobs };
    },
    async get(id) {
      const after = Number(id) - 1;
      if (!Number.isSafeInteger(after) || after < 0) return undefined;
      const job = (await commits.add("find", after)).jobs.find((one) => one.id === after + 1);
      if (job === undefined) return undefined;
      const row = (await commits.add("copyOf", job.id)) ?? (await commits.add("deliveries", [job.delivery]))[0];
      if (row === undefined) return undefined;
      return { job: toStoredJob(job), delivery: toStored(String(job.delivery), toDelivery(row)) };
    },
    async replay(selection) {
      let count = 0;
      for (const ids of pages(await selected(selection))) {
        const rows = await commits.add("replay", ids);
        made(rows);
        count += rows.length;
      }
      return count;
    },
    async drop(selection) {
      let count = 0;
      for (const ids of pages(await selected(selection))) {
        const dropped = await commits.add("drop", ids);
        gone(dropped);
        count += dropped.length;
      }
      return count;
    },
    async erase(accountId) {
      let count = 0;
      for (let after: number | undefined = 0; after !== undefined;) {
        const erased: { jobs: readonly number[]; unexpanded: number; next: number | undefined } = await commits.add(
          "erase",
          { accountId, after },
        );
        gone(erased.jobs);
        count += erased.jobs.length + erased.unexpanded;
        after = erased.next;
      }
      return count;
    },
    async unhandled({ after, limit }) {
      const rows = await commits.add("unhandled", { after: Number(after ?? 0), limit });
      return rows.map((row) => ({
        id: String(row.id),
        event: undefined,
        entry: row.entry,
        consumer: row.consumer ?? undefined,
        delivery: toDelivery(row),
      }));
    },
    async reopen(replacements) {
      for (const { id, jobs } of replacements) made(await commits.add("reopen", { id: Number(id), jobs }));
    },
  };
}

function* pages(ids: readonly number[]): Generator<readonly number[]> {
  for (let first = 0; first < ids.length; first += PAGE) yield ids.slice(first, first + PAGE);
}

function matches(job: FoundJob, query: JobQuery): boolean {
  const { states, types, accountId, subscription, consumer, receivedAfter, receivedBefore } = query;
  return (
    (states === undefined || states.includes(job.state)) &&
    (types === undefined || types.includes(job.type)) &&
    (accountId === undefined || job.account === accountId) &&
    (subscription === undefined || job.subscription === subscription) &&
    (consumer === undefined || job.consumer === consumer) &&
    (receivedAfter === undefined || job.receivedAt > receivedAfter) &&
    (receivedBefore === undefined || job.receivedAt < receivedBefore)
  );
}

function toStoredJob(job: FoundJob): StoredJob {
  return {
    id: String(job.id),
    deliveryId: String(job.delivery),
    entry: job.entry,
    state: job.state,
    event: undefined,
    consumer: job.consumer ?? undefined,
    lane: job.lane ?? undefined,
    attempts: job.attempts,
    error: job.error === null ? undefined : (JSON.parse(job.error) as JobError),
    receivedAt: job.receivedAt,
    runAt: job.runAt ?? undefined,
    settledAt: job.settledAt ?? undefined,
    replayOf: job.replayOf === null ? undefined : String(job.replayOf),
  };
}
