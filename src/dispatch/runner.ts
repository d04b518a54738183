import type { HooklineError } from "../errors.ts";
import { createChurnMap } from "../inbox/churn-map.ts";
import type { Claim, ClaimedJob, JobOutcome, Settlement } from "../inbox/port.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { compose, startCall, type RunningCall } from "./call.ts";
import { createContext, type CallFacts } from "./context.ts";
import type { Handler, RunLimits } from "./handler.ts";
import type { Handlers, Registration } from "./handlers.ts";
import { toJobOf } from "./job-view.ts";
import { mergeKeyOf } from "./lanes.ts";
import { mergeEvents } from "./merge.ts";
import { announceDead } from "./on-dead.ts";
import type { WorkParts } from "./parts.ts";
import { eventAt } from "./read-back.ts";
import { reportEnd, reportStart } from "./report.ts";
import { isLastAttempt, outcomesOf, type CallResult } from "./settle.ts";
import { createStuck } from "./stuck.ts";

/** Claims on their way: called, ended, settled. */
export interface Runner {
  /**
   * Begins a claim.
   * @param free its slot can be given to another; called once
   */
  start(claim: Claim, free: () => void): void;
  /** Its claim was lost: the handler is told, its outcome will not count. */
  abort(claim: Claim, reason: HooklineError): void;
  /** All handlers are told; what fails from here on is released. */
  abortAll(reason: HooklineError): void;
  /** Jobs whose handlers run. */
  running(): number;
  /** Calls that ended and are not settled yet. */
  settling(): number;
  /** Handlers past their grace, with a slot or without. */
  stuck(): number;
  /** As many are stuck as may be: they keep their slots, and nothing more is to be claimed. */
  jammed(): boolean;
  /** Jobs whose handlers ended well. */
  done(): number;
  /** Jobs that were given back because of `abortAll`. */
  released(): number;
}

interface Call {
  readonly claim: Claim;
  /** Those that go together, oldest first. */
  readonly jobs: readonly ClaimedJob[];
  readonly events: readonly [SingleEvent, ...SingleEvent[]];
  readonly registration: Registration | undefined;
}

interface Ended {
  readonly result: CallResult;
  readonly durationMs: number;
}

export interface RunnerOptions {
  /** Resolves when the inbox has it: false when the claim was lost. */
  readonly settle: (settlement: Settlement) => Promise<boolean>;
  /** Nothing runs and nothing is being settled. */
  readonly rested: () => void;
}

export function createRunner(parts: WorkParts, { settle, rested }: RunnerOptions): Runner {
  const { handlers, middleware, services, log, clock, random, graceMs, maxStuck } = parts;
  const calls = createChurnMap<Claim, { readonly running: RunningCall; readonly jobs: number }>();
  const composed = new WeakMap<Registration, Handler>();
  /** Warned of: once for each consumer and type, because a whole backlog may be of them. */
  const missed = new Set<string>();
  const stuck = createStuck(maxStuck);
  let settling = 0;
  let done = 0;
  let released = 0;
  let closing = false;

  function handlerOf(registration: Registration): Handler {
    if (middleware.length === 0) return registration.handler;
    let handler = composed.get(registration);
    if (handler === undefined) composed.set(registration, (handler = compose(middleware, registration.handler)));
    return handler;
  }

  async function finish(call: Call, limits: RunLimits, { result, durationMs }: Ended): Promise<void> {
    const { claim, jobs, events } = call;
    const now = clock.now();
    const outcomes =
      !result.ok && closing ? jobs.map(release) : outcomesOf(jobs, result, { ...limits, now, random: random() });
    settling += 1;
    if (!result.ok) await announceAll(call, outcomes, limits);
    const settled = await settle({ claim, outcomes: withRest(outcomes, claim) });
    if (settled) reportEnd({ jobs, events, result, outcomes, durationMs }, parts);
    if (settled && result.ok) done += jobs.length;
    if (settled && closing) released += outcomes.filter(({ to }) => to === "release").length;
    settling -= 1;
    if (settling === 0 && calls.size === 0) rested();
  }

  async function announceAll(
    { jobs, events }: Call,
    outcomes: readonly JobOutcome[],
    limits: RunLimits,
  ): Promise<void> {
    for (const [index, outcome] of outcomes.entries()) {
      const [job, event] = [jobs[index], events[index]];
      if (outcome.to !== "dead" || job === undefined || event === undefined) continue;
      const { error } = outcome;
      await announceDead(toJobOf(job, event, { state: "dead", error, settledAt: error.at }), limits.timeoutMs, parts);
    }
  }

  /** Its handler went with a deploy: the jobs wait for one, and free their lane. */
  async function strand({ claim, jobs, events }: Call): Promise<void> {
    const { type } = events[0];
    const { consumer } = claim.jobs[0];
    if (!missed.has(`${consumer} ${type}`)) {
      missed.add(`${consumer} ${type}`);
      log.warn(
        { code: "handler-gone", event: type, consumer },
        "jobs wait for a handler that this process does not have",
      );
    }
    settling += 1;
    const outcomes = jobs.map((): JobOutcome => ({ to: "unhandled" }));
    await settle({ claim, outcomes: withRest(outcomes, claim) });
    settling -= 1;
    if (settling === 0 && calls.size === 0) rested();
  }

  function start(claim: Claim, free: () => void): void {
    const call = toCall(claim, handlers);
    const { registration, jobs, events } = call;
    if (registration === undefined) {
      void strand(call);
      free();
      return;
    }
    const controller = new AbortController();
    const startedAt = clock.now();
    const ctx = createContext(factsOf(call, registration, { signal: controller.signal, now: startedAt }), services);
    const handler = handlerOf(registration);
    const event = mergeEvents(events, registration);
    let giveBackSlot = free;
    let over = false;
    reportStart(call, parts);
    const running = startCall(() => handler(event, ctx), {
      controller,
      timeoutMs: registration.limits.timeoutMs,
      graceMs,
      clock,
      ended: (result) => {
        over = true;
        calls.delete(claim);
        void finish(call, registration.limits, { result, durationMs: clock.now() - startedAt });
        giveBackSlot();
      },
      overdue: () => {
        giveBackSlot = stuck.add(free);
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
    abort: (claim, reason) => calls.get(claim)?.running.abort(reason),
    abortAll(reason) {
      closing = true;
      for (const { running } of calls.values()) running.abort(reason);
    },
    running: () => [...calls.values()].reduce((count, { jobs }) => count + jobs, 0),
    settling: () => settling,
    stuck: () => stuck.size,
    jammed: () => stuck.jammed,
    done: () => done,
    released: () => released,
  };
}

/** Those of a claim that go together today: handlers may have changed since its jobs were made. */
function toCall(claim: Claim, handlers: Handlers): Call {
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
function factsOf(
  { jobs, events }: Call,
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

/** Those of the claim that were not part of the call are given back. */
function withRest(outcomes: readonly JobOutcome[], { jobs }: Claim): readonly JobOutcome[] {
  return outcomes.length === jobs.length ? outcomes : [...outcomes, ...jobs.slice(outcomes.length).map(release)];
}

function release(): JobOutcome {
  return { to: "release" };
}
