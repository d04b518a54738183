import type { Receiver } from "../../../src/index.ts";
import { REFUSALS } from "../../../src/ingest/refusals.ts";
import { CHANGE_FAMILIES, CHANGE_TYPES, familyOf } from "../../../src/protocol/event-names.ts";
import { pausedAccounts, type Internals } from "../../../src/receiver/internals.ts";
import { countsOfInbox } from "../inbox-counts.ts";
import type { Counting } from "./counting.ts";
import type { Histogram } from "./histograms.ts";
import type { Family } from "./text-format.ts";

const STATUSES = [200, 400, 401, 405, 408, 413, 415, 422, 500, 503].map(String);
/** Those of requests, and what `receiver.accept` refuses beside them. */
const REFUSAL_CODES = [...Object.keys(REFUSALS), "unwanted", "signature-invalid", "delivery-invalid", "closed"];
const ROLES = ["receiving", "standby", "working"];

/**
 * Every metric. What is known before it happens is there at 0: a counter that appears at 1 hides its first event from `increase()`.
 * What cannot be had is left out.
 */
export async function familiesOf(
  receiver: Receiver,
  internals: Internals,
  counting: Counting,
): Promise<readonly Family[]> {
  const health = await receiver.health();
  const stats = receiver.stats();
  const { requests, handlers, waits, storing, totals } = counting;
  const { inFlightBytes } = internals;
  const consumers = internals.handlers.handled().map(({ consumer }) => consumer);
  const jobs = jobsOf(counting, internals);
  /** The same numbers from each process of one inbox, but for jobs that wait: on PostgreSQL a worker counts its share. */
  const inbox = countsOfInbox(health, internals);
  // They count without an error here: `health()` has just done so.
  const workers = inbox && internals.inboxWorkers();
  const oldestSeconds = inbox && inbox.oldestWaitingMs / 1_000;
  const answered = Object.entries(stats.answered);
  const refused = Object.entries(stats.refused);
  const finished = jobs.flatMap(({ labels, finished: counts }) =>
    Object.entries(counts).map(([outcome, count]) => [{ ...labels, outcome }, count] as const),
  );
  const failed = jobs.flatMap((counts) =>
    "consumer" in counts.labels ? [[counts.labels, counts.failed] as const] : [],
  );
  const problems = health.problems.map(({ code }) => [code, 1] as const);
  return [
    ["counter", "requests_total", "Requests by the status of their answer.", by("status", answered, STATUSES)],
    ["histogram", "request_duration_seconds", "From arrival to answer.", by("status", requests.all(STATUSES))],
    ["counter", "refused_total", "Refused requests and deliveries by reason.", by("code", refused, REFUSAL_CODES)],
    ["counter", "deliveries_stored_total", "Deliveries stored.", one(stats.stored)],
    ["histogram", "store_duration_seconds", "From verified to committed, without a wait for the gate.", one(storing)],
    ["counter", "duplicates_total", "Repeated tracking and booking events: no job was made.", one(stats.duplicates)],
    ["counter", "unsubscribed_total", "Unsubscribes by the gate, by handlers and by calls.", one(totals.unsubscribed)],
    ["counter", "gaps_total", "Times that something of a resource may have been missed.", one(totals.gaps)],
    ["counter", "jobs_finished_total", "Jobs that ended; merged: by the call of another job.", finished],
    ["counter", "attempts_failed_total", "Failed attempts of jobs.", failed],
    ["histogram", "handler_duration_seconds", "Calls of handlers.", by("consumer", handlers.all(consumers))],
    ["histogram", "job_wait_seconds", "From receipt to the first attempt.", by("consumer", waits.all(consumers))],
    ["gauge", "inbox_waiting_jobs", "Waiting jobs, and deliveries that are not jobs yet.", one(inbox?.waiting)],
    ["gauge", "inbox_oldest_waiting_seconds", "Age of the oldest waiting job.", one(oldestSeconds)],
    ["gauge", "inbox_dead_jobs", "Jobs that failed for good.", one(inbox?.dead)],
    ["gauge", "inbox_unhandled_jobs", "Jobs that wait for a handler of their event.", one(inbox?.unhandled)],
    ["gauge", "inbox_paused_jobs", "Waiting jobs that a pause holds.", one(inbox?.pausedWaiting)],
    ["gauge", "inbox_free_bytes", "Free space on the disk of the inbox.", one(inbox?.freeDiskBytes)],
    ["gauge", "blocked_lanes", "Lanes whose first job waits for its next attempt.", one(inbox?.blockedLanes)],
    ["gauge", "paused_accounts", "Accounts of which something is paused.", one(inbox && pausedAccounts(internals))],
    ["gauge", "stuck_handlers", "Handlers that ignore their abort signal.", one(health.stuck)],
    ["gauge", "in_flight_bytes", "Bodies being read, and those that wait to be stored.", one(inFlightBytes.size)],
    ["gauge", "live", "0 where a restart can help.", one(Number(health.live))],
    ["gauge", "ready", "0 while the next delivery would get 503.", one(Number(health.ready))],
    ["gauge", "role", "1 for the role of this process.", by("role", [[stats.role, 1]], ROLES)],
    ["gauge", "problem", "1 for each problem that health() reports.", by("code", problems)],
    ["gauge", "workers", "Processes that work on the inbox.", one(workers?.alive)],
    ["gauge", "shards", "Shards of the inbox that this process works on.", one(workers?.shards)],
  ];
}

/** Of each handler, and of the changes that are skipped because they have none. */
function jobsOf(counting: Counting, { handlers }: Internals) {
  const handled = handlers.handled();
  const types = new Set(handled.map(({ type }) => type));
  const families = new Set([...types].map(familyOf));
  const changes = CHANGE_FAMILIES.flatMap((family) =>
    families.has(family) ? CHANGE_TYPES.map((change) => `${family}.${change}`) : [],
  );
  for (const { consumer, type } of handled) counting.jobsOf(consumer, type);
  for (const type of changes) if (!types.has(type)) counting.jobsOf(undefined, type);
  return Array.from(counting.jobs.values(), (ofConsumer) => Array.from(ofConsumer.values())).flat();
}

type Value = number | Histogram | undefined;

function one(value: Value): Family[3] {
  return [[{}, value]];
}

/** @param known at 0 where they have no value */
function by(label: string, values: Iterable<readonly [string, Value]>, known: readonly string[] = []): Family[3] {
  const all = new Map<string, Value>([...known.map((key) => [key, 0] as const), ...values]);
  return [...all].map(([key, value]) => [{ [label]: key }, value]);
}
