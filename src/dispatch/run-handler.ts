import type { Clock, Timer } from "../clock.ts";
import { HooklineError, isHooklineError } from "../errors.ts";
import { catchRejection } from "../thrown.ts";
import type { AnyEvent } from "../protocol/events.ts";
import type { Context } from "./context.ts";
import type { Handler, Middleware } from "./handlers.ts";
import type { CallResult } from "./retry-policy.ts";

/** One call of a handler with its middleware. */
export interface CallOptions {
  /** Whose signal the handler got. */
  readonly controller: AbortController;
  /** Until the signal aborts; 0 = none. */
  readonly timeoutMs: number;
  /** From the abort to `overdue`. */
  readonly graceMs: number;
  readonly clock: Clock;
  /** The call ended, whenever that was. */
  readonly ended: (result: CallResult) => void;
  /** It ignored the abort for all of its grace. It still runs. */
  readonly overdue: () => void;
}

/** A call under way. */
export interface RunningCall {
  /** Aborts its signal; its grace begins. */
  abort(reason: unknown): void;
}

/** Runs one call. A handler that ignores its signal cannot be stopped: it is told, waited for, and then reported. */
export function startCall(
  call: () => unknown,
  { controller, timeoutMs, graceMs, clock, ended, overdue }: CallOptions,
): RunningCall {
  let over = false;
  let timer: Timer | undefined = timeoutMs > 0 ? clock.setTimer(() => abort(timeout(timeoutMs)), timeoutMs) : undefined;

  function abort(reason: unknown): void {
    if (over || controller.signal.aborted) return;
    timer?.clear();
    timer = clock.setTimer(() => {
      if (!over) overdue(); // the clock's `clear` may have failed
    }, graceMs);
    // Nobody waits for its slot then: it is not to keep the process.
    if (isHooklineError(reason, "closed")) timer.unref?.();
    controller.abort(reason);
  }

  function end(result: CallResult): void {
    if (over) return; // a promise with a `then` of somebody's own may say so twice
    over = true;
    timer?.clear();
    if (!result.ok) catchRejection(result.error); // `throw fetch(url)`: what was thrown is a promise
    ended(result);
  }

  let returned: unknown;
  try {
    returned = call();
    if (isThenable(returned))
      // What is only like a promise may give another one.
      Promise.resolve(returned).then(
        () => end({ ok: true }),
        (error: unknown) => end({ ok: false, error }),
      );
    else end({ ok: true });
  } catch (error) {
    catchRejection(returned); // a promise that cannot be waited for
    end({ ok: false, error });
  }
  return { abort };
}

/** The handler inside its middleware, outermost first. */
export function compose(middleware: readonly Middleware[], handler: Handler): Handler {
  return middleware.reduceRight<Handler>((inner, outer) => (event, ctx) => around(outer, inner, [event, ctx]), handler);
}

/**
 * A middleware does not end the call before its inside does, whether it waits for `next()`, returns early or throws: two handlers would
 * run at once in a lane. A failure of the inside is the call's, unless the middleware looked at it and went on.
 */
async function around(outer: Middleware, inner: Handler, [event, ctx]: [AnyEvent, Context]): Promise<void> {
  const insides: Inside[] = [];
  let over = false;
  let returned = false;
  const run = async (): Promise<void> => {
    try {
      await inner(event, ctx);
    } finally {
      over = true;
    }
  };
  const next = (): Promise<void> => {
    const isFirst = insides.length === 0;
    // Its lane may be another's already. Silent where nobody hears it.
    if (isFirst && returned) return new Inside((_, reject) => reject(nextLate()));
    const inside = new Inside((resolve) => resolve(isFirst ? run() : Promise.reject(nextDoubled())));
    insides.push(inside);
    return inside;
  };
  const outside = async (): Promise<void> => {
    try {
      await outer(event, ctx, next);
    } finally {
      returned = true;
    }
  };
  try {
    await outside();
  } catch (error) {
    await Promise.allSettled(insides);
    throw error;
  }
  for (const inside of insides) if (!over || !inside.looked) await inside;
}

/** What `next()` gives: it knows whether anybody looked at how it ended. */
class Inside extends Promise<void> {
  static override readonly [Symbol.species] = Promise;
  looked = false;

  constructor(...given: ConstructorParameters<typeof Promise<void>>) {
    super(...given);
    // Who looks at it later, after other work, must not find the process ended.
    super.then(undefined, () => {});
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise has one
  override then: Promise<void>["then"] = (...reactions) => {
    this.looked = true;
    return super.then(...reactions);
  };
}

function nextDoubled(): HooklineError {
  return new HooklineError("next-doubled", "A middleware called next() twice.", {
    fix: "Call it once: a second run of the handler is a retry's business.",
  });
}

function nextLate(): HooklineError {
  return new HooklineError(
    "next-late",
    "A middleware called next() after it had returned, expected before: its handler is not run.",
    { fix: "Return or await next(), and whatever calls it." },
  );
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

/** Handlers past their grace. So many of them may run on without a slot; the others keep theirs until there is a place for them. */
export interface HungHandlers {
  /**
   * One more.
   * @param free gives its slot to another; called once
   * @returns to be called when it has ended
   */
  add(free: () => void): () => void;
  /** All of them, with a slot or without. */
  readonly size: number;
  /** Some keep their slots: nothing more is to be claimed. */
  readonly jammed: boolean;
}

export function createHungHandlers(max: number): HungHandlers {
  /** Those that keep their slots, in order: each call gives one up. */
  const jammed = new Set<() => void>();
  let slotless = 0;

  return {
    add(free) {
      let freed = false;
      const giveUpSlot = (): void => {
        jammed.delete(giveUpSlot);
        freed = true;
        slotless += 1;
        free();
      };
      if (slotless < max) giveUpSlot();
      else jammed.add(giveUpSlot);
      return () => {
        if (freed) {
          slotless -= 1;
        } else {
          jammed.delete(giveUpSlot);
          free();
        }
        const [next] = jammed;
        if (slotless < max) next?.();
      };
    },
    get size() {
      return slotless + jammed.size;
    },
    get jammed() {
      return jammed.size > 0;
    },
  };
}
