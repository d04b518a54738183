import type { FlowPause } from "../index.ts";
import { shown, toErrorName, toFoundJob, toJob, toProblem } from "./answers.ts";
import { idIn, toJobFilter, wrongFilter, type Filter } from "./filter.ts";
import { runbookSection } from "./runbook.ts";
import type { DashboardSource } from "./source.ts";

/** Rows of a list in one answer. */
const ROWS = 50;
/** A list of pauses counts the jobs that wait: it is shown for so many times as long as it took. */
const PAUSES_SHOWN = 20;

interface Asked {
  readonly source: DashboardSource;
  readonly query: Filter;
  readonly content: boolean;
}

type Look = (asked: Asked) => Promise<object>;

/** What the page reads, by the last part of its path. Each answer has a bounded size; `next` is the `after` of the next one. */
export const LOOKS: Readonly<Record<string, Look>> = {
  async now({ source, content }) {
    // An inbox that fails is what `health` tells of.
    const [health, workers, paused] = await Promise.all([
      source.health(),
      source.lists.workers().catch(() => []),
      pausedOf(source),
    ]);
    const problems = health.problems.map((one) => toProblem(one, content));
    const rows = {
      paused: paused.slice(0, ROWS).map(of("pause", content)),
      workers: workers.slice(0, ROWS).map(of("worker", content)),
    };
    return { ...health, ...source.activity(), problems, ...rows };
  },
  async lanes({ source, query: { after }, content }) {
    const { lanes, next } = await source.lists.blockedLanes({ limit: ROWS, after });
    return { lanes: lanes.map(({ job, behind }) => Object.assign(toJob(job, content), { behind })), next };
  },
  async dead({ source, query: { after, ...query }, content }) {
    const filter = { ...toJobFilter(query), state: "dead" } as const;
    const [{ groups, count, isCut }, { jobs, next }] = await Promise.all([
      source.jobs.summary(filter),
      Object.keys(query).length === 0
        ? { jobs: [], next: undefined }
        : source.jobs.list({ ...filter, limit: ROWS, after, newestFirst: true }),
    ]);
    const newest = groups.toSorted((one, other) => Number(other.newestAt ?? 0) - Number(one.newestAt ?? 0));
    const named = newest.map((group) =>
      Object.assign(shown("group", group, content), group.error && { error: toErrorName(group.error, content) }),
    );
    return { groups: named, count, isCut, jobs: jobs.map((job) => toJob(job, content)), next };
  },
  async job({ source, query: { id = "" }, content }) {
    const found = await source.jobs.get(id);
    return found === undefined ? {} : { job: toFoundJob(found, content) };
  },
  async subscriptions({ source, query: { after = "0" }, content }) {
    const [tombstones, errored] = await Promise.all([source.lists.tombstones(), source.lists.erroredSubscriptions()]);
    const latest = tombstones.toSorted((one, other) => Number(other.since) - Number(one.since));
    const [first, end] = [Number(after), Number(after) + ROWS];
    return {
      tombstones: latest.slice(first, end).map(of("tombstone", content)),
      errored: errored.slice(first, end).map(of("errored", content)),
      ...(end < Math.max(latest.length, errored.length) && { next: String(end) }),
    };
  },
  async gaps({ source, query: { family, accountId, after, ...others }, content }) {
    const [other] = Object.keys(others);
    if (other !== undefined) throw wrongFilter(other);
    const { gaps, next } = await source.lists.gaps({
      limit: ROWS,
      after,
      ...(family !== undefined && { families: [family] }),
      ...(accountId !== undefined && { accountId: idIn(accountId) }),
    });
    return { gaps: gaps.map(of("gap", content)), next };
  },
  runbook: ({ query }) => Promise.resolve({ text: runbookSection(query["code"] ?? "") }),
};

/** @returns what is shown of each of some */
function of(kind: Parameters<typeof shown>[0], content: boolean) {
  return (item: object) => shown(kind, item, content);
}

type ShownPauses = { readonly pauses: Promise<readonly FlowPause[]>; until: number };
const shownPauses = new WeakMap<DashboardSource, ShownPauses>();

/** For all who look: however many jobs wait, counting them takes a twentieth of the inbox's time at most. */
function pausedOf(source: DashboardSource): Promise<readonly FlowPause[]> {
  const last = shownPauses.get(source);
  const startedAt = performance.now();
  if (last !== undefined && startedAt < last.until) return last.pauses;
  const pauses = source.flow.paused().catch(() => []);
  const own: ShownPauses = { pauses, until: Infinity };
  shownPauses.set(source, own);
  void pauses.then(() => {
    const endedAt = performance.now();
    own.until = endedAt + (endedAt - startedAt) * PAUSES_SHOWN;
  });
  return pauses;
}
