import {
  countedStates,
  MOST_COUNTED,
  NOTHING_ERASED,
  StorageError,
  toStored,
  toSummary,
  type InboxJobs,
  type JobSelection,
  type Logger,
  type StoredBlocked,
  type StoredJob,
} from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { FoundJob, FoundPage } from "./find-jobs.ts";
import type { RemovedRows, UnusableRange } from "../thread/unusable-rows.ts";
import { REMOVED } from "../upkeep/body-removal.ts";
import { removeUnusable } from "../work/remove-unusable.ts";
import { toJobError } from "../thread/records.ts";
import { toDelivery } from "../work/row-encoding.ts";
import type { AdminRequestRunner } from "./run-requests.ts";

export interface FileJobsDeps {
  readonly commits: CommitQueue;
  readonly requests: Pick<AdminRequestRunner, "submit" | "append">;
  readonly refreshPauses: () => Promise<unknown>;
  readonly log: () => Logger;
  /** False once it is being closed: what has pages left ends. */
  readonly isOpen: () => boolean;
}

/** Queries and admin commands, from any process. */
export function createFileJobs({ commits, requests, refreshPauses, log, isOpen }: FileJobsDeps): InboxJobs {
  const step = (range: UnusableRange): Promise<RemovedRows> => commits.add("removeUnusable", range);

  return {
    async find({ after, limit, ...query }) {
      const jobs: StoredJob[] = [];
      let next: number | undefined = Number(after ?? (query.newestFirst === true ? Number.MAX_SAFE_INTEGER : 0));
      // A page of the file may be short, or empty: what it looks at is bounded. One job more says whether there is another page.
      while (next !== undefined && jobs.length <= limit) {
        if (!isOpen()) throw new StorageError("storage-failed", "The inbox was closed while jobs were looked for.");
        const page: FoundPage = await commits.add("find", { ...query, after: next, limit: limit + 1 - jobs.length });
        jobs.push(...page.jobs.map(toStoredJob));
        ({ next } = page);
      }
      const found = jobs.slice(0, limit);
      return jobs.length > limit ? { jobs: found, next: String(found.at(-1)?.id) } : { jobs };
    },
    async summary(query) {
      if (countedStates(query) === undefined) return undefined;
      return toSummary(await commits.add("endedGroups", { ...query, most: MOST_COUNTED }));
    },
    async blocked(query) {
      const found: StoredBlocked[] = [];
      // Others have their turn between two of them.
      for (let { after } = query; ;) {
        const { heads, end } = await commits.add("blocked", { ...query, after });
        found.push(...heads.map(({ job, behind }) => ({ job: toStoredJob(job), behind })));
        if (end === undefined || found.length >= query.limit) return found.slice(0, query.limit);
        after = end;
      }
    },
    async get(id) {
      const number = Number(id);
      if (!Number.isSafeInteger(number) || number < 1) return undefined;
      const job = await commits.add("get", number);
      const [row] = job === undefined ? [] : await commits.add("deliveries", [job.delivery]);
      if (job === undefined || row === undefined) return undefined;
      const stored = row.headers === REMOVED ? undefined : toStored(String(job.delivery), toDelivery(row));
      return { job: toStoredJob(job), delivery: stored };
    },
    replay: async (selection) => (await requests.submit({ verb: "replay", selection: onceEach(selection) })).count,
    drop: async (selection) => (await requests.submit({ verb: "drop", selection: onceEach(selection) })).count,
    async erase(accountId) {
      const selection = { accountId, erased: NOTHING_ERASED };
      const { count, erased = NOTHING_ERASED } = await requests.submit({ verb: "erase", selection });
      await refreshPauses();
      return { ...erased, count };
    },
    async unhandled({ handled, after, limit }) {
      const from = Number(after ?? 0);
      const jobs = await commits.add("findUnhandled", { handled, after: from, limit });
      const rows = await commits.add("deliveries", [...new Set(jobs.map(({ delivery }) => delivery))]);
      const deliveries = new Map(rows.map((row) => [row.id, toDelivery(row)]));
      // A page without any would be the last one.
      const last = jobs.at(-1)?.id;
      if (last !== undefined && rows.length === 0) {
        await removeUnusable({ from: "unhandled", after: from, to: last }, { step, log: log() });
        return this.unhandled({ handled, after: String(last), limit });
      }
      return jobs.flatMap(({ id, entry, consumer, delivery: of }) => {
        const delivery = deliveries.get(of); // gone where it was erased in between
        return delivery === undefined
          ? []
          : { id: String(id), event: undefined, entry, consumer: consumer ?? undefined, delivery };
      });
    },
    async reopen(replacements) {
      const made = replacements.map(({ id, jobs }) => ({ id: Number(id), jobs }));
      requests.append(await commits.add("reopen", made));
    },
  };
}

function onceEach(selection: JobSelection): JobSelection {
  return "ids" in selection ? { ids: [...new Set(selection.ids)] } : selection;
}

function toStoredJob(job: FoundJob): StoredJob {
  return {
    id: String(job.id),
    deliveryId: String(job.delivery),
    entry: job.entry,
    state: job.state,
    event: undefined,
    type: job.type,
    consumer: job.consumer ?? undefined,
    lane: job.lane ?? undefined,
    attempts: job.attempts,
    error: toJobError(job.error),
    receivedAt: job.receivedAt,
    runAt: job.runAt ?? undefined,
    settledAt: job.settledAt ?? undefined,
    replayOf: job.replayOf === null ? undefined : String(job.replayOf),
  };
}
