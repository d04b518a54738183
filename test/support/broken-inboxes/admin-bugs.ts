import { NOTHING_ERASED } from "../../../src/inbox/port/jobs.ts";
import { handsAs, type Bug } from "./broken-subject.ts";

/** Inboxes that are wrong beside the way of a job. */
export const handsBugs: readonly Bug[] = [
  {
    it: "replays without taking the dead job away",
    wrong: handsAs((jobs) => ({
      replay: async ({ ...selection }) => (await jobs.find({ ...selection, limit: 1 })).jobs.length,
    })),
    caught: "replay: it comes behind what waits, fresh, and the dead one is gone",
  },
  {
    it: "counts what it drops wrongly",
    wrong: handsAs((jobs) => ({ drop: async (selection) => (await jobs.drop(selection)) + 1 })),
    caught: "drop: each job is counted once, and what is not there not at all",
  },
  {
    it: "leaves unexpanded deliveries of an erased account",
    wrong: (own) => ({
      jobs: {
        ...own.jobs,
        async erase(accountId) {
          const { jobs } = await own.jobs.find({ accountId, limit: 1_000, states: ["waiting", "dead", "unhandled"] });
          const count = await own.jobs.drop({ ids: jobs.map(({ id }) => id) });
          return { ...NOTHING_ERASED, count };
        },
      },
    }),
    caught: "erase: it takes all of the account, and none of another's",
  },
  {
    it: "does not tell the worker that erase took its claims",
    wrong: (own) => ({ work: (worker) => own.work({ ...worker, lost() {} }) }),
    caught: "lost: erase tells the worker which of its claims are lost",
    notByModel: true,
  },
  {
    it: "wakes nobody after a replay",
    wrong: (own) => ({ work: (worker) => own.work({ ...worker, wake() {} }) }),
    caught: "wake: a replay wakes the worker",
    notByModel: true,
  },
  {
    it: "reopens for the first consumer alone",
    wrong: handsAs((jobs) => ({
      reopen: (all) => jobs.reopen(all.map((each) => ({ ...each, jobs: each.jobs.slice(0, 1) }))),
    })),
    caught: "reopen: each of them comes, and the unhandled one is gone",
  },
  {
    it: "gives jobs of one consumer to another",
    wrong: handsAs((jobs) => ({
      unhandled: ({ handled, ...page }) =>
        jobs.unhandled({
          ...page,
          handled: handled.flatMap(({ type }) => BOTH.map((consumer) => ({ type, consumer }))),
        }),
    })),
    caught: "unhandled: one that lost its handler is for its own consumer alone",
  },
  {
    it: "gives a page for ever",
    wrong: handsAs((jobs) => ({ find: (query) => jobs.find({ ...query, after: undefined }) })),
    caught: "find: it goes page by page: next is where to go on, and absent on the last page",
    notByModel: true,
  },
  {
    it: "looks at the source of a tombstone that stands for every one",
    wrong: (own) => ({
      tombstones: {
        ...own.tombstones,
        isEmpty: false,
        find: (subscription, source) => {
          const stone = own.tombstones.find(subscription, source);
          return stone?.source === source ? stone : undefined;
        },
      },
    }),
    caught: "put: one without a source is found for each",
  },
  {
    it: "sees no lane blocked",
    wrong: (own) => ({ stats: () => ({ ...own.stats(), blockedLanes: 0 }) }),
    caught: "blockedLanes: what waits behind a head is not blocked by itself",
  },
];

const BOTH = ["default", "search"];
