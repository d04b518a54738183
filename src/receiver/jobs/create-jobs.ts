import type { Clock } from "../../clock.ts";
import { toJob, eventIn } from "../../dispatch/job-view.ts";
import { UsageError } from "../../errors.ts";
import type { StoredDelivery } from "../../inbox/port/delivery.ts";
import type { Job } from "../../inbox/port/job.ts";
import type { InboxJobs, StoredJob } from "../../inbox/port/jobs.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { Logger } from "../../logger.ts";
import { parseDocument, type Document } from "../../protocol/envelope.ts";
import { assertAccount, assertFields, assertId, DRY_CHECKS, PACE_CHECKS } from "./job-checks.ts";
import { createJobPages } from "./job-pages.ts";
import { toPage, toSelection } from "./job-selection.ts";
import type { Jobs } from "./jobs-types.ts";
import { createSleeper } from "../sleep.ts";
import { readEvents } from "./read-events.ts";

/** The hands to look inside, and their end. */
export interface ReceiverJobs {
  readonly jobs: Jobs;
  /** The receiver closes: what goes on page by page ends at the next one. */
  stop(): void;
}

export interface ReceiverJobsParts {
  /** Undefined where it has no working half. */
  readonly inbox: WorkingInbox | undefined;
  /** Resolves when the inbox is open. */
  readonly opened: () => Promise<void>;
  /** @throws ClosedError `closed` */
  readonly assertOpen: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export function createJobs({ inbox, opened, assertOpen, clock, log }: ReceiverJobsParts): ReceiverJobs {
  const pauses = createSleeper(clock);
  const pages = createJobPages(pauses);

  async function open(): Promise<InboxJobs> {
    assertOpen();
    if (inbox === undefined)
      throw new UsageError("inbox-cannot-work", "This inbox only hands deliveries on: it holds no jobs.", {
        fix: "Look into the queue behind it; `memoryInbox()` and others that work have jobs.",
      });
    await opened();
    assertOpen();
    return inbox.jobs;
  }

  return {
    jobs: {
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
        assertFields("replay", options, PACE_CHECKS);
        const { perSecond = Infinity, dryRun = false } = options;
        const stored = await open();
        if (dryRun) return { count: await pages.count(stored, selected, "replay") };
        const count = await pages.replay(stored, selected, perSecond);
        log.info({ code: "jobs-replayed", count }, "jobs were replayed by hand");
        return { count };
      },
      async drop(selection, options = {}) {
        const selected = toSelection("drop", selection);
        assertFields("drop", options, DRY_CHECKS);
        const stored = await open();
        if (options.dryRun === true) return { count: await pages.count(stored, selected, "drop") };
        const count = await pages.drop(stored, selected);
        log.info({ code: "jobs-dropped", count }, "jobs were dropped by hand");
        return { count };
      },
      async erase(accountId) {
        assertAccount("erase", accountId);
        const count = await (await open()).erase(accountId);
        log.info({ code: "account-erased", accountId, count }, "all jobs and deliveries of an account were erased");
        return { count };
      },
    },
    stop: pauses.stop,
  };
}

/** Without those that are gone since they were found. */
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

function documentOf({ bodyBase64 }: StoredDelivery): Document {
  return parseDocument(Buffer.from(bodyBase64, "base64"));
}
