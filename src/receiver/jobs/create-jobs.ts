import type { Clock } from "../../clock.ts";
import { eventIn, toJob } from "../../dispatch/calls/job-view.ts";
import { UsageError } from "../../errors.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { InboxJobs, Job, StoredJob } from "../../inbox/port/jobs.ts";
import type { Logger } from "../../logger.ts";
import { parseDocument } from "../../protocol/envelope.ts";
import type { Id, SingleEvent } from "../../protocol/event-types.ts";
import {
  assertAccount,
  assertFields,
  assertId,
  DROP_OPTIONS,
  REPLAY_OPTIONS,
  toPage,
  toSelection,
} from "./job-arguments.ts";
import { createJobPages } from "./job-pages.ts";
import type { Jobs } from "./jobs-types.ts";

export interface ReceiverJobs {
  /** `receiver.jobs`. */
  readonly verbs: Jobs;
  /** The receiver closes: a replay or drop in progress ends after its current page. */
  stop(): void;
}

export interface ReceiverJobsDeps {
  /** Undefined where it has no working half. */
  readonly inbox: WorkingInbox | undefined;
  /** Resolves when the inbox is open. */
  readonly opened: () => Promise<void>;
  /** @throws ClosedError `closed` */
  readonly assertOpen: () => void;
  /** Called after all of an account was erased. */
  readonly erased: (accountId: Id) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createJobs({ inbox, opened, assertOpen, erased, clock, log }: ReceiverJobsDeps): ReceiverJobs {
  const pages = createJobPages(clock);

  async function open(): Promise<InboxJobs> {
    assertOpen();
    if (inbox === undefined)
      throw new UsageError("inbox-cannot-work", "This inbox only forwards deliveries: it holds no jobs.", {
        fix: "Look into the queue behind it; `memoryInbox()` and other inboxes that work have jobs.",
      });
    await opened();
    assertOpen();
    return inbox.jobs;
  }

  const verbs: Jobs = {
    async list(filter = {}) {
      const query = toPage(filter);
      const stored = await open();
      const { jobs, next } = await stored.find(query);
      return { jobs: await toJobs(stored, jobs), ...(next === undefined ? {} : { next }) };
    },
    async get(id) {
      assertId("get", id);
      const found = await (await open()).get(id);
      if (found === undefined) return undefined;
      const { job, delivery } = found;
      return { ...toJob(job, job.event ?? eventIn(documentOf(delivery), job.entry)), delivery };
    },
    async replay(selection, options = {}) {
      const selected = toSelection("replay", selection);
      assertFields("replay", options, REPLAY_OPTIONS);
      const { perSecond = Infinity, dryRun = false } = options;
      const stored = await open();
      if (dryRun) return { count: await pages.count(stored, selected, "replay") };
      const count = await pages.replay(stored, selected, perSecond);
      log.info({ code: "jobs-replayed", count }, "receiver.jobs.replay() replayed jobs");
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
      const count = await (await open()).erase(accountId);
      erased(accountId);
      log.info({ code: "account-erased", accountId, count }, "all jobs and deliveries of an account were erased");
      return { count };
    },
  };
  return { verbs, stop: pages.stop };
}

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
        const document = documentOf(found.delivery);
        for (const one of [job, ...others]) if (one !== undefined) events.set(one, eventIn(document, one.entry));
        return undefined;
      }),
    );
  }
  if (missed.length > 0) for (const [job, event] of await readEvents(inbox, missed)) events.set(job, event);
  return events;
}

function documentOf({ bodyBase64 }: { readonly bodyBase64: string }): ReturnType<typeof parseDocument> {
  return parseDocument(Buffer.from(bodyBase64, "base64"));
}
