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
  type SingleEvent,
  type StoredBlocked,
  type StoredJob,
} from "../../../../src/adapter.ts";
import { findStored, toId, toStoredJob as asStoredJob } from "../../../../src/inbox/jobs/found-jobs.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { FileJob } from "./find-jobs.ts";
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
    find: (query) =>
      findStored(
        query,
        async (input) => {
          if (!isOpen()) throw new StorageError("storage-failed", "The inbox was closed while jobs were looked for.");
          return commits.add("find", input);
        },
        toStoredJob,
      ),
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
      const number = toId(id);
      if (number === undefined) return undefined;
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
      const made = replacements.map(({ id, jobs, event }) => ({
        id: Number(id),
        jobs,
        origin: event && toOrigin(event),
      }));
      requests.append(await commits.add("reopen", made));
    },
  };
}

function onceEach(selection: JobSelection): JobSelection {
  return "ids" in selection ? { ids: [...new Set(selection.ids)] } : selection;
}

const toStoredJob = (job: FileJob): StoredJob => asStoredJob(job, toJobError(job.error));

const toOrigin = ({
  type,
  accountId,
  subscription,
}: SingleEvent): Pick<FileJob, "type" | "account" | "subscription"> => ({
  type,
  account: accountId ?? null,
  subscription: subscription ?? null,
});
