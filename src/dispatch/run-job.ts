import { ClosedError, HooklineError } from "../errors.ts";
import { createCompactingMap } from "../inbox/collections/compacting-map.ts";
import type { Claim, JobOutcome, ClaimedJob } from "../inbox/port/claims.ts";
import { MOST_DEATHS, SUSPECT_DEATHS } from "../inbox/job-state.ts";
import { compose, startCall, type RunningCall, createHungHandlers } from "./run-handler.ts";
import { createContext, type CallFacts } from "./context.ts";
import type { Handler, RunLimits, Registration, Handlers } from "./handlers.ts";
import { mergeEvents } from "./merge.ts";
import { callDeadLetterListeners } from "./dead-letter-listeners.ts";
import type { DispatchDeps } from "./deps.ts";
import { reportEnd, reportStart } from "./reporter.ts";
import { isRetryError, outcomesOf, toJobError, type CallResult, isLastAttempt } from "./retry-policy.ts";
import type { Settle } from "./settle-queue.ts";
import { SUSPECT_MS } from "./poison.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { mergeKeyOf } from "./lane-key.ts";
import { eventAt } from "./job-view.ts";

/** Claims on their way: called, ended, settled. */
export interface JobRunner {
  /**
   * Begins a claim.
   * @param free its slot can be given to another; called once
   */
  start(claim: Claim, free: () => void): void;
  /** Its claim was lost: the handler is told, its outcome will not count. */
  lose(claim: Claim): void;
  /** All handlers are told; what fails from here on is released. */
  abortAll(reason: HooklineError): void;
  /** Jobs whose handlers run. */
  running(): number;
  /** Jobs whose handlers ended and that are not settled yet: a listener of onDead runs, or the inbox has not taken it. */
  settling(): number;
  /** Handlers past their grace, with a slot or without. */
  stuck(): number;
  /** As many are stuck as may be: they keep their slots, and nothing more is to be claimed. */
  jammed(): boolean;
  /** Jobs whose handlers ended well. */
  done(): number;
  /** Jobs that were given back. */
  released(): number;
}

interface Ended {
  readonly result: CallResult;
  readonly durationMs: number;
}

interface Outcomes {
  readonly outcomes: readonly JobOutcome[];
}

export interface JobRunnerOptions {
  /** Tells when the inbox has it: false when the claim was lost. A callback, because a promise for each job costs more than its settle. */
  readonly settle: Settle;
  /** A handler runs on past its grace; its slot was given back, unless too many are stuck. */
  readonly overdue: (claim: Claim) => void;
  /** Nothing runs and nothing is being settled. */
  readonly rested: () => void;
}

export function createJobRunner(parts: DispatchDeps, { settle, overdue, rested }: JobRunnerOptions): JobRunner {
  const { handlers, middleware, services, log, clock, random, graceMs, maxStuck } = parts;
  const calls = createCompactingMap<Claim, { readonly running: RunningCall; readonly jobs: number }>();
  const composed = new WeakMap<Registration, Handler>();
  /** Warned of: once for each consumer and type, because a whole backlog may be of them. */
  const missed = new Set<string>();
  /** Nothing is told of how they end. */
  const lost = new WeakSet<Claim>();
  const stuck = createHungHandlers(maxStuck);
  let settling = 0;
  let succeeded = 0;
  let released = 0;
  let closing = false;

  function handlerOf(registration: Registration): Handler {
    if (middleware.length === 0) return registration.handler;
    let handler = composed.get(registration);
    if (handler === undefined) composed.set(registration, (handler = compose(middleware, registration.handler)));
    return handler;
  }

  function finish(call: MergedCall, limits: RunLimits, ended: Ended): void {
    const { jobs } = call;
    const { result } = ended;
    const rules = { ...limits, now: clock.now(), random: random() };
    // What fails while closing may fail because of it; what the handler asks for counts all the same.
    const givenBack = closing && !result.ok && !isRetryError(result.error);
    const outcomes = givenBack ? jobs.map(release) : outcomesOf(jobs, result, rules);
    const announced = lost.has(call.claim) || outcomes.every(({ to }) => to !== "dead");
    conclude(call, { ...ended, outcomes }, announced ? undefined : limits);
  }

  /** The process died over it, and it was alone. A listener over which it dies as often is not asked again: a death may be any other's. */
  function bury(call: MergedCall, limits: RunLimits): void {
    const { jobs } = call;
    const error = new HooklineError("process-died", "The process died each time that this job ran.");
    const outcomes = jobs.map((): JobOutcome => ({ to: "dead", error: toJobError(error, clock.now()) }));
    const ended = { result: { ok: false, error }, durationMs: 0, outcomes } as const;
    conclude(call, ended, (jobs[0]?.deaths ?? 0) < 2 * MOST_DEATHS ? limits : undefined);
  }

  /** @param announce of those that die: the limits of their handler */
  function conclude(call: MergedCall, ended: Ended & Outcomes, announce: RunLimits | undefined): void {
    settling += call.jobs.length;
    const settleIt = (): void => settleCall(call, ended);
    if (announce === undefined) settleIt();
    else void callDeadLetterListeners(call, ended.outcomes, { timeoutMs: announce.timeoutMs, ...parts }).then(settleIt);
  }

  function settleCall(call: MergedCall, { result, durationMs, outcomes }: Ended & Outcomes): void {
    const { claim, jobs, events } = call;
    const all = withRest(outcomes, claim);
    settle({ claim, outcomes: all }, (settled) => {
      if (settled) reportEnd({ jobs, events, result, outcomes, durationMs }, parts);
      if (settled && result.ok) succeeded += jobs.length;
      if (settled) released += all.filter(({ to }) => to === "release").length;
      rest(jobs.length);
    });
  }

  function rest(jobs: number): void {
    settling -= jobs;
    if (settling === 0 && calls.size === 0) rested();
  }

  /** Its handler went with a deploy: the jobs wait for one, and free their lane. */
  function strand({ claim, jobs, events }: MergedCall): void {
    const { type } = events[0];
    const { consumer } = claim.jobs[0];
    if (!missed.has(`${consumer} ${type}`)) {
      missed.add(`${consumer} ${type}`);
      log.warn(
        { code: "handler-gone", event: type, consumer },
        "jobs wait for a handler that this process does not have",
      );
    }
    settling += jobs.length;
    const outcomes = jobs.map((): JobOutcome => ({ to: "unhandled" }));
    settle({ claim, outcomes: withRest(outcomes, claim) }, () => rest(jobs.length));
  }

  function start(claim: Claim, free: () => void): void {
    const call = toMergedCall(claim, handlers);
    const { registration, jobs, events } = call;
    if (registration === undefined || isFatal(claim)) {
      if (registration === undefined) strand(call);
      else bury(call, registration.limits);
      free();
      return;
    }
    const controller = new AbortController();
    const startedAt = clock.now();
    const ctx = createContext(toFacts(call, registration, { signal: controller.signal, now: startedAt }), services);
    const handler = handlerOf(registration);
    const event = mergeEvents(events, registration);
    let giveBackSlot = free;
    let over = false;
    reportStart(call, parts);
    const running = startCall(() => handler(event, ctx), {
      controller,
      timeoutMs: timeLimitOf(claim, registration.limits),
      graceMs,
      clock,
      ended: (result) => {
        over = true;
        calls.delete(claim);
        finish(call, registration.limits, { result, durationMs: clock.now() - startedAt });
        giveBackSlot();
      },
      overdue: () => {
        giveBackSlot = stuck.add(free);
        overdue(claim);
        log.error(
          { code: "handler-stuck", jobId: jobs.at(-1)?.id, event: event.type, stuck: stuck.size },
          "a handler ignores its signal: it keeps its lane until it ends",
        );
      },
    });
    if (!over) calls.set(claim, { running, jobs: jobs.length });
  }

  return {
    start,
    lose(claim) {
      lost.add(claim);
      calls.get(claim)?.running.abort(new ClosedError("claim-lost", "The job was taken away from its handler."));
    },
    abortAll(reason) {
      closing = true;
      for (const { running } of calls.values()) running.abort(reason);
    },
    running: () => [...calls.values()].reduce((count, { jobs }) => count + jobs, 0),
    settling: () => settling,
    stuck: () => stuck.size,
    jammed: () => stuck.jammed,
    done: () => succeeded,
    released: () => released,
  };
}

/** Those of the claim that were not part of the call are given back. */
function withRest(outcomes: readonly JobOutcome[], { jobs }: Claim): readonly JobOutcome[] {
  return outcomes.length === jobs.length ? outcomes : [...outcomes, ...jobs.slice(outcomes.length).map(release)];
}

function release(): JobOutcome {
  return { to: "release" };
}

/** It is not run again. */
function isFatal({ jobs }: Claim): boolean {
  return jobs[0].deaths >= MOST_DEATHS;
}

/** All others wait for a suspect. */
function timeLimitOf({ jobs }: Claim, { timeoutMs }: RunLimits): number {
  if (jobs[0].deaths < SUSPECT_DEATHS) return timeoutMs;
  return timeoutMs === 0 ? SUSPECT_MS : Math.min(timeoutMs, SUSPECT_MS);
}

/** One call of a handler: the jobs of a claim that go together, oldest first. */
interface MergedCall {
  readonly claim: Claim;
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly [SingleEvent, ...SingleEvent[]];
  readonly registration: Registration | undefined;
}

/** Those of a claim that go together today: handlers may have changed since its jobs were made. */
function toMergedCall(claim: Claim, handlers: Handlers): MergedCall {
  const { consumer, delivery } = claim.jobs[0];
  const events = claim.jobs.map(eventAt) as [SingleEvent, ...SingleEvent[]]; // as many as jobs: at least one
  const registration = handlers.find(consumer, events[0].type);
  const whole = { claim, jobs: claim.jobs, events, registration };
  if (events.length === 1) return whole;
  const mergeKey = registration && mergeKeyOf(events[0], registration, delivery.source);
  const other = events.findIndex((event, index) => {
    if (index === 0) return false;
    if (handlers.find(consumer, event.type) !== registration) return true;
    if (registration === undefined) return false;
    return mergeKey === undefined || mergeKeyOf(event, registration, delivery.source) !== mergeKey;
  });
  if (other === -1) return whole;
  return {
    ...whole,
    jobs: claim.jobs.slice(0, other),
    events: events.slice(0, other) as [SingleEvent, ...SingleEvent[]],
  };
}

/** The back-off is the oldest job's, what names the call is the newest's. */
function toFacts(
  { jobs, events }: MergedCall,
  { limits, consumer }: Registration,
  { signal, now }: { readonly signal: AbortSignal; readonly now: number },
): CallFacts {
  const [oldest, newest] = [jobs[0], jobs.at(-1)] as [ClaimedJob, ClaimedJob];
  return {
    signal,
    attempt: oldest.attempt,
    lastAttempt: jobs.every((job) => isLastAttempt(job, limits, now)),
    merged: jobs.length,
    event: events.at(-1) ?? events[0],
    entry: newest.entry,
    jobId: newest.id,
    deliveryId: newest.deliveryId,
    consumer,
    replayOf: newest.replayOf,
    delivery: newest.delivery,
  };
}
