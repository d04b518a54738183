import PQueue from "p-queue";
import { ClosedError, HooklineError } from "../errors.ts";
import type { IdentifiedDelivery } from "../inbox/port/delivery.ts";
import { eventsOf, parseDocument } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import { ABORT_BEFORE_END_MS, withTimeout } from "../timeout.ts";
import { createContext } from "./context.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import type { Registration } from "./handlers.ts";
import { fixOfFrozenWrite, type ExpansionReporter } from "./job-reporter.ts";
import { laneOf } from "./lane-key.ts";
import { mergeEvents } from "./merged-event.ts";
import { retryErrorOf } from "./retry-errors.ts";
import { compose, startCall, type RunningCall } from "./run-handler.ts";

/** `receiver.handle` and `answer: "after-handlers"`: runs a delivery's events without an inbox, one after another, without merging. */
export interface DirectHandling {
  /** @throws HooklineError `handle-failed` when a handler failed: the whole delivery must come again */
  handle(delivery: IdentifiedDelivery, signal: AbortSignal | undefined): Promise<void>;
  /** Waits for running handlers, aborts them 5 s before the end, and then counts them as stuck. */
  stop(drainMs: number): Promise<{ readonly done: number; readonly stuck: number }>;
}

/** One event for one handler. */
interface DirectJob {
  readonly delivery: IdentifiedDelivery;
  readonly event: SingleEvent;
  readonly entry: number;
  readonly registration: Registration;
  readonly signal: AbortSignal | undefined;
}

/** @param apart deliveries share neither lanes nor `concurrency`: one must not wait for what another one began */
export function createDirectHandling(
  { handlers, middleware, services, clock, counters, concurrency, graceMs, handlerEnded }: DispatchDeps,
  reporter: Pick<ExpansionReporter, "arrived" | "unhandled">,
  { apart }: { readonly apart: boolean },
): DirectHandling {
  const queue = new PQueue({ concurrency });
  /** The end of each lane's last call. */
  const laneEnds = new Map<string, Promise<void>>();
  const calls = new Set<RunningCall>();
  const handling = new Set<Promise<void>>();
  let succeeded = 0;

  /** Rejects with what the handler threw. Waits for ever for a handler that never ends: the user's queue has a time limit of its own. */
  function run({ delivery, event, entry, registration, signal }: DirectJob): Promise<void> {
    signal?.throwIfAborted();
    const controller = new AbortController();
    const ctx = createContext(
      {
        signal: controller.signal,
        attempt: 1,
        lastAttempt: false,
        merged: 1,
        event,
        entry,
        jobId: `${delivery.id}.${entry}`,
        deliveryId: delivery.id,
        consumer: registration.consumer,
        replayOf: undefined,
        delivery,
      },
      services,
    );
    const handler = compose(middleware, registration.handler);
    return new Promise((resolve, reject) => {
      let running: RunningCall | undefined; // undefined yet when the handler ends at once
      let over = false;
      const abort = (): void => running?.abort(signal?.reason);
      running = startCall(() => handler(mergeEvents([event], registration), ctx), {
        controller,
        timeoutMs: registration.limits.timeoutMs,
        graceMs,
        clock,
        ended: (result) => {
          over = true;
          if (running !== undefined) calls.delete(running);
          signal?.removeEventListener("abort", abort);
          handlerEnded(event, result);
          if (result.ok || retryErrorOf(result.error)?.code === "give-up") resolve();
          else reject(result.error);
        },
        overdue: () => {},
      });
      if (over) return;
      calls.add(running);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** After the lane's earlier calls; at once where there is no lane. */
  async function runInLane(job: DirectJob): Promise<void> {
    const begin = (): Promise<void> => queue.add(() => run(job));
    const lane = laneOf(job.event, job.registration);
    if (lane === undefined) return begin();
    const turn = (laneEnds.get(lane) ?? Promise.resolve()).then(begin);
    const end = turn.catch(() => {}); // the lane's next call runs all the same
    laneEnds.set(lane, end);
    try {
      await turn;
    } finally {
      if (laneEnds.get(lane) === end) laneEnds.delete(lane);
    }
  }

  async function handle(delivery: IdentifiedDelivery, signal: AbortSignal | undefined): Promise<void> {
    const errors: unknown[] = [];
    for (const [entry, event] of eventsOf(parseDocument(delivery.body)).entries()) {
      const routes = handlers.routes(event.type);
      reporter.arrived(event, delivery);
      if (routes.length === 0) reporter.unhandled(event);
      for (const registration of routes) {
        const job = { delivery, event, entry, registration, signal };
        try {
          await (apart ? run(job) : runInLane(job));
          counters.succeeded += 1;
          succeeded += 1;
        } catch (error) {
          counters.failed += 1;
          errors.push(error);
        }
      }
    }
    if (errors.length === 0) return;
    throw new HooklineError("handle-failed", `${errors.length} of the delivery's handlers failed.`, {
      cause: errors.length === 1 ? errors[0] : new AggregateError(errors),
      fix:
        errors.map(fixOfFrozenWrite).find((fix) => fix !== undefined) ??
        "Let the queue give the delivery again: all of its events run then.",
    });
  }

  return {
    async handle(delivery, signal) {
      const handled = handle(delivery, signal);
      handling.add(handled);
      try {
        await handled;
      } finally {
        handling.delete(handled);
      }
    },
    async stop(drainMs) {
      const before = succeeded;
      const all = Promise.allSettled(handling);
      await withTimeout(drainMs - ABORT_BEFORE_END_MS, all, { clock, late: undefined });
      for (const running of calls) running.abort(new ClosedError("closed", "The receiver is closing."));
      await withTimeout(Math.min(drainMs, ABORT_BEFORE_END_MS), all, { clock, late: undefined });
      return { done: succeeded - before, stuck: calls.size };
    },
  };
}
