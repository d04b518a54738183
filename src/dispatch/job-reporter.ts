import type { ClaimedJob, JobOutcome } from "../inbox/port/claims.ts";
import type { Delivery, Expanded, NewEvent } from "../inbox/port/delivery.ts";
import type { Job, JobState } from "../inbox/port/jobs.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import { describeThrown } from "../thrown.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import { toJobOf } from "./calls/job-view.ts";
import { isBroughtForward, toJobError, type CallResult } from "./retries/retry-policy.ts";

/** Counts, logs and observes events when they are expanded, each once. */
export interface ExpansionReporter {
  /** A part of a delivery was expanded: duplicates made no job. */
  expanded(origin: Origin, events: readonly NewEvent[], result: Expanded): void;
  /** An event goes to its handlers without an inbox. */
  arrived(event: SingleEvent, delivery: Delivery): void;
  /** No consumer handles such an event. */
  unhandled(event: SingleEvent, isStored: boolean): void;
  /** The names that no consumer handled, each with its number of events. */
  readonly unhandledNames: ReadonlyMap<string, number>;
}

/** A part of a delivery was expanded to these jobs. The id of one that waits is only its place in the delivery. */
export type ExpandedListener = (origin: Origin, jobs: readonly Job[]) => void;

interface Origin {
  readonly id: string;
  readonly delivery: Delivery;
}

export interface ExpansionReporterOptions {
  /** Log events' content at level debug. */
  readonly logContent: boolean;
  /** For tools of this package: `receiver.observe` has no such moment. */
  readonly listeners: ReadonlySet<ExpandedListener>;
  /** Notes what an event says of its subscription, where no inbox does. */
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

  function logEvent(event: SingleEvent): void {
    if (logContent) log.debug({ event }, "an event");
    if (event.type !== "lifecycle.error") return;
    const { subscription, accountId, resource, error } = event;
    // A calendar's id is often somebody's address.
    const content = logContent ? { resource } : {};
    log.error(
      { code: "subscription-errored", subscription, accountId, error, ...content },
      "a subscription is in trouble: its account may have to be authorised again",
    );
  }

  /** Names are few: only the known types and "unknown" come here. */
  function unhandled({ type }: SingleEvent, isStored: boolean): void {
    const before = unhandledNames.get(type) ?? 0;
    unhandledNames.set(type, before + 1);
    if (before > 0) return;
    const fix = `Register receiver.on("${type}", handler); what came until then ${isStored ? "waits for it" : "is gone"}.`;
    log.warn({ code: "unhandled", event: type, fix }, "no handler for such an event");
  }

  return {
    expanded(origin, events, given) {
      const [duplicates, conflicts] = [toList(given.duplicates), toList(given.conflicts)];
      counters.duplicates += duplicates.length;
      counters.conflicts += conflicts.length;
      for (const index of conflicts) {
        const facts = { code: "conflict", deliveryId: origin.id, event: events[index]?.event.type };
        log.warn(facts, "an event came again with other content");
      }
      const isDuplicate = new Set(duplicates);
      for (const [index, made] of events.entries()) {
        if (isDuplicate.has(index)) {
          observers.notify("duplicate", () => ({ job: toExpandedJob("skipped", origin, made) }));
          continue;
        }
        logEvent(made.event);
        for (const { state } of made.jobs) {
          if (state === "skipped") {
            counters.skipped += 1;
            observers.instruments.meter?.finished(undefined, made.event.type, "skipped");
          }
          if (state === "unhandled") unhandled(made.event, true);
        }
      }
      // The delivery is stored: a listener that throws must not turn the answer into a 503.
      for (const listener of listeners)
        observers.call("expanded", () =>
          listener(
            origin,
            events.flatMap((made, index) =>
              (isDuplicate.has(index) ? SKIPPED : made.jobs).map(({ state }) => toExpandedJob(state, origin, made)),
            ),
          ),
        );
    },
    arrived(event, delivery) {
      logEvent(event);
      direct(event, delivery);
    },
    unhandled,
    unhandledNames,
  };
}

const SKIPPED = [{ state: "skipped" }] as const;

/** A job by its place in the delivery: the inbox gave no id, or made no job. */
function toExpandedJob(
  state: JobState,
  { id, delivery }: Origin,
  { entry, event }: Pick<NewEvent, "entry" | "event">,
): Job {
  return { id: `${id}.${entry}`, state, event, receivedAt: new Date(delivery.receivedAt), deliveryId: id };
}

/** The jobs of a call with their events, oldest first. */
export interface CallJobs {
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly SingleEvent[];
}

/** How a call ended, and what becomes of its jobs. */
export interface EndedCall {
  readonly result: CallResult;
  readonly durationMs: number;
  readonly outcomes: readonly JobOutcome[];
}

export function reportStart(call: CallJobs, now: number, { observers }: Pick<DispatchDeps, "observers">): void {
  const { meter } = observers.instruments;
  eachOf(call, (job, event) => {
    meter?.began(job, now);
    observers.notify("started", () => ({ job: toJobOf(job, event) }));
  });
}

/** Counts, logs and observes what was settled, and nothing of a lost claim. */
export function reportEnd(
  { result, outcomes, durationMs, ...call }: CallJobs & EndedCall,
  { observers, counters, clock, log }: Pick<DispatchDeps, "observers" | "counters" | "clock" | "log">,
): void {
  const { jobs, events } = call;
  if (outcomes.every(({ to }) => to === "release")) return;
  const settledAt = clock.now();
  const { meter } = observers.instruments;
  counters.merged += jobs.length - 1;
  if (result.ok) {
    counters.succeeded += jobs.length;
    eachOf(call, (job, event, index) => {
      meter?.finished(job.consumer, event.type, index < jobs.length - 1 ? "merged" : "done");
      observers.notify("succeeded", () => ({ job: toJobOf(job, event, { state: "done", settledAt }), durationMs }));
    });
    return;
  }
  const { error: thrown } = result;
  const error = toJobError(thrown, settledAt);
  // `RetryLater`: nothing has failed.
  const askedForTime = outcomes.every((outcome) => outcome.to === "retry" && !outcome.counted);
  const facts = {
    jobId: jobs.at(-1)?.id,
    event: events.at(-1)?.type,
    attempt: jobs[0]?.attempt,
    merged: jobs.length,
    outcome: outcomes[0]?.to,
  };
  if (askedForTime && outcomes.some((outcome) => isBroughtForward(thrown, outcome))) {
    log.warn(
      { ...facts, code: "retry-later-beyond" },
      "a handler asked for a time beyond `retryForMs`: the job is tried when that ends",
    );
  } else if (askedForTime) {
    log.debug(facts, "a handler asked to be tried again later");
  } else {
    counters.failed += jobs.length;
    const fix = fixOfFrozenWrite(thrown);
    log.warn({ ...facts, err: thrown, ...(fix !== undefined && { fix }) }, "a handler failed");
  }
  eachOf(call, (job, event, index) => {
    const outcome = outcomes[index];
    if (!askedForTime) {
      meter?.failed(job.consumer, event.type);
      observers.notify("failed", () => ({ job: toJobOf(job, event, { error }), error: thrown, durationMs }));
    }
    if (outcome?.to === "retry") {
      counters.retried += 1;
      observers.notify("retried", () => ({
        job: toJobOf(job, event, { state: "waiting", error, runAt: outcome.at }),
        error: thrown,
      }));
    } else if (outcome?.to === "dead") {
      counters.dead += 1;
      meter?.finished(job.consumer, event.type, "dead");
      observers.notify("dead", () => ({
        job: toJobOf(job, event, { state: "dead", error, settledAt }),
        error: thrown,
      }));
    }
  });
}

function eachOf(
  { jobs, events }: CallJobs,
  report: (job: ClaimedJob, event: SingleEvent, index: number) => void,
): void {
  for (const [index, job] of jobs.entries()) report(job, events[index] as SingleEvent, index);
}

/**
 * The fix for a handler that wrote to its event; undefined for any other failure. An engine does not say which object was written to,
 * so that a frozen object of the handler's own gets this fix too.
 */
export function fixOfFrozenWrite(thrown: unknown): string | undefined {
  const { name, message } = describeThrown(thrown);
  return name === "TypeError" && FROZEN_WRITE.test(message) ? COPY_FIRST : undefined;
}

/** V8's words, and JavaScriptCore's for Bun. */
const FROZEN_WRITE = /read.?only property|delete property|redefine property|not extensible/i;

const COPY_FIRST =
  "If it is the event that the handler writes to: events are frozen and shared, so copy it first, `structuredClone(event)`.";

/** An inbox of somebody else's may leave it out: what is stored must not be refused for that. */
function toList(given: unknown): readonly number[] {
  return Array.isArray(given) ? given : [];
}
