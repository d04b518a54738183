import { assertOptions, kindOf, wholeNumber, type GivenText } from "../../assert.ts";
import type { Clock } from "../../clock.ts";
import { toJob } from "../../dispatch/calls/job-view.ts";
import { UsageError } from "../../errors.ts";
import type { InboxWatch } from "../../inbox/standstill-watch.ts";
import type { Gap } from "../../inbox/port/gaps.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { BlockedQuery, InboxJobs, StoredBlocked, StoredJob } from "../../inbox/port/jobs.ts";
import type { KnownSubscription } from "../../inbox/port/subscriptions.ts";
import type { Tombstone } from "../../inbox/port/tombstones.ts";
import type { SubscriptionErrors } from "../health/subscription-errors.ts";
import { readEvents } from "../jobs/create-jobs.ts";
import type { JobPages } from "../jobs/job-pages.ts";
import type { BlockedLane, ErroredSubscriptionInfo, GapInfo, ReceiverLists, TombstoneInfo } from "./lists-types.ts";

export interface ReceiverListsDeps {
  /**
   * Opens the inbox.
   * @throws UsageError `inbox-cannot-work`; ClosedError `closed`
   */
  readonly open: () => Promise<WorkingInbox>;
  readonly pages: Pick<JobPages, "each">;
  readonly subscriptions: Pick<SubscriptionErrors, "known">;
  /** An inbox that gives no answer holds up no caller for ever. */
  readonly watch: Pick<InboxWatch, "limit">;
  readonly clock: Clock;
}

export function createLists({ open, pages, subscriptions, watch, clock }: ReceiverListsDeps): ReceiverLists {
  return {
    async blockedLanes(page = {}) {
      const where = "lists.blockedLanes";
      assertOptions(where, page, { limit: true, after: true });
      const limit = toLimit(where, page.limit);
      const after = page.after === undefined ? undefined : toPlace(where, page.after);
      const { jobs } = await open();
      const query = { now: clock.now(), after, limit: limit + 1 };
      const found =
        jobs.blocked === undefined
          ? await readBlocked(jobs, query)
          : await watch.limit("jobs.blocked", async () => (await jobs.blocked?.(query)) ?? []);
      const lanes = found.slice(0, limit);
      const last = found.length > limit ? lanes.at(-1)?.job : undefined;
      return { lanes: await toLanes(jobs, lanes), ...(last && { next: `${last.runAt}-${last.id}` }) };
    },
    async tombstones() {
      const { tombstones } = await open();
      const all = await watch.limit("tombstones.list", () => tombstones.list());
      return all.map(toTombstoneInfo);
    },
    async gaps(page = {}) {
      const where = "lists.gaps";
      assertOptions(where, page, { families: true, accountId: true, limit: true, after: true });
      const { families = [], accountId = 0, after = "" } = page;
      if (!Array.isArray(families) || !families.every((family) => typeof family === "string"))
        throw invalid({ where, name: "families", value: families }, "a list of texts");
      if (!Number.isSafeInteger(accountId)) throw invalid({ where, name: "accountId", value: accountId }, "its number");
      if (typeof after !== "string") throw invalid({ where, name: "after", value: after }, "the `next` of a page");
      const query = { ...page, limit: toLimit(where, page.limit) };
      const { gaps } = await open();
      if (gaps === undefined) return { gaps: [] };
      const found = await watch.limit("gaps.find", () => gaps.find(query));
      return { ...found, gaps: found.gaps.map(toGapInfo) };
    },
    async clearGaps(given) {
      if (!Array.isArray(given) || !given.every(isGapInfo)) throw notGaps(given);
      const cleared = given.map(toGap);
      const { gaps } = await open();
      await watch.limit("gaps.remove", async () => gaps?.remove(cleared));
    },
    async erroredSubscriptions() {
      await open();
      const known = await watch.limit("subscriptions.known", () => subscriptions.known());
      return known.flatMap(toErroredInfo);
    },
    async workers() {
      const { liveWorkers } = await open();
      return watch.limit("liveWorkers", async () => liveWorkers?.() ?? []);
    },
  };

  /** For an inbox that cannot say it. */
  async function readBlocked(jobs: InboxJobs, { now, after, limit }: BlockedQuery): Promise<readonly StoredBlocked[]> {
    const lanes = new Map<string, { readonly job: StoredJob; behind: number }>();
    const looked = { states: ["waiting", "running"], most: MOST_LOOKS } as const;
    await pages.each(jobs, looked, (job) => {
      const key = job.lane === undefined ? `job ${job.id}` : `lane ${job.lane}`;
      const lane = lanes.get(key);
      if (lane === undefined) lanes.set(key, { job, behind: 0 });
      else lane.behind += 1;
    });
    const isAfter = after === undefined ? () => true : (job: StoredJob) => byNextAttempt(job, after) > 0;
    return [...lanes.values()]
      .filter(({ job }) => job.state === "waiting" && (job.runAt ?? 0) > now && isAfter(job))
      .toSorted((a, b) => byNextAttempt(a.job, b.job))
      .slice(0, limit);
  }
}

/** Open jobs that are looked at for blocked lanes: a page that is open asks every few seconds. */
const MOST_LOOKS = 10_000;

type Place = Pick<StoredJob, "id" | "runAt">;

function byNextAttempt(a: Place, b: Place): number {
  return (a.runAt ?? 0) - (b.runAt ?? 0) || Number(a.id) - Number(b.id);
}

async function toLanes(jobs: InboxJobs, found: readonly StoredBlocked[]): Promise<BlockedLane[]> {
  const read = await readEvents(
    jobs,
    found.flatMap(({ job }) => (job.event === undefined ? job : [])),
  );
  return found.flatMap(({ job, behind }) => {
    const event = job.event ?? read.get(job);
    return event === undefined ? [] : { job: toJob(job, event), behind };
  });
}

function toLimit(where: string, value: number | undefined): number {
  return wholeNumber({ where, name: "limit", value: value ?? 50, least: 1, most: 1_000 });
}

/** @throws UsageError `option-invalid` */
function toPlace(where: string, after: unknown): NonNullable<BlockedQuery["after"]> {
  const [, runAt, id] = (typeof after === "string" ? /^(\d{1,16})-(\d{1,16})$/.exec(after) : null) ?? [];
  if (runAt !== undefined && id !== undefined) return { runAt: Number(runAt), id };
  throw invalid({ where, name: "after", value: after }, "the `next` of a page");
}

function invalid({ where, name, value }: GivenText, expected: string): UsageError {
  return new UsageError("option-invalid", `${where} got ${kindOf(value)} for \`${name}\`, expected ${expected}.`);
}

function toTombstoneInfo({ source, since, lastHit, ...one }: Tombstone): TombstoneInfo {
  return { ...one, ...(source !== undefined && { source }), since: new Date(since), lastHit: new Date(lastHit) };
}

function toErroredInfo({ source, error, sentAt, ...one }: KnownSubscription): readonly ErroredSubscriptionInfo[] {
  if (error === undefined) return [];
  const since = sentAt === undefined ? {} : { since: new Date(sentAt) };
  return [{ ...one, error, ...(source !== undefined && { source }), ...since }];
}

function toGapInfo({ source, from, until, ...gap }: Gap): GapInfo {
  const end = until === undefined ? {} : { until: new Date(until) };
  return { ...gap, ...(source !== undefined && { source }), from: new Date(from), ...end };
}

function toGap({ source, subscription, accountId, resource, family, cause, from, until }: GapInfo): Gap {
  const window = { cause, from: from.getTime(), until: until?.getTime() };
  return { source, subscription, accountId, resource, family, ...window };
}

function isGapInfo(one: Partial<GapInfo> | undefined): boolean {
  return one?.from instanceof Date && Number.isSafeInteger(one.subscription) && typeof one.resource === "string";
}

function notGaps(given: unknown): UsageError {
  return new UsageError("option-invalid", `lists.clearGaps got ${kindOf(given)}, expected gaps that lists.gaps gave.`);
}
