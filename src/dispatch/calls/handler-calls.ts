import type { Clock } from "../../clock.ts";
import type { CallSpan } from "../../observe/instruments.ts";
import type { Logger } from "../../logger.ts";
import type { AnyEvent } from "../../protocol/event-types.ts";
import type { Context } from "./context.ts";
import type { Handler, Middleware, Registration } from "../handlers.ts";
import type { CallResult } from "../retries/retry-policy.ts";
import { compose, startCall, type RunningCall } from "./run-handler.ts";

/** All calls of handlers in this process, of jobs and of deliveries without an inbox: those that are stuck count together. */
export interface HandlerCalls {
  /** @returns undefined where the call has ended at once */
  start(call: HandlerCall): RunningCall | undefined;
  readonly graceMs: number;
  /** Handlers past their grace, with a slot or without. */
  readonly stuck: number;
  /** `maxStuck` of them run without a slot, and more keep theirs: nothing more is to be claimed. */
  readonly jammed: boolean;
}

interface HandlerCall {
  readonly registration: Registration;
  readonly event: AnyEvent;
  readonly ctx: Context;
  /** The handler runs in it. */
  readonly span: Pick<CallSpan, "run"> | undefined;
  /** Of the context's signal. */
  readonly controller: AbortController;
  readonly timeoutMs: number;
  /** Where others wait for its end: no more than those of all calls. */
  readonly graceMs?: number;
  /** Its slot can be given to another call; called once. */
  readonly free: () => void;
  /** The call ended, also after `overdue`. */
  readonly ended: (result: CallResult) => void;
  /** It runs on past its grace; its slot is free, unless too many are stuck. */
  readonly overdue: () => void;
}

export interface HandlerCallsOptions {
  readonly middleware: readonly Middleware[];
  /** From the abort of a handler until its slot is free. */
  readonly graceMs: number;
  /** Handlers past their grace that may run without a slot. */
  readonly maxStuck: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** `jammed` is over: it is time to claim again. */
  readonly unjammed: () => void;
}

export function createHandlerCalls(options: HandlerCallsOptions): HandlerCalls {
  const { middleware, graceMs, maxStuck, clock, log, unjammed } = options;
  const composed = new WeakMap<Registration, Handler>();
  const hung = createHungHandlers(maxStuck, unjammed);

  function handlerOf(registration: Registration): Handler {
    if (middleware.length === 0) return registration.handler;
    let handler = composed.get(registration);
    if (handler === undefined) composed.set(registration, (handler = compose(middleware, registration.handler)));
    return handler;
  }

  return {
    start({ registration, event, ctx, span, controller, timeoutMs, graceMs: own = graceMs, free, ended, overdue }) {
      const handler = handlerOf(registration);
      const call = (): unknown => handler(event, ctx);
      let freeSlot = free;
      let over = false;
      const running = startCall(span === undefined ? call : () => span.run(call), {
        controller,
        timeoutMs,
        graceMs: Math.min(own, graceMs),
        clock,
        ended: (result) => {
          over = true;
          ended(result);
          freeSlot();
        },
        overdue: () => {
          freeSlot = hung.add(free);
          overdue();
          log.error(
            { code: "handler-stuck", jobId: ctx.jobId, event: event.type, stuck: hung.size },
            "a handler ignores its signal: it keeps its lane until it ends",
          );
        },
      });
      return over ? undefined : running;
    },
    graceMs,
    get stuck() {
      return hung.size;
    },
    get jammed() {
      return hung.jammed;
    },
  };
}

/** Handlers past their grace. At most `max` of them run without a slot; any more keep theirs until one of those ends. */
export function createHungHandlers(max: number, unjammed: () => void = () => {}) {
  /** Of those that keep their slots, the oldest first: a call gives the slot up. */
  const keeping = new Set<() => void>();
  let slotless = 0;

  return {
    /**
     * @param free gives the slot to another claim; called once
     * @returns to be called when the handler has ended
     */
    add(free: () => void): () => void {
      let freed = false;
      const giveUpSlot = (): void => {
        keeping.delete(giveUpSlot);
        freed = true;
        slotless += 1;
        free();
      };
      if (slotless < max) giveUpSlot();
      else keeping.add(giveUpSlot);
      return () => {
        const wasJammed = keeping.size > 0;
        if (freed) {
          slotless -= 1;
        } else {
          keeping.delete(giveUpSlot);
          free();
        }
        const [next] = keeping;
        if (slotless < max) next?.();
        if (wasJammed && keeping.size === 0) unjammed();
      };
    },
    get size(): number {
      return slotless + keeping.size;
    },
    /** Some keep their slots: nothing more is to be claimed. */
    get jammed(): boolean {
      return keeping.size > 0;
    },
  };
}
