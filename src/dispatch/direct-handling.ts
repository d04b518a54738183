import PQueue from "p-queue";
import { ClosedError, HooklineError, isHooklineError } from "../errors.ts";
import type { IdentifiedDelivery } from "../inbox/port/delivery.ts";
import { eventsOf, parseDocument } from "../protocol/envelope.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { compose, startCall, type RunningCall } from "./run-handler.ts";
import { createContext } from "./context.ts";
import type { Registration } from "./handlers.ts";
import { fixOfFrozenWrite, type ExpansionReporter } from "./reporter.ts";
import { laneOf } from "./lane-key.ts";
import { mergeEvents } from "./merge.ts";
import type { DispatchDeps } from "./deps.ts";
import { ABORT_BEFORE_END_MS, withTimeout } from "../timeout.ts";

/** Runs deliveries that a queue of the user keeps: each event once, one after another, without merging. */
export interface DirectHandling {
  /** @throws HooklineError `handle-failed` when a handler failed: the delivery is to come again, whole */
  handle(delivery: IdentifiedDelivery, signal: AbortSignal | undefined): Promise<void>;
  /** Waits for what runs, tells it to stop 5 s before the end, and then counts it as stuck. */
  stop(drainMs: number): Promise<{ readonly done: number; readonly stuck: number }>;
}

/** One event on its way to one handler. */
interface Direct {
  readonly delivery: IdentifiedDelivery;
  readonly event: SingleEvent;
  readonly entry: number;
  readonly registration: Registration;
  readonly signal: AbortSignal | undefined;
}

/** @param apart a delivery may not wait for what another one began: they share neither lanes nor `concurrency` */
export function createDirectHandling(
  parts: DispatchDeps,
  news: Pick<ExpansionReporter, "arrived" | "unhandled">,
  { apart }: { readonly apart: boolean },
): DirectHandling {
  const { handlers, middleware, services, clock, counters, concurrency, graceMs } = parts;
  const queue = new PQueue({ concurrency });
  const inLanes = createInLanes();
  const calls = new Set<RunningCall>();
  const handling = new Set<Promise<void>>();
  let succeeded = 0;

  /** Rejects with what the handler threw. A handler that never ends is waited for: its queue has a time limit of its own. */
  function run(direct: Direct): Promise<void> {
    const { registration, event, signal } = direct;
    const controller = new AbortController();
    const ctx = createContext(factsOf(direct, controller.signal), services);
    const handler = compose(middleware, registration.handler);
    return new Promise((resolve, reject) => {
      let running: RunningCall | undefined; // not yet there for a handler that ends at once
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
          if (result.ok || isHooklineError(result.error, "give-up")) resolve();
          else reject(result.error);
        },
        overdue: () => {},
      });
      if (over) return;
      calls.add(running);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  async function attempt(direct: Direct): Promise<{ readonly error: unknown } | undefined> {
    const begin = async (): Promise<void> => {
      direct.signal?.throwIfAborted();
      await run(direct);
    };
    try {
      if (apart) await begin();
      else await inLanes(laneOf(direct.event, direct.registration), () => queue.add(begin));
    } catch (error) {
      counters.failed += 1;
      return { error };
    }
    counters.succeeded += 1;
    succeeded += 1;
    return undefined;
  }

  async function handle(delivery: IdentifiedDelivery, signal: AbortSignal | undefined): Promise<void> {
    const errors: unknown[] = [];
    for (const [entry, event] of eventsOf(parseDocument(delivery.body)).entries()) {
      const routes = handlers.routes(event.type);
      news.arrived(event, delivery);
      if (routes.length === 0) news.unhandled(event);
      for (const registration of routes) {
        const failure = await attempt({ delivery, event, entry, registration, signal });
        if (failure !== undefined) errors.push(failure.error);
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
      const rest = Promise.allSettled(handling);
      await withTimeout(drainMs - ABORT_BEFORE_END_MS, rest, { clock, late: undefined });
      for (const running of calls) running.abort(new ClosedError("closed", "The receiver is closing."));
      await withTimeout(Math.min(drainMs, ABORT_BEFORE_END_MS), rest, { clock, late: undefined });
      return { done: succeeded - before, stuck: calls.size };
    },
  };
}

function factsOf(
  { delivery, event, entry, registration }: Direct,
  signal: AbortSignal,
): Parameters<typeof createContext>[0] {
  return {
    signal,
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
  };
}

/** Runs one after another what shares a lane, and at once what has none. */
type InLanes = (lane: string | undefined, run: () => Promise<void>) => Promise<void>;

/** The lanes of this process alone: for work that no inbox keeps. */
function createInLanes(): InLanes {
  /** The end of each lane: the next one waits for it. */
  const ends = new Map<string, Promise<void>>();

  return async (lane, run) => {
    if (lane === undefined) return run();
    const turn = (ends.get(lane) ?? Promise.resolve()).then(run);
    // Its failure is its caller's: the next one runs all the same.
    const end = turn.catch(() => {});
    ends.set(lane, end);
    try {
      await turn;
    } finally {
      if (ends.get(lane) === end) ends.delete(lane);
    }
  };
}
