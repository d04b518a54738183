import type { Health, Stats } from "../../../src/index.ts";
import { REFUSALS } from "../../../src/ingest/responses.ts";
import { CHANGE_FAMILIES, CHANGE_TYPES, familyOf } from "../../../src/protocol/event-names.ts";
import type { Internals } from "../../../src/receiver/internals.ts";
import { countsOfInbox } from "../inbox-counts.ts";
import { BUCKETS, newHistogram, newJobCounts, type Counting, type Histogram } from "./counting.ts";
import type { Family } from "./text-format.ts";

export interface Scraped {
  readonly health: Health;
  readonly stats: Stats;
  readonly counting: Counting;
  readonly internals: Pick<Internals, "state" | "works" | "handlers" | "inFlightBytes" | "inboxWorkers">;
}

const STATUSES = [200, 400, 401, 405, 408, 413, 415, 422, 500, 503];
/** Those of requests, and what `receiver.accept` refuses beside them. */
const REFUSAL_CODES = [...Object.keys(REFUSALS), "unwanted", "signature-invalid", "delivery-invalid", "closed"];
const ROLES = ["receiving", "standby", "working"];

type Values = Readonly<Record<string, number | undefined>>;

/**
 * Every metric. What is known before it happens is there at 0: a counter that appears at 1 hides its first event from `increase()`.
 * What cannot be had is left out.
 */
export function toFamilies(scraped: Scraped): readonly Family[] {
  const { health, stats, counting } = scraped;
  const jobs = jobsOf(scraped);
  /** The same numbers from each process of one inbox. */
  const inbox = countsOfInbox(health, scraped.internals);
  // It counts without an error here: `health()` has just done so.
  const workers = inbox && scraped.internals.inboxWorkers();
  return [
    counter("requests_total", "Requests by the status of their answer.", byLabel("status", stats.answered, STATUSES)),
    histogram("request_duration_seconds", "From a request's arrival to its answer.", {
      label: "status",
      of: new Map([...counting.requests].map(([status, one]) => [String(status), one])),
      known: STATUSES.map(String),
      bounds: BUCKETS.request,
    }),
    counter(
      "refused_total",
      "Refused requests and deliveries by reason.",
      byLabel("code", stats.refused, REFUSAL_CODES),
    ),
    counter("deliveries_stored_total", "Deliveries stored.", single(stats.stored)),
    {
      name: "store_duration_seconds",
      help: "From verified to committed; a wait for the gate is not part of it.",
      type: "histogram",
      samples: [{ labels: {}, histogram: counting.storing }],
    },
    counter("duplicates_total", "Repeated tracking and booking events: no job was made.", single(stats.duplicates)),
    counter(
      "unsubscribed_total",
      "Unsubscribes by the gate, by handlers and by calls.",
      single(counting.unsubscribed()),
    ),
    counter("gaps_total", "Times that something of a resource may have been missed.", single(counting.gaps())),
    counter(
      "jobs_finished_total",
      "Jobs that ended, by how; merged ones were done by the call of another job.",
      jobs.flatMap(({ consumer, type, counts }) =>
        consumer === undefined
          ? [{ labels: { type, outcome: "skipped" }, value: counts.skipped }]
          : (["done", "merged", "dead"] as const).map((outcome) => ({
              labels: { consumer, type, outcome },
              value: counts[outcome],
            })),
      ),
    ),
    counter(
      "attempts_failed_total",
      "Failed attempts of jobs.",
      jobs.flatMap(({ consumer, type, counts }) =>
        consumer === undefined ? [] : [{ labels: { consumer, type }, value: counts.failed }],
      ),
    ),
    ...[
      ["handler_duration_seconds", "Calls of handlers.", counting.handlers, BUCKETS.handler] as const,
      [
        "job_wait_seconds",
        "From the receipt of a delivery to a job's first attempt.",
        counting.waits,
        BUCKETS.wait,
      ] as const,
    ].map(([name, help, of, bounds]) =>
      histogram(name, help, { label: "consumer", of, known: consumersOf(scraped), bounds }),
    ),
    gauge("inbox_waiting_jobs", "Waiting jobs, and deliveries that are not jobs yet.", single(inbox?.waiting)),
    gauge(
      "inbox_oldest_waiting_seconds",
      "Age of the oldest waiting job.",
      single(inbox && inbox.oldestWaitingMs / 1_000),
    ),
    gauge("inbox_dead_jobs", "Jobs that failed for good.", single(inbox?.dead)),
    gauge("inbox_unhandled_jobs", "Jobs that wait for a handler of their event.", single(inbox?.unhandled)),
    gauge("inbox_free_bytes", "Free space on the disk of the inbox.", single(inbox?.freeDiskBytes)),
    gauge(
      "blocked_lanes",
      "Lanes of this process whose first job waits for its next attempt.",
      single(inbox?.blockedLanes),
    ),
    gauge("stuck_handlers", "Handlers that ignore their abort signal.", single(health.stuck)),
    gauge(
      "in_flight_bytes",
      "Bodies being read, and those that wait to be stored.",
      single(scraped.internals.inFlightBytes.size),
    ),
    gauge("live", "0 where a restart can help.", single(Number(health.live))),
    gauge("ready", "0 while the next delivery would get 503.", single(Number(health.ready))),
    gauge("role", "1 for the role of this process.", byLabel("role", { [stats.role]: 1 }, ROLES)),
    gauge("problem", "1 for each problem that health() reports.", byLabel("code", toOnes(health.problems), [])),
    gauge("workers", "Processes that work on the inbox.", single(workers?.alive)),
    gauge("shards", "Shards of the inbox that this process works on.", single(workers?.shards)),
  ];
}

function consumersOf({ internals }: Scraped): readonly string[] {
  return [...new Set(internals.handlers.handled().map(({ consumer }) => consumer))];
}

/** Of each handler, and of the changes that are skipped because they have none. */
function jobsOf({ counting, internals }: Scraped) {
  const handled = internals.handlers.handled();
  const types = new Set(handled.map(({ type }) => type));
  const families = new Set([...types].map(familyOf));
  const skipped = CHANGE_FAMILIES.filter((family) => families.has(family))
    .flatMap((family) => CHANGE_TYPES.map((change) => `${family}.${change}`))
    .filter((type) => !types.has(type))
    .map((type) => ({ consumer: undefined, type }));
  const counted = [...counting.jobs].flatMap(([consumer, ofConsumer]) =>
    [...ofConsumer.keys()].map((type) => ({ consumer, type })),
  );
  const all = new Map(
    [...handled, ...skipped, ...counted].map((one) => [JSON.stringify([one.consumer, one.type]), one]),
  );
  return [...all.values()].map(({ consumer, type }) => ({
    consumer,
    type,
    counts: counting.jobs.get(consumer)?.get(type) ?? newJobCounts(),
  }));
}

function toOnes(problems: Health["problems"]): Values {
  return Object.fromEntries(problems.map(({ code }) => [code, 1]));
}

type Samples = Extract<Family, { readonly type: "gauge" | "counter" }>["samples"];

function counter(name: string, help: string, samples: Samples): Family {
  return { name, help, type: "counter", samples };
}

function gauge(name: string, help: string, samples: Samples): Family {
  return { name, help, type: "gauge", samples };
}

function single(value: number | undefined): Samples {
  return value === undefined ? [] : [{ labels: {}, value }];
}

/** @param known there at 0 from the start */
function byLabel(label: string, values: Values, known: readonly (string | number)[]): Samples {
  const zeros = Object.fromEntries(known.map((one) => [one, 0]));
  return Object.entries({ ...zeros, ...values }).map(([key, value = 0]) => ({ labels: { [label]: key }, value }));
}

interface Histograms {
  readonly label: string;
  readonly of: ReadonlyMap<string, Histogram>;
  readonly known: readonly string[];
  readonly bounds: readonly number[];
}

function histogram(name: string, help: string, { label, of, known, bounds }: Histograms): Family {
  const samples = [...new Set([...known, ...of.keys()])].map((key) => ({
    labels: { [label]: key },
    histogram: of.get(key) ?? newHistogram(bounds),
  }));
  return { name, help, type: "histogram", samples };
}
