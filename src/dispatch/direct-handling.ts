import { LONGEST_TIMER_MS, passed } from "../clock.ts";
import { ClosedError } from "../errors.ts";
import type { IdentifiedDelivery } from "../inbox/port/delivery.ts";
import type { StorageKind } from "../inbox/port/inbox.ts";
import type { Seen } from "../inbox/port/seen-store.ts";
import { dedupeKeyOf } from "../protocol/dedupe-key.ts";
import { parseDocument } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import { ABORT_BEFORE_END_MS, withTimeout } from "../timeout.ts";
import { idempotencyKey } from "./calls/context.ts";
import { createDirectContext, type DirectContext } from "./calls/direct-context.ts";
import { eventsInParts, lastHandled } from "./delivery-events.ts";
import { isGivenUp, refuseTombstone, toHandleFailed, toStuck } from "./direct-errors.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import { createTurn, nextTurn } from "./event-loop.ts";
import { isSkipped, uniqueOf } from "./expand.ts";
import type { Registration } from "./handlers.ts";
import type { ExpansionReporter } from "./job-reporter.ts";
import { laneOf } from "./lane-key.ts";
import { mergeEvents } from "./calls/merged-event.ts";
import { createGate, type Gate } from "./gate.ts";
import { createOnce, type Once } from "./run-once.ts";
import type { RunningCall } from "./calls/run-handler.ts";

/** `receiver.handle` and `answer: "after-handlers"`: runs a delivery's events without an inbox, one after another, without merging. */
export interface DirectHandling {
  /**
   * @throws HooklineError `handle-failed` when a handler failed: the whole delivery must come again; `seen-busy` where that is all that is
   * in the way
   */
  handle(delivery: IdentifiedDelivery, options: DirectOptions): Promise<void>;
  /** Waits for running handlers, aborts them 5 s before the end, and then counts them as stuck. */
  stop(drainMs: number): Promise<{ readonly done: number; readonly stuck: number }>;
}

interface DirectOptions {
  readonly signal: AbortSignal | undefined;
  /** Until the signal aborts, milliseconds. @default no end */
  readonly mostMs?: number;
  /** Undefined: each delivery runs all handlers. */
  readonly seen: Seen | undefined;
  /** Of a queue, whose repetition has the same id. A request gets another one each time, and is known by its signature. */
  readonly isMessage: boolean;
}

/** One event for one handler. */
interface DirectJob extends Omit<DirectOptions, "seen"> {
  readonly delivery: IdentifiedDelivery;
  readonly event: SingleEvent;
  readonly entry: number;
  readonly registration: Registration;
  readonly once: Once | undefined;
  /** Where other calls of the delivery wait behind it: when its time is over, of {@link passed}. */
  readonly sharedUntil: number | undefined;
}

/** What a call holds until it ends. */
interface Places {
  free(): void;
  ended(): void;
  stuck(error: Error): void;
}

/** Without a time limit of the handler, milliseconds: as long as the longest of functions. */
const LEASE_MS = 15 * 60 * 1_000;
/** For the store, behind the handler's time and its grace. */
const LEASE_MARGIN_MS = 10_000;

/** @param apart deliveries share neither lanes nor `concurrency`: one must not wait for what another one began */
export function createDirectHandling(
  deps: DispatchDeps,
  reporter: Pick<ExpansionReporter, "arrived" | "unhandled">,
  { name, apart, storage }: { readonly name: string; readonly apart: boolean; readonly storage: StorageKind },
): DirectHandling {
  const { handlers, handlerCalls, services, clock, counters, observers, log, faultLog } = deps;
  const slots = createGate(deps.concurrency);
  const lanes = new Map<string, Gate>();
  const calls = new Set<RunningCall>();
  const handling = new Set<Promise<void>>();
  const ofQueue = storage === "memory" ? { ...services, unsubscribe: refuseTombstone } : services;
  let closed: ClosedError | undefined;
  let succeeded = 0;

  function assertOpen(signal: AbortSignal | undefined): void {
    if (closed !== undefined) throw closed;
    signal?.throwIfAborted();
  }

  function laneFor({ event, registration }: DirectJob): Gate | undefined {
    const lane = laneOf(event, registration);
    if (lane === undefined) return undefined;
    let gate = lanes.get(lane);
    if (gate === undefined) lanes.set(lane, (gate = createGate(1, () => lanes.delete(lane))));
    return gate;
  }

  /** Resolves after the lane's earlier calls, when a slot is free; rejects where the call is not to start. */
  async function enter(job: DirectJob): Promise<Places> {
    const { signal } = job;
    assertOpen(signal);
    if (apart) return { free() {}, ended() {}, stuck() {} };
    const lane = laneFor(job);
    const leaveLane = await lane?.enter(signal);
    const ended = (): void => leaveLane?.();
    let free: () => void;
    try {
      free = await slots.enter(signal);
    } catch (error) {
      ended();
      throw error;
    }
    return { free, ended, stuck: (error) => lane?.refuse(error) };
  }

  /** Where others wait, half of what is left, and half of the rest to end: one that hangs would keep them from running at each redelivery. */
  function limitsOf({ registration, sharedUntil }: DirectJob): { timeoutMs: number; graceMs?: number } {
    const { timeoutMs } = registration.limits;
    if (sharedUntil === undefined) return { timeoutMs };
    const leftMs = Math.max(sharedUntil - passed(clock), 2);
    const mostMs = Math.min(timeoutMs || Infinity, Math.floor(leftMs / 2));
    return { timeoutMs: mostMs, graceMs: Math.ceil((leftMs - mostMs) / 2) };
  }

  /** Rejects with what the handler threw, or when it is stuck. */
  function call(
    job: DirectJob,
    { free, ended, stuck }: Places,
    { controller, span, ctx }: DirectContext,
  ): Promise<void> {
    const { event, registration, signal } = job;
    const { meter } = observers.instruments;
    const startedAt = clock.now();
    return new Promise((resolve, reject) => {
      let running: RunningCall | undefined; // undefined yet when the handler ends at once
      const abort = (): void => running?.abort(signal?.reason);
      running = handlerCalls.start({
        registration,
        event: mergeEvents([event], registration),
        ctx,
        span,
        controller,
        ...limitsOf(job),
        free,
        ended(result) {
          if (running !== undefined) calls.delete(running);
          signal?.removeEventListener("abort", abort);
          ended();
          deps.handlerEnded(event, result, registration.consumer);
          meter?.called(registration.consumer, clock.now() - startedAt);
          const isDone = result.ok || isGivenUp(result.error, job, log);
          span?.end(isDone ? "done" : "retry", result);
          if (isDone) resolve();
          else reject((result as { readonly error: unknown }).error);
        },
        // The delivery does not wait for it, nor does anything that would only wait for its lane: whoever brought them brings them again.
        overdue() {
          const error = toStuck(controller.signal.reason);
          stuck(error);
          reject(error);
        },
      });
      if (running === undefined) return;
      calls.add(running);
      if (signal?.aborted === true) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** @returns why it is to come again: what handlers threw, or why they were not called */
  async function runAll(
    delivery: IdentifiedDelivery,
    options: Omit<DirectJob, "delivery" | "event" | "entry" | "registration" | "sharedUntil">,
  ): Promise<readonly unknown[]> {
    const { signal, once, mostMs } = options;
    const document = parseDocument(delivery.body);
    const endsAt = mostMs && passed(clock) + mostMs;
    const last = endsAt && (await lastHandled(document, (type) => handlers.routes(type).length > 0));
    const errors: unknown[] = [];
    const isOver = (): boolean => signal?.aborted === true || once?.hanging !== undefined;
    const atOnce = (): readonly unknown[] => (errors.length === 0 ? [once?.hanging ?? signal?.reason] : errors);
    const turn = createTurn(); // a delivery may have a hundred thousand events
    for (const [entry, event] of eventsInParts(document)) {
      if (turn.isOver()) await nextTurn();
      if (isOver()) return atOnce();
      const routes = handlers.routes(event.type);
      reporter.arrived(event, delivery);
      if (routes.length === 0 && !isSkipped(event, handlers)) reporter.unhandled(event, false);
      for (const registration of routes) {
        if (isOver()) return atOnce();
        const sharedUntil = entry === last && registration === routes.at(-1) ? undefined : endsAt;
        await runOne({ delivery, event, entry, registration, sharedUntil, ...options }).catch((error: unknown) =>
          errors.push(error),
        );
      }
    }
    return errors;
  }

  /** Until nothing runs any more that may take so long, and what is stuck is known to be: milliseconds. */
  const leaseFor = (ms: number): number =>
    Math.min(Math.ceil(ms + handlerCalls.graceMs + LEASE_MARGIN_MS), LONGEST_TIMER_MS);

  /** @returns whether it ran: not if it was done before */
  async function callUnseen(job: DirectJob, places: Places): Promise<boolean> {
    const { delivery, event, entry, registration, isMessage, mostMs = LONGEST_TIMER_MS, once } = job;
    const { consumer, limits } = registration;
    let isTaken = false; // whoever calls the handler frees them
    const run = async (): Promise<void> => {
      // Since it waits for the store the time may be over, or the receiver closed.
      assertOpen(job.signal);
      const context = createDirectContext(job, job.isMessage ? ofQueue : services, observers.instruments.tracer);
      isTaken = true;
      await call(job, places, context);
    };
    try {
      if (once === undefined) {
        await run();
        return true;
      }
      const isDuplicateKey = dedupeKeyOf(event) !== undefined;
      const id = isMessage && !isDuplicateKey ? `${delivery.id}:` : "";
      const key = idempotencyKey({ consumer, event, delivery, entry, replayOf: undefined, jobId: "" });
      // The same key with other content is another event, as for an inbox.
      const { content = "" } = uniqueOf(event, undefined) ?? {};
      return await once.run(`${name}:${id}${key}:${content}`, run, {
        leaseMs: leaseFor(Math.min(limits.timeoutMs || LEASE_MS, mostMs)),
        isKept: isMessage || isDuplicateKey,
      });
    } finally {
      if (!isTaken) {
        places.free();
        places.ended();
      }
    }
  }

  async function runOne(job: DirectJob): Promise<void> {
    const places = await enter(job);
    const { meter } = observers.instruments;
    const { event, registration } = job;
    try {
      if (!(await callUnseen(job, places))) {
        counters.duplicates += 1;
        return;
      }
    } catch (error) {
      counters.failed += 1;
      meter?.failed(registration.consumer, event.type);
      throw error;
    }
    counters.succeeded += 1;
    meter?.finished(registration.consumer, event.type, "done");
    succeeded += 1;
  }

  async function handle(delivery: IdentifiedDelivery, { seen, ...options }: DirectOptions): Promise<void> {
    const { mostMs = LONGEST_TIMER_MS } = options;
    const { source = "", signature } = delivery;
    const once =
      seen &&
      createOnce(seen, {
        clock,
        log: faultLog,
        delivery: `${name}:${source}:${signature}`,
        mostMs,
        leaseMs: leaseFor(mostMs),
        assertOpen: () => assertOpen(options.signal),
      });
    const errors = await runAll(delivery, { ...options, once });
    await once?.end(errors.length === 0 && options.signal?.aborted !== true);
    if (errors.length > 0) throw toHandleFailed(errors);
  }

  return {
    async handle(delivery, options) {
      handlers.seal();
      const handled = handle(delivery, options);
      handling.add(handled);
      try {
        await handled;
      } finally {
        handling.delete(handled);
      }
    },
    async stop(drainMs) {
      const [before, all] = [succeeded, Promise.allSettled(handling)];
      await withTimeout(drainMs - ABORT_BEFORE_END_MS, all, { clock, late: undefined });
      closed = new ClosedError("closed", "The receiver is closing.");
      for (const gate of [slots, ...lanes.values()]) gate.refuse(closed);
      for (const running of calls) running.abort(closed);
      await withTimeout(Math.min(drainMs, ABORT_BEFORE_END_MS), all, { clock, late: undefined });
      return { done: succeeded - before, stuck: calls.size };
    },
  };
}
