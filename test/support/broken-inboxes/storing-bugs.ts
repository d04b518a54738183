import type { NewDelivery } from "../../../src/inbox/port/delivery.ts";
import type { Break, Bug } from "./broken-subject.ts";

type Events = NonNullable<NewDelivery["events"]>;

/** Stores deliveries with changed events. */
function eventsAs(change: (events: Events) => Events): Break {
  const changed = (each: NewDelivery): NewDelivery =>
    each.events === undefined ? each : { ...each, events: change(each.events) };
  return (own) => ({ store: (deliveries) => own.store(deliveries.map((each) => changed(each))) });
}

/** Inboxes that keep and expand wrongly. */
export const keepingBugs: readonly Bug[] = [
  {
    it: "drops the last entry of what it keeps",
    wrong: eventsAs((events) => events.slice(0, Math.max(1, events.length - 1))),
    caught: "store: when it resolves, every job of every entry is there, in array order",
  },
  {
    it: "keeps the entries of a delivery backwards",
    wrong: eventsAs((events) => events.toReversed()),
    caught: "store: lanes have the order of ids: entries in array order, deliveries in the order of commit",
  },
  {
    it: "answers deliveries in another order than they were given",
    wrong: (own) => ({ store: async (deliveries) => (await own.store(deliveries)).toReversed() }),
    caught: "store: ids of deliveries grow, over several calls too",
  },
  {
    it: "takes the events of what stands behind an unexpanded delivery",
    wrong: (own) => ({
      async store(deliveries) {
        const first = deliveries.filter(({ events }) => events !== undefined);
        const rest = deliveries.filter(({ events }) => events === undefined);
        const stored = await own.store([...first, ...rest]);
        return deliveries.map((each) => {
          const place = each.events === undefined ? first.length + rest.indexOf(each) : first.indexOf(each);
          return stored[place] ?? new Error("lost");
        }) as Awaited<ReturnType<typeof own.store>>;
      },
    }),
    caught: "store: that holds within one call too",
  },
  {
    it: "expands a long delivery to its end after the first part",
    wrong: (own) => ({ expand: (all) => own.expand(all.map((each) => ({ ...each, cursor: undefined }))) }),
    caught: "cursor: a long delivery is expanded in parts; until the last one nothing newer is",
  },
  {
    it: "gives the newest unexpanded delivery first",
    wrong: (own) => ({ unexpanded: async (max) => (await own.unexpanded(1_000)).toReversed().slice(0, max) }),
    caught: "unexpanded: it gives the oldest first, at most as many as are asked for",
  },
  {
    it: "forgets unique keys",
    wrong: eventsAs((events) => events.map(({ entry, event, jobs }) => ({ entry, event, jobs, unique: undefined }))),
    caught: "duplicates: the second one makes no job, and its delivery is expanded all the same",
  },
  {
    it: "takes other content for a duplicate",
    wrong: eventsAs((events) =>
      events.map(({ entry, event, jobs, unique }) => ({
        entry,
        event,
        jobs,
        unique: unique === undefined ? undefined : { key: unique.key, content: "" },
      })),
    ),
    caught: "conflicts: the same key with other content makes a job, and is told",
  },
  {
    it: "rejects a call in which a lane is longer than its index holds",
    wrong: (own) => ({
      store: async (deliveries) => {
        const jobs = deliveries.flatMap(({ events }) => events?.flatMap((event) => event.jobs) ?? []);
        if (jobs.some(({ lane = "" }) => lane.length > 2_704)) throw new Error("54000");
        return own.store(deliveries);
      },
    }),
    caught: "store: 20 kB in a lane keeps nothing from being stored, nor from being claimed later",
    notByModel: true,
  },
];
