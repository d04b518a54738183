import type { ClaimedJob, JobOutcome } from "../inbox/port/claims.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { toJobOf } from "./job-view.ts";
import type { DispatchDeps } from "./deps.ts";
import { isBroughtForward, toJobError, type CallResult } from "./retry-policy.ts";
import type { Job, JobState } from "../inbox/port/job.ts";
import type { Delivery } from "../inbox/port/delivery.ts";
import type { Expanded, NewEvent } from "../inbox/port/storing.ts";
import { describeThrown } from "../thrown.ts";

/** The jobs of a call with their events, oldest first. */
export interface CallJobs {
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly SingleEvent[];
}

/** How a call ended, and what became of its jobs. */
export interface CallReport extends CallJobs {
  readonly result: CallResult;
  readonly outcomes: readonly JobOutcome[];
  readonly durationMs: number;
}

export function reportStart({ jobs, events }: CallJobs, { observers }: Pick<DispatchDeps, "observers">): void {
  eachOf(jobs, events, (job, event) => observers.notify("started", () => ({ job: toJobOf(job, event) })));
}

/** Counts, logs and tells what was settled: never what a lost claim tried to settle. */
export function reportEnd(
  { jobs, events, result, outcomes, durationMs }: CallReport,
  { observers, counters, clock, log }: Pick<DispatchDeps, "observers" | "counters" | "clock" | "log">,
): void {
  if (outcomes.every(({ to }) => to === "release")) return;
  const settledAt = clock.now();
  counters.merged += jobs.length - 1;
  if (result.ok) {
    counters.succeeded += jobs.length;
    eachOf(jobs, events, (job, event) =>
      observers.notify("succeeded", () => ({ job: toJobOf(job, event, { state: "done", settledAt }), durationMs })),
    );
    return;
  }
  const { error: thrown } = result;
  const error = toJobError(thrown, settledAt);
  // It asked for more time: nothing has failed.
  const asked = outcomes.every((outcome) => outcome.to === "retry" && !outcome.counted);
  const facts = {
    jobId: jobs.at(-1)?.id,
    event: events.at(-1)?.type,
    attempt: jobs[0]?.attempt,
    merged: jobs.length,
    outcome: outcomes[0]?.to,
  };
  if (asked && outcomes.some((outcome) => isBroughtForward(thrown, outcome))) {
    log.warn(
      { ...facts, code: "retry-later-beyond" },
      "a handler asked for a time beyond `retryForMs`: the job is tried when that ends",
    );
  } else if (asked) {
    log.debug(facts, "a handler asked to be tried again later");
  } else {
    counters.failed += jobs.length;
    const fix = fixOfFrozenWrite(thrown);
    log.warn({ ...facts, err: thrown, ...(fix !== undefined && { fix }) }, "a handler failed");
  }
  eachOf(jobs, events, (job, event, index) => {
    const outcome = outcomes[index];
    if (!asked) observers.notify("failed", () => ({ job: toJobOf(job, event, { error }), error: thrown, durationMs }));
    if (outcome?.to === "retry") {
      counters.retried += 1;
      observers.notify("retried", () => ({
        job: toJobOf(job, event, { state: "waiting", error, runAt: outcome.at }),
        error: thrown,
      }));
    } else if (outcome?.to === "dead") {
      counters.dead += 1;
      observers.notify("dead", () => ({
        job: toJobOf(job, event, { state: "dead", error, settledAt }),
        error: thrown,
      }));
    }
  });
}

function eachOf(
  jobs: readonly ClaimedJob[],
  events: readonly SingleEvent[],
  tell: (job: ClaimedJob, event: SingleEvent, index: number) => void,
): void {
  for (const [index, job] of jobs.entries()) {
    const event = events[index];
    if (event !== undefined) tell(job, event, index);
  }
}

/** Says what came: once an event, when it is expanded. */
export interface ExpansionReporter {
  /** Of a delivery: duplicates made no job. */
  expanded(
    origin: { readonly id: string; readonly delivery: Delivery },
    events: readonly NewEvent[],
    seen: Expanded,
  ): void;
  /** An event on its way to its handlers, past the inbox. */
  arrived(event: SingleEvent, delivery: Delivery): void;
  /** Nobody handles such an event. */
  unhandled(event: SingleEvent): void;
  /** The names that nobody handled, each with how often it came. */
  readonly unhandledNames: ReadonlyMap<string, number>;
}

/** A part of a delivery was expanded: to these jobs, of which those that wait have no id yet. */
export type ExpandedListener = (
  origin: { readonly id: string; readonly delivery: Delivery },
  jobs: readonly Job[],
) => void;

export interface ExpansionReporterOptions {
  /** Log events' content at level debug. */
  readonly logContent: boolean;
  /** What `receiver.observe` does not tell. */
  readonly listeners: ReadonlySet<ExpandedListener>;
  /** An event goes to its handlers without an inbox that would note what it says of its subscription. */
  readonly direct: (event: SingleEvent, delivery: Delivery) => void;
}

export function createExpansionReporter({
  counters,
  observers,
  log,
  logContent,
  listeners,
  direct,
}: Pick<DispatchDeps, "counters" | "observers" | "log"> & ExpansionReporterOptions): ExpansionReporter {
  const unhandledNames = new Map<string, number>();

  function tell(event: SingleEvent): void {
    if (logContent) log.debug({ event }, "an event");
    if (event.type !== "lifecycle.error") return;
    const { subscription, accountId, resource, error } = event;
    log.error(
      { code: "subscription-errored", subscription, accountId, resource, error },
      "a subscription is in trouble: its account may have to be authorised again",
    );
  }

  /** Names are few: only the known types and "unknown" come here. */
  function unhandled({ type }: SingleEvent): void {
    const before = unhandledNames.get(type) ?? 0;
    unhandledNames.set(type, before + 1);
    if (before > 0) return;
    log.warn(
      {
        code: "unhandled",
        event: type,
        fix: `Register receiver.on("${type}", handler); what came until then waits for it.`,
      },
      "nobody handles such an event",
    );
  }

  return {
    expanded({ id, delivery }, events, { duplicates, conflicts }) {
      counters.duplicates += duplicates.length;
      counters.conflicts += conflicts.length;
      for (const index of conflicts) {
        const facts = { code: "conflict", deliveryId: id, event: events[index]?.event.type };
        log.warn(facts, "an event came again with other content");
      }
      const seen = new Set(duplicates);
      for (const [index, { event, entry, jobs }] of events.entries()) {
        if (seen.has(index)) {
          observers.notify("duplicate", () => ({ job: toUnmade("skipped", { id, delivery, entry, event }) }));
          continue;
        }
        tell(event);
        for (const { state } of jobs) {
          if (state === "skipped") counters.skipped += 1;
          if (state === "unhandled") unhandled(event);
        }
      }
      // What they are told of is stored: it must not be answered 503 for one that throws.
      for (const listener of listeners)
        observers.call("expanded", () => listener({ id, delivery }, madeOf(events, seen, { id, delivery })));
    },
    arrived(event, delivery) {
      tell(event);
      direct(event, delivery);
    },
    unhandled,
    unhandledNames,
  };
}

interface Origin {
  readonly id: string;
  readonly delivery: Delivery;
}

function madeOf(events: readonly NewEvent[], seen: ReadonlySet<number>, origin: Origin): readonly Job[] {
  return events.flatMap(({ event, entry, jobs }, index) =>
    (seen.has(index) ? SKIPPED : jobs).map(({ state }) => toUnmade(state, { ...origin, entry, event })),
  );
}

const SKIPPED = [{ state: "skipped" }] as const;

/** A job by its place in the delivery: the inbox did not say its id, or made none. */
function toUnmade(
  state: JobState,
  { id, delivery, entry, event }: Origin & { readonly entry: number; readonly event: SingleEvent },
): Job {
  return { id: `${id}.${entry}`, state, event, receivedAt: new Date(delivery.receivedAt), deliveryId: id };
}

/**
 * What to do about a handler that wrote to its event; undefined for any other failure. An engine does not say what was written to, so
 * that a frozen object of the handler's own gets this fix too.
 */
export function fixOfFrozenWrite(thrown: unknown): string | undefined {
  const { name, message } = describeThrown(thrown);
  return name === "TypeError" && WRITE.test(message) ? FIX : undefined;
}

/** V8's words, and JavaScriptCore's for Bun. */
const WRITE = /read.?only property|delete property|redefine property|not extensible/i;

const FIX =
  "If it is the event that the handler writes to: events are frozen and shared, so copy it first, `structuredClone(event)`.";
