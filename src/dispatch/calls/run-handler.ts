import type { Clock, Timer } from "../../clock.ts";
import { HooklineError, isHooklineError } from "../../errors.ts";
import { catchRejection } from "../../thrown.ts";
import type { Handler, Middleware } from "../handlers.ts";
import type { CallResult } from "../retries/retry-policy.ts";

/** How a call is run. */
export interface CallOptions {
  /** The handler has its signal. */
  readonly controller: AbortController;
  /** Until the signal aborts; 0 = none. */
  readonly timeoutMs: number;
  /** From the abort to `overdue`. */
  readonly graceMs: number;
  readonly clock: Clock;
  /** The call ended, also after `overdue`. */
  readonly ended: (result: CallResult) => void;
  /** The handler ignored the abort for all of its grace, and still runs. */
  readonly overdue: () => void;
}

export interface RunningCall {
  /** Aborts the signal; the grace begins. */
  abort(reason: unknown): void;
}

/** Runs one call. A handler that ignores its signal cannot be stopped: `overdue` is called, and the call ends when the handler does. */
export function startCall(
  call: () => unknown,
  { controller, timeoutMs, graceMs, clock, ended, overdue }: CallOptions,
): RunningCall {
  const startedAt = clock.now();
  let over = false;
  let timer: Timer | undefined;

  function abort(reason: unknown): void {
    if (over || controller.signal.aborted) return;
    timer?.clear();
    timer = clock.setTimer(() => {
      if (!over) overdue(); // the clock's `clear` may have failed
    }, graceMs);
    // At a close the slot is not used again: the timer must not keep the process alive.
    if (isHooklineError(reason, "closed")) timer.unref?.();
    controller.abort(reason);
  }

  function end(result: CallResult): void {
    if (over) return; // a custom `then` may call back twice
    over = true;
    timer?.clear();
    if (!result.ok) catchRejection(result.error); // `throw fetch(url)` throws a promise
    ended(result);
  }

  let returned: unknown;
  try {
    returned = call();
    if (isThenable(returned)) {
      // Not before the call, although its first part counts: a call that has ended needs no timer, which costs 0.3 us.
      const elapsedMs = Math.max(clock.now() - startedAt, 0); // below 0 the wall clock went back
      if (timeoutMs > 0) timer = clock.setTimer(() => abort(timeout(timeoutMs)), timeoutMs - elapsedMs);
      // A thenable may resolve to another one.
      Promise.resolve(returned).then(
        () => end({ ok: true }),
        (error: unknown) => end({ ok: false, error }),
      );
    } else end({ ok: true });
  } catch (error) {
    catchRejection(returned); // a promise whose `then` throws
    end({ ok: false, error });
  }
  return { abort };
}

/** The handler inside its middleware, outermost first. */
export function compose(middleware: readonly Middleware[], handler: Handler): Handler {
  return middleware.reduceRight<Handler>((rest, outer) => wrap(outer, rest), handler);
}

/**
 * `next()` is koa's: it runs the rest and gives a plain promise of it. Beyond koa, a call whose middleware did not await the rest
 * ends with the rest and as the rest ends: else a second handler would start in the lane beside it, or its failure would be lost.
 */
function wrap(outer: Middleware, rest: Handler): Handler {
  return async (event, ctx) => {
    /** Those that still run, or that nothing awaited. */
    const open = new Set<Promise<void>>();
    let mayRun = true;

    const run = async (): Promise<void> => void (await rest(event, ctx));
    const next = (): Promise<void> => {
      const begin = mayRun ? run : refuse;
      mayRun = false;
      // Starts a microtask later: a rest that fails at once is still open when a middleware returns without awaiting anything.
      const running = Promise.resolve().then(begin);
      open.add(running);
      let isAwaited = false;
      let hasEnded = false;
      const ended = (): void => {
        hasEnded = true;
        if (isAwaited) open.delete(running);
      };
      running.then(ended, ended); // a middleware may do other work before it awaits the rest: the failure is not unhandled
      // `await`, `then`, `catch` and `finally` all read it: https://tc39.es/ecma262/#sec-promise-resolve
      void Object.defineProperty(running, "constructor", {
        get() {
          isAwaited = true;
          if (hasEnded) open.delete(running);
          return Promise;
        },
      });
      return running;
    };

    try {
      await outer(event, ctx, next);
    } catch (error) {
      mayRun = false;
      await Promise.allSettled(open);
      throw error;
    }
    mayRun = false;
    // A copy, in the order of the calls: the rest has ended before a second `next()` fails the call.
    const calls = [...open];
    for (const running of calls) await running;
  };
}

function refuse(): never {
  throw new HooklineError("next-misused", "A middleware called next() twice, or after it had returned.", {
    fix: "Call it once, and return or await it. To run the handler again, let the call fail: the job is retried.",
  });
}

function timeout(timeoutMs: number): HooklineError {
  return new HooklineError("handler-timeout", `The handler took longer than ${timeoutMs} ms.`, {
    fix: "Pass `ctx.signal` on to what it waits for, or raise `timeoutMs`.",
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as { then?: unknown }).then === "function";
}
