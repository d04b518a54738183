import { toErrored, toFoundJob, toGap, toGroup, toJob, toLane, toProblem, toTombstone, toWorker } from "./answers.ts";
import { toJobFilter, wrongFilter, type Filter } from "./filter.ts";
import { runbookSection } from "./runbook.ts";
import type { DashboardSource } from "./source.ts";

/** Rows of a list in one answer: what is beyond them is found by a filter. */
const ROWS = 50;

interface Asked {
  readonly source: DashboardSource;
  readonly query: Filter;
  readonly content: boolean;
}

type Look = (asked: Asked) => Promise<object>;

/** What the page reads, by the last part of its path. Each answer has a bounded size. */
export const LOOKS: Readonly<Record<string, Look>> = {
  async now({ source, content }) {
    const [health, workers] = await Promise.all([
      source.health(),
      // An inbox that fails is what `health` tells of.
      source.lists.workers().catch(() => []),
    ]);
    const { problems, ...counts } = health;
    return {
      role: source.role(),
      ...counts,
      problems: problems.map((one) => toProblem(one, content)),
      workers: workers.slice(0, ROWS).map(toWorker),
    };
  },
  async lanes({ source, content }) {
    const { lanes, next } = await source.lists.blockedLanes({ limit: ROWS });
    return { lanes: lanes.map((lane) => toLane(lane, content)), isCut: next !== undefined };
  },
  async dead({ source, query, content }) {
    const { groups, count, isCut } = await source.jobs.summary({ ...toJobFilter(query), state: "dead" });
    const newest = groups.toSorted((one, other) => Number(other.newestAt ?? 0) - Number(one.newestAt ?? 0));
    return { groups: newest.map((group) => toGroup(group, content)), count, isCut };
  },
  async jobs({ source, query, content }) {
    const { after, ...filter } = query;
    const page = await source.jobs.list({ ...toJobFilter(filter), state: "dead", limit: ROWS, after });
    return { jobs: page.jobs.map((job) => toJob(job, content)), next: page.next };
  },
  async job({ source, query, content }) {
    const found = await source.jobs.get(query["id"] ?? "");
    return found === undefined ? {} : { job: toFoundJob(found, content) };
  },
  async subscriptions({ source, content }) {
    const [tombstones, errored] = await Promise.all([source.lists.tombstones(), source.lists.erroredSubscriptions()]);
    const latest = tombstones.toSorted((one, other) => Number(other.since) - Number(one.since));
    return {
      tombstones: latest.slice(0, ROWS).map((one) => toTombstone(one, content)),
      errored: errored.slice(0, ROWS).map((one) => toErrored(one, content)),
      count: { tombstones: tombstones.length, errored: errored.length },
    };
  },
  async gaps({ source, query: { family, accountId, ...others }, content }) {
    const [other] = Object.keys(others);
    if (other !== undefined) throw wrongFilter(other);
    const { gaps, next } = await source.lists.gaps({
      limit: ROWS,
      ...(family !== undefined && { families: [family] }),
      ...(accountId !== undefined && { accountId: Number(accountId) }),
    });
    return { gaps: gaps.map((gap) => toGap(gap, content)), isCut: next !== undefined };
  },
  runbook: ({ query }) => Promise.resolve({ text: runbookSection(query["code"] ?? "") }),
};
