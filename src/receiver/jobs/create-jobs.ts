import { eventOf, toJob } from "../../dispatch/calls/job-view.ts";
import type { StorageKind, WorkingInbox } from "../../inbox/port/inbox.ts";
import type { InboxJobs, Job, StoredJob } from "../../inbox/port/jobs.ts";
import type { Logger } from "../../logger.ts";
import type { Id, SingleEvent } from "../../protocol/event-types.ts";
import {
  assertAccount,
  assertFields,
  assertId,
  DROP_OPTIONS,
  REPLAY_OPTIONS,
  toCounted,
  toPage,
  toSelection,
} from "./job-arguments.ts";
import type { JobPages } from "./job-pages.ts";
import type { Jobs, Remaining } from "./jobs-types.ts";
import { summarize } from "./summarize.ts";

export interface ReceiverJobsDeps {
  /**
   * Opens the inbox.
   * @throws UsageError `inbox-cannot-work`; ClosedError `closed`
   */
  readonly open: () => Promise<WorkingInbox>;
  readonly storage: StorageKind;
  readonly pages: JobPages;
  /** Called after all of an account was erased. */
  readonly erased: readonly ((accountId: Id) => void)[];
  readonly log: Logger;
}

/** `receiver.jobs`. */
export function createJobs({ open: openInbox, storage, pages, erased, log }: ReceiverJobsDeps): Jobs {
  const open = async (): Promise<InboxJobs> => (await openInbox()).jobs;

  return {
    async list(filter = {}) {
      const query = toPage(filter);
      const stored = await open();
      const { jobs, next } = await stored.find(query);
      return { jobs: await toJobs(stored, jobs), ...(next === undefined ? {} : { next }) };
    },
    async summary(filter = {}) {
      const query = toCounted(filter);
      const stored = await open();
      return (await stored.summary?.(query)) ?? summarize(pages, stored, query);
    },
    async get(id) {
      assertId("get", id);
      const found = await (await open()).get(id);
      if (found === undefined) return undefined;
      const { job, delivery } = found;
      return { ...toJob(job, job.event ?? eventOf(delivery)(job.entry)), ...(delivery && { delivery }) };
    },
    async replay(selection, options = {}) {
      const selected = toSelection("replay", selection);
      assertFields("replay", options, REPLAY_OPTIONS);
      const { perSecond = Infinity, dryRun = false } = options;
      const stored = await open();
      if (dryRun) return { count: await pages.count(stored, selected, "replay") };
      const { count, lacksBodies } = await pages.replay(stored, selected, perSecond);
      log.info({ code: "jobs-replayed", count }, "receiver.jobs.replay() replayed jobs");
      if (lacksBodies)
        log.warn(
          { code: "body-deleted", count },
          "jobs were not replayed: `keepBodies` has deleted what they were made of",
        );
      return { count };
    },
    async drop(selection, options = {}) {
      const selected = toSelection("drop", selection);
      assertFields("drop", options, DROP_OPTIONS);
      const stored = await open();
      if (options.dryRun === true) return { count: await pages.count(stored, selected, "drop") };
      const count = await pages.drop(stored, selected);
      log.info({ code: "jobs-dropped", count }, "receiver.jobs.drop() dropped jobs");
      return { count };
    },
    async erase(accountId) {
      assertAccount("erase", accountId);
      const rows = await (await open()).erase(accountId);
      for (const each of erased) each(accountId);
      const { count } = rows;
      log.info({ code: "account-erased", accountId, count }, "all jobs and deliveries of an account were erased");
      return { ...rows, remaining: REMAINING[storage].map((where) => ({ where })) };
    },
  };
}

/** Where an erasure does not reach. PostgreSQL overwrites nothing by itself; SQLite does, before the call resolves. */
const REMAINING: Readonly<Record<StorageKind, readonly Remaining["where"][]>> = {
  memory: ["queue", "log"],
  disk: ["backups", "queue", "log"],
  network: ["wal", "backups", "queue", "log"],
};

/** Leaves out jobs that were removed since they were found. */
async function toJobs(inbox: InboxJobs, stored: readonly StoredJob[]): Promise<Job[]> {
  const read = await readEvents(
    inbox,
    stored.filter(({ event }) => event === undefined),
  );
  return stored.flatMap((job) => {
    const event = job.event ?? read.get(job);
    return event === undefined ? [] : [toJob(job, event)];
  });
}

/** Deliveries read at once: their bodies are in memory together. */
const READ_AT_ONCE = 50;

/** The events of jobs, without those of removed ones. Reads each delivery once: it may have a thousand jobs. */
export async function readEvents(
  inbox: Pick<InboxJobs, "get">,
  jobs: readonly StoredJob[],
): Promise<Map<StoredJob, SingleEvent>> {
  const events = new Map<StoredJob, SingleEvent>();
  const groups = [...Map.groupBy(jobs, ({ deliveryId }) => deliveryId).values()];
  const missed: StoredJob[] = [];
  for (let first = 0; first < groups.length; first += READ_AT_ONCE) {
    await Promise.all(
      groups.slice(first, first + READ_AT_ONCE).map(async ([job, ...others]) => {
        const found = job && (await inbox.get(job.id));
        // Only this job is known to be removed since it was found.
        if (found === undefined) return missed.push(...others);
        const eventAt = eventOf(found.delivery);
        for (const one of [job, ...others]) if (one !== undefined) events.set(one, eventAt(one.entry));
        return undefined;
      }),
    );
  }
  if (missed.length > 0) for (const [job, event] of await readEvents(inbox, missed)) events.set(job, event);
  return events;
}
