import type { Health, Stats } from "../../../src/index.ts";
import { REFUSALS } from "../../../src/ingest/responses.ts";
import { CHANGE_FAMILIES, CHANGE_TYPES, familyOf } from "../../../src/protocol/event-names.ts";
import type { Internals } from "../../../src/receiver/internals.ts";
import { countsOfInbox } from "../inbox-counts.ts";
import { BUCKETS, newHistogram, type Counting, type Histogram } from "./counting.ts";
import type { Family } from "./text-format.ts";

export interface Scraped {
  readonly health: Health;
  readonly stats: Stats;
  readonly counting: Counting;
  readonly internals: Pick<Internals, "state" | "works" | "handlers" | "inFlightBytes" | "inboxWorkers">;
}

const STATUSES = [200, 400, 401, 405, 408, 413, 415, 422, 500, 503].map(String);
/** Those of requests, and what `receiver.accept` refuses beside them. */
const REFUSAL_CODES = [...Object.keys(REFUSALS), "unwanted", "signature-invalid", "delivery-invalid", "closed"];
const ROLES = ["receiving", "standby", "working"];

/**
 * Every metric. What is known before it happens is there at 0: a counter that appears at 1 hides its first event from `increase()`.
 * What cannot be had is left out.
 */
export function toFamilies(scraped: Scraped): readonly Family[] {
  const { health, stats, counting, internals } = scraped;
  const { requests, handlers, waits, storing, totals } = counting;
  const { inFlightBytes } = internals;
  const consumers = internals.handlers.handled().map(({ consumer }) => consumer);
  const jobs = jobsOf(scraped);
  const ofConsumers = jobs.filter(({ consumer }) => consumer !== undefined);
  /** The same numbers from each process of one inbox. */
  const inbox = countsOfInbox(health, internals);
  // It counts without an error here: `health()` has just done so.
  const workers = inbox && internals.inboxWorkers();
  const oldestSeconds = inbox && inbox.oldestWaitingMs / 1_000;
  const answered = Object.entries(stats.answered);
  const problems = health.problems.map(({ code }) => code);
  return [
    ["counter", "requests_total", "Requests by the status of their answer.", by("status", answered, STATUSES)],
    [
      "histogram",
      "request_duration_seconds",
      "From a request's arrival to its answer.",
      by("status", requests, STATUSES, newHistogram(BUCKETS.request)),
    ],
    [
      "counter",
      "refused_total",
      "Refused requests and deliveries by reason.",
      by("code", Object.entries(stats.refused), REFUSAL_CODES),
    ],
    ["counter", "deliveries_stored_total", "Deliveries stored.", one(stats.stored)],
    [
      "histogram",
      "store_duration_seconds",
      "From verified to committed; a wait for the gate is not part of it.",
      one(storing),
    ],
    ["counter", "duplicates_total", "Repeated tracking and booking events: no job was made.", one(stats.duplicates)],
    ["counter", "unsubscribed_total", "Unsubscribes by the gate, by handlers and by calls.", one(totals.unsubscribed)],
    ["counter", "gaps_total", "Times that something of a resource may have been missed.", one(totals.gaps)],
    [
      "counter",
      "jobs_finished_total",
      "Jobs that ended, by how; merged ones were done by the call of another job.",
      jobs.flatMap(({ consumer, type, ...counts }) =>
        consumer === undefined
          ? [[{ type, outcome: "skipped" }, counts.skipped] as const]
          : OUTCOMES.map((outcome) => [{ consumer, type, outcome }, counts[outcome]] as const),
      ),
    ],
    [
      "counter",
      "attempts_failed_total",
      "Failed attempts of jobs.",
      ofConsumers.map(({ consumer = "", type, failed }) => [{ consumer, type }, failed]),
    ],
    [
      "histogram",
      "handler_duration_seconds",
      "Calls of handlers.",
      by("consumer", handlers, consumers, newHistogram(BUCKETS.handler)),
    ],
    [
      "histogram",
      "job_wait_seconds",
      "From the receipt of a delivery to a job's first attempt.",
      by("consumer", waits, consumers, newHistogram(BUCKETS.wait)),
    ],
    ["gauge", "inbox_waiting_jobs", "Waiting jobs, and deliveries that are not jobs yet.", one(inbox?.waiting)],
    ["gauge", "inbox_oldest_waiting_seconds", "Age of the oldest waiting job.", one(oldestSeconds)],
    ["gauge", "inbox_dead_jobs", "Jobs that failed for good.", one(inbox?.dead)],
    ["gauge", "inbox_unhandled_jobs", "Jobs that wait for a handler of their event.", one(inbox?.unhandled)],
    ["gauge", "inbox_free_bytes", "Free space on the disk of the inbox.", one(inbox?.freeDiskBytes)],
    ["gauge", "blocked_lanes", "Lanes whose first job waits for its next attempt.", one(inbox?.blockedLanes)],
    ["gauge", "stuck_handlers", "Handlers that ignore their abort signal.", one(health.stuck)],
    ["gauge", "in_flight_bytes", "Bodies being read, and those that wait to be stored.", one(inFlightBytes.size)],
    ["gauge", "live", "0 where a restart can help.", one(Number(health.live))],
    ["gauge", "ready", "0 while the next delivery would get 503.", one(Number(health.ready))],
    ["gauge", "role", "1 for the role of this process.", by("role", [[stats.role, 1]], ROLES)],
    ["gauge", "problem", "1 for each problem that health() reports.", by("code", [], problems, 1)],
    ["gauge", "workers", "Processes that work on the inbox.", one(workers?.alive)],
    ["gauge", "shards", "Shards of the inbox that this process works on.", one(workers?.shards)],
  ];
}

const OUTCOMES = ["done", "merged", "dead"] as const;

/** Of each handler, and of the changes that are skipped because they have none. */
function jobsOf({ counting, internals }: Scraped) {
  const handled = internals.handlers.handled();
  const types = new Set(handled.map(({ type }) => type));
  const families = new Set([...types].map(familyOf));
  const changes = CHANGE_FAMILIES.flatMap((family) =>
    families.has(family) ? CHANGE_TYPES.map((change) => `${family}.${change}`) : [],
  );
  for (const { consumer, type } of handled) counting.jobsOf(consumer, type);
  for (const type of changes) if (!types.has(type)) counting.jobsOf(undefined, type);
  return [...counting.jobs.values()];
}

type Value = number | Histogram | undefined;

function one(value: Value): Family[3] {
  return [[{}, value]];
}

/** @param known there as `zero` where they have no value yet */
function by(
  label: string,
  values: Iterable<readonly [string, Value]>,
  known: readonly string[],
  zero: Value = 0,
): Family[3] {
  const all = new Map<string, Value>([...known.map((key) => [key, zero] as const), ...values]);
  return [...all].map(([key, value]) => [{ [label]: key }, value]);
}
