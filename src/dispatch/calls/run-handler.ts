import type { Clock, Timer } from "../../clock.ts";
import { HooklineError, isHooklineError } from "../../errors.ts";
import { catchRejection } from "../../thrown.ts";
import type { Handler, Middleware } from "../handlers.ts";
import type { CallResult } from "../retries/retry-policy.ts";

/** One attempt's time until its signal aborts, milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000;
/** From the abort of a handler to giving its slot back, milliseconds. */
export const DEFAULT_GRACE_MS = 30_000;

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
 * `next()` is koa's: it runs the rest and gives a promise of it. Beyond koa, a call whose middleware did not await the rest
 * ends with the rest and as the rest ends: else a second handler would start in the lane beside it, or its failure would be lost.
 */
function wrap(outer: Middleware, rest: Handler): Handler {
  return async (event, ctx) => {
    const calls: Rest[] = [];
    let mayRun = true;

    const run = async (): Promise<void> => void (await rest(event, ctx));
    let hasReturned = false;
    const next = (): Promise<void> => {
      const begin = mayRun ? run : refuse;
      mayRun = false;
      // The call has ended without it, and nobody sees its failure.
      if (hasReturned)
        ctx.log.error(
          { err: misuse(), code: "next-misused" },
          "a middleware called next() after it had returned: the handler did not run",
        );
      const call = new Rest(begin);
      calls.push(call);
      return call;
    };

    try {
      await outer(event, ctx, next);
    } catch (error) {
      mayRun = false;
      hasReturned = true;
      await Promise.allSettled(calls);
      throw error;
    }
    mayRun = false;
    hasReturned = true;
    // In the order of the calls: the rest has ended before a second `next()` fails the call.
    for (const call of calls.filter(({ isAwaited, hasEnded }) => !isAwaited || !hasEnded)) await call;
  };
}

/** The promise of `next()`, which knows whether it was awaited: `await`, `catch` and `finally` all call its `then`. */
class Rest extends Promise<void> {
  isAwaited = false;
  hasEnded = false;

  // What its `then` gives is a plain promise.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(begin: () => Promise<void>) {
    // Starts a microtask later: a rest that fails at once has not ended when a middleware returns without awaiting anything.
    super((resolve) => resolve(Promise.resolve().then(begin)));
    const ended = (): void => void (this.hasEnded = true);
    void super.then(ended, ended); // a middleware may do other work before it awaits the rest: the failure is not unhandled
  }

  // oxlint-disable-next-line unicorn/no-thenable -- it is a promise
  override then<A = void, B = never>(
    onFulfilled?: ((value: void) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.isAwaited = true;
    const derived = super.then(onFulfilled, onRejected);
    catchRejection(derived); // of `void next().finally(stop)`: the call fails with it, and the process must not end
    return derived;
  }
}

function refuse(): never {
  throw misuse();
}

function misuse(): HooklineError {
  return new HooklineError("next-misused", "A middleware called next() twice, or after it had returned.", {
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
