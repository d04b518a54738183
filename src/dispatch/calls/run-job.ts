import { ClosedError, HooklineError } from "../../errors.ts";
import { createCompactingMap } from "../../inbox/collections/compacting-map.ts";
import { MOST_DEATHS, SUSPECT_DEATHS } from "../../inbox/job-deaths.ts";
import type { Claim, JobOutcome, Settlement } from "../../inbox/port/claims.ts";
import type { CallSpan } from "../../observe/instruments.ts";
import type { Completions } from "./completions.ts";
import { createContext } from "./context.ts";
import { createDeadLetterListeners } from "../dead-letter-listeners.ts";
import type { DispatchDeps } from "../dispatch-deps.ts";
import { nextTurn } from "../event-loop.ts";
import type { RunLimits } from "../handlers.ts";
import { reportEnd, reportStart, type EndedCall } from "../job-reporter.ts";
import { eventAt } from "./job-view.ts";
import { toFacts, toMergedCall, type MergedCall } from "./merged-call.ts";
import { mergeEvents } from "./merged-event.ts";
import { catchRejection } from "../../thrown.ts";
import { SUSPECT_MS } from "../claims/poison-isolation.ts";
import { retryErrorOf } from "../retries/retry-errors.ts";
import { createRetryTime } from "../retries/retry-clock.ts";
import { accountDelay, outcomesOf, toJobError, type CallResult } from "../retries/retry-policy.ts";
import type { RunningCall } from "./run-handler.ts";
import { toDead, type Settle } from "../settle-queue.ts";

/** Runs claims: calls their handlers, decides what becomes of their jobs, and settles them. */
export interface JobRunner {
  /** A claim noted the time of first attempts: where the clock leaps between this and a failure, that is seen. */
  claimed(): void;
  /**
   * Starts a claim.
   * @param free its slot can be given to another claim; called once
   */
  start(claim: Claim, free: () => void): void;
  /** Claims were lost: their handlers' signals abort, their outcomes will not count. @returns whether some ran, and no other does */
  lose(claims: readonly Claim[]): boolean;
  /** Its jobs became dead letters, and its own outcomes were never taken. */
  buried(own: Settlement, outcomes: readonly JobOutcome[], error: Error): void;
  /** All handlers' signals abort; jobs whose handlers fail from here on are released. Listeners of onDead have a second more. */
  abortAll(reason: HooklineError): void;
  /** Jobs whose handlers run. */
  running(): number;
  /** Jobs whose handlers ended and that are not settled yet: a listener of onDead runs, or the inbox has not confirmed the outcome. */
  settling(): number;
  /** Jobs whose handlers succeeded. */
  done(): number;
  /** Jobs that were released. */
  released(): number;
}

export interface JobRunnerOptions {
  readonly settle: Settle;
  /** Where the inbox can settle in transactions of the application. */
  readonly completions: Completions | undefined;
  /** Nothing of this account and consumer is to start before: milliseconds since the epoch. */
  readonly delay: (consumer: string, accountId: number | undefined, until: number) => void;
  /** A handler runs on past its grace; its slot is free, unless too many are stuck. @returns to be called when it has ended */
  readonly overdue: (claim: Claim) => () => void;
  /** A handler has ended, and what its transaction decides is not known yet. */
  readonly unsettled: (claim: Claim) => void;
  /** A call has ended, and is settled later: its slot is free, and no settle that is answered would wake the loop. */
  readonly deferred: () => void;
  /** Nothing runs and nothing is being settled. */
  readonly ended: () => void;
}

/** How a handler ended. */
interface Ending extends Omit<EndedCall, "outcomes"> {
  readonly span: CallSpan | undefined;
}

export function createJobRunner(
  deps: DispatchDeps,
  { settle, completions, delay, overdue, unsettled, deferred, ended }: JobRunnerOptions,
): JobRunner {
  const { handlers, handlerCalls, services, log, clock, random } = deps;
  const { instruments } = deps.observers;
  const calls = createCompactingMap<Claim, { readonly running: RunningCall; readonly jobs: number }>();
  const retryTime = createRetryTime(clock);
  const listeners = createDeadLetterListeners(deps, reportInvalid);
  /** Warned of, once for each consumer and type: a whole backlog may have no handler. */
  const warned = new Set<string>();
  const lost = new WeakSet<Claim>();
  let settling = 0;
  let succeeded = 0;
  let released = 0;
  let closing = false;

  function start(claim: Claim, free: () => void): void {
    guard(claim, () => begin(claim, free), free);
  }

  function begin(claim: Claim, free: () => void): void {
    const call = toMergedCall(claim, handlers);
    const { registration, jobs, events } = call;
    if (registration === undefined || claim.jobs[0].deaths >= MOST_DEATHS) {
      if (registration === undefined) markUnhandled(call);
      const told = registration && deadLetter(call, registration.limits);
      freeAfter(told, free);
      return;
    }
    let told: Promise<void> | undefined;
    const controller = new AbortController();
    const startedAt = clock.now();
    const facts = toFacts(call, registration, { signal: controller.signal, now: startedAt, retryTime });
    const span = instruments.tracer?.call(facts, jobs);
    const ctx = createContext(facts, services, span?.logged);
    const isCompleted = completions?.offer(ctx, call);
    reportStart(call, startedAt, deps);
    let stuckEnded: (() => void) | undefined;
    const running = handlerCalls.start({
      registration,
      event: mergeEvents(events, registration),
      ctx,
      span,
      controller,
      timeoutMs: timeLimitOf(claim, registration.limits),
      free: () => freeAfter(told, free),
      ended: (result) => {
        calls.delete(claim);
        stuckEnded?.();
        const durationMs = clock.now() - startedAt;
        instruments.meter?.called(registration.consumer, durationMs);
        const end = (known: CallResult): void =>
          guard(claim, () => void (told = finish(call, registration.limits, { result: known, durationMs, span })));
        if (isCompleted?.() === true) endCompleted(call, result, end);
        else end(result);
      },
      overdue: () => void (stuckEnded = overdue(claim)),
    });
    if (running !== undefined) calls.set(claim, { running, jobs: jobs.length });
  }

  /** Where the listeners of very many calls run, further calls keep their slots until their own have ended, or for a second. */
  function freeAfter(told: Promise<void> | undefined, free: () => void): void {
    if (told === undefined || !listeners.areMany) return free();
    void told.then(free);
  }

  /** What an inbox gives may be damaged: a claim that cannot be run ends, and keeps no slot. @param failed called if it does */
  function guard(claim: Claim, run: () => void, failed?: () => void): void {
    try {
      run();
    } catch (err) {
      catchRejection(err);
      const error = new HooklineError("claim-invalid", "The inbox gave a job that cannot be read.", { cause: err });
      reportInvalid(err);
      settling += claim.jobs.length;
      const outcomes = toDead(claim, error, clock.now());
      settle({ claim, outcomes }, (settled) => {
        settling -= claim.jobs.length;
        if (settled) buried({ claim, outcomes: [] }, outcomes, error);
        if (settling === 0 && calls.size === 0) ended();
      });
      failed?.();
    }
  }

  function reportInvalid(err: unknown): void {
    deps.faultLog.error(
      { err, code: "claim-invalid" },
      "the inbox gave a job that cannot be read: it is to be a dead letter",
    );
  }

  const buried: JobRunner["buried"] = ({ claim, outcomes: own }, outcomes, error) => {
    try {
      const call = { jobs: claim.jobs, events: claim.jobs.map(eventAt) };
      reportEnd({ ...call, result: { ok: false, error }, durationMs: 0, outcomes }, deps);
      // For those that were to be dead the listeners were called before.
      const others = outcomes.map((outcome, index) => (own[index]?.to === "dead" ? toRelease() : outcome));
      settling += claim.jobs.length;
      void listeners.call(call, others, { timeoutMs: 0 }).then(() => {
        settling -= claim.jobs.length;
        if (settling === 0 && calls.size === 0) ended();
      });
    } catch (err) {
      reportInvalid(err);
    }
  };

  /** The transaction may still be open. */
  function endCompleted(call: MergedCall, result: CallResult, end: (known: CallResult) => void): void {
    const { claim } = call;
    settling += claim.jobs.length;
    void nextTurn().then(deferred);
    void completions
      ?.resultOf(call, result, { isOver: () => lost.has(claim), waits: () => unsettled(claim) })
      .then((known) => {
        settling -= claim.jobs.length;
        end(known);
      });
  }

  function finish(call: MergedCall, limits: RunLimits, { span, ...ending }: Ending): Promise<void> | undefined {
    const { claim, jobs } = call;
    const { result } = ending;
    deps.handlerEnded(call.events[0], result, claim.jobs[0].consumer);
    const until = result.ok ? undefined : accountDelay(result.error, clock.now());
    if (until !== undefined) delay(jobs[0]?.consumer ?? "", call.events[0].accountId, until);
    const rules = { ...limits, now: clock.now(), retryTime: result.ok ? 0 : retryTime(), random: random() };
    // A failure while closing may be due to the close; a retry error counts all the same.
    const isReleased = closing && !result.ok && retryErrorOf(result.error) === undefined;
    const outcomes = isReleased ? jobs.map(toRelease) : outcomesOf(jobs, result, rules);
    span?.end(lost.has(claim) ? "lost" : outcomes[0]?.to, result);
    const callsListeners = !lost.has(claim) && outcomes.some(({ to }) => to === "dead");
    return conclude(call, { ...ending, outcomes }, callsListeners ? limits : undefined);
  }

  /**
   * The process died each time that the job ran alone. After as many deaths again, listeners of onDead are not called: one of them may
   * be the cause.
   */
  function deadLetter(call: MergedCall, limits: RunLimits): Promise<void> | undefined {
    const { jobs } = call;
    const error = new HooklineError("process-died", "The process died each time it ran (process-died).");
    const outcomes = jobs.map((): JobOutcome => ({ to: "dead", error: toJobError(error, clock.now()) }));
    const isSafe = call.claim.jobs[0].deaths < 2 * MOST_DEATHS;
    return conclude(call, { result: { ok: false, error }, durationMs: 0, outcomes }, isSafe ? limits : undefined);
  }

  /**
   * @param listenerLimits the handler's; undefined: listeners of onDead are not called
   * @returns when listeners are waited for no more
   */
  function conclude(
    call: MergedCall,
    ending: EndedCall,
    listenerLimits: RunLimits | undefined,
  ): Promise<void> | undefined {
    settling += call.claim.jobs.length;
    const settleCall = (): void => {
      settleJobs(call, ending.outcomes, (settled) => {
        if (!settled) return;
        reportEnd({ ...call, ...ending }, deps);
        if (ending.result.ok) succeeded += call.jobs.length;
      });
    };
    const told = listenerLimits && listeners.call(call, ending.outcomes, listenerLimits);
    if (told === undefined) settleCall();
    else void nextTurn().then(deferred);
    return told?.then(settleCall);
  }

  /** Jobs of the claim that were not part of the call are released. */
  function settleJobs({ claim }: MergedCall, own: readonly JobOutcome[], then: (settled: boolean) => void): void {
    const outcomes = own.length === claim.jobs.length ? own : [...own, ...claim.jobs.slice(own.length).map(toRelease)];
    settle({ claim, outcomes }, (settled) => {
      then(settled);
      if (settled) released += outcomes.filter(({ to }) => to === "release").length;
      settling -= claim.jobs.length;
      if (settling === 0 && calls.size === 0) ended();
    });
  }

  /** A deploy removed the handler: the jobs free their lane, and wait for a handler. */
  function markUnhandled(call: MergedCall): void {
    const { type } = call.events[0];
    const { consumer } = call.claim.jobs[0];
    if (!warned.has(`${consumer} ${type}`)) {
      warned.add(`${consumer} ${type}`);
      log.warn(
        { code: "handler-gone", event: type, consumer },
        "jobs wait for a handler that this process does not have",
      );
    }
    settling += call.claim.jobs.length;
    const outcomes = call.jobs.map((): JobOutcome => ({ to: "unhandled" }));
    settleJobs(call, outcomes, () => {});
  }

  return {
    claimed: () => void retryTime(),
    start,
    buried,
    lose(claims) {
      const ran = claims.filter((claim) => !lost.has(claim) && calls.get(claim) !== undefined);
      for (const claim of claims) lost.add(claim);
      const reason = new ClosedError("claim-lost", "The job was taken away from its handler.");
      for (const claim of ran) calls.get(claim)?.running.abort(reason);
      return ran.length > 0 && [...calls.entries()].every(([claim]) => lost.has(claim));
    },
    abortAll(reason) {
      closing = true;
      listeners.close();
      for (const { running } of calls.values()) running.abort(reason);
    },
    running: () => [...calls.values()].reduce((count, { jobs }) => count + jobs, 0),
    settling: () => settling,
    done: () => succeeded,
    released: () => released,
  };
}

const toRelease = (): JobOutcome => ({ to: "release" });

/** All other jobs wait for a suspect. */
function timeLimitOf({ jobs }: Claim, { timeoutMs }: RunLimits): number {
  if (jobs[0].deaths < SUSPECT_DEATHS) return timeoutMs;
  return timeoutMs === 0 ? SUSPECT_MS : Math.min(timeoutMs, SUSPECT_MS);
}
