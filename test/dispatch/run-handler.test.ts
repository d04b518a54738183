import { isHooklineError } from "hookline";
import { describe, expect, onTestFinished, test } from "vitest";
import type { CallResult } from "../../src/dispatch/retries/retry-policy.ts";
import { startCall, type CallOptions } from "../../src/dispatch/calls/run-handler.ts";
import { deferred, turns } from "../support/event-loop.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";

function begun(
  call: (signal: AbortSignal, clock: FakeClock) => unknown,
  {
    clears = true,
    ...limits
  }: Partial<Pick<CallOptions, "timeoutMs" | "graceMs">> & { readonly clears?: boolean } = {},
) {
  const clock = fakeClock();
  if (!clears) {
    const { setTimer } = clock;
    clock.setTimer = (...given) => ({ ...setTimer(...given), clear() {} });
  }
  const controller = new AbortController();
  const seen: { results: CallResult[]; overdue: number } = { results: [], overdue: 0 };
  const running = startCall(() => call(controller.signal, clock), {
    controller,
    timeoutMs: 1_000,
    graceMs: 500,
    ...limits,
    clock,
    ended: (result) => seen.results.push(result),
    overdue: () => (seen.overdue += 1),
  });
  return { clock, running, seen, signal: controller.signal };
}

function thenable(then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void): object {
  // oxlint-disable-next-line unicorn/no-thenable -- what a promise library of somebody's own hands in
  return { then };
}

function withoutThen(promise: Promise<unknown>): Promise<unknown> {
  // oxlint-disable-next-line unicorn/no-thenable -- it is one, of a broken make
  return Object.defineProperty(promise, "then", {
    get() {
      throw new Error("not to be read");
    },
  });
}

describe("a call ends", () => {
  test("well when its promise resolves, with whatever", async () => {
    const { seen, clock } = begun(async () => "a result");
    expect(seen.results).toEqual([]);
    await turns();
    expect(seen.results).toEqual([{ ok: true }]);
    expect(clock.waiting).toBe(0);
  });

  test.each([undefined, null, 0, "x", {}, thenable(5 as never), () => {}])(
    "well at once when it returns %o",
    (returned) => {
      expect(begun(() => returned).seen.results).toEqual([{ ok: true }]);
    },
  );

  test("badly when it throws, even undefined", () => {
    const { seen } = begun(() => {
      throw undefined;
    });
    expect(seen.results).toEqual([{ ok: false, error: undefined }]);
  });

  test("badly when its promise rejects, even with undefined", async () => {
    const { seen } = begun(() => Promise.reject(undefined));
    await turns();
    expect(seen.results).toEqual([{ ok: false, error: undefined }]);
  });

  test("as any thenable says", async () => {
    const well = begun(() => thenable((resolve) => resolve(1)));
    const badly = begun(() => thenable((_, reject) => reject("no")));
    await turns();
    expect([well.seen.results, badly.seen.results]).toEqual([[{ ok: true }], [{ ok: false, error: "no" }]]);
  });

  test("once, however often a thenable says so", async () => {
    const { seen } = begun(() =>
      thenable((resolve, reject) => {
        resolve(1);
        resolve(2);
        reject(new Error("no"));
      }),
    );
    await turns();
    expect(seen.results).toEqual([{ ok: true }]);
  });

  test("badly when a thenable throws instead", async () => {
    const { seen } = begun(() =>
      thenable(() => {
        throw new Error("broken");
      }),
    );
    await turns();
    expect(seen.results).toMatchObject([{ ok: false }]);
  });
});

test("a promise whose `then` cannot be read ends its call badly, and ends no process when it rejects", async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const { seen } = begun(() => withoutThen(Promise.reject(new Error("no"))));
  await turns();
  expect(seen.results).toMatchObject([{ ok: false, error: { message: "not to be read" } }]);
  expect(unhandled).toEqual([]);
});

describe("the time limit", () => {
  test("aborts the signal, with what to do about it", async () => {
    const { clock, signal, seen } = begun(() => new Promise(() => {}));
    await clock.advance(999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    expect(isHooklineError(signal.reason, "handler-timeout")).toBe(true);
    expect(signal.reason).toMatchObject({
      message: expect.stringContaining("1000 ms"),
      fix: expect.stringContaining("ctx.signal"),
    });
    expect(seen).toEqual({ results: [], overdue: 0 });
  });

  test("counts what a call does before it returns its promise", async () => {
    const { clock, signal } = begun((_signal, own) => {
      own.jump(400); // as if it computed for so long
      return new Promise(() => {});
    });
    await clock.advance(599);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
  });

  test("is no longer where the wall clock goes back meanwhile", async () => {
    const { clock, signal } = begun((_signal, own) => {
      own.jump(-86_400_000);
      return new Promise(() => {});
    });
    await clock.advance(1_000);
    expect(signal.aborted).toBe(true);
  });

  test("needs no timer for a call that ends at once", () => {
    let timers = 0;
    const { seen } = begun((_signal, own) => (timers = own.waiting));
    expect({ timers, results: seen.results }).toEqual({ timers: 0, results: [{ ok: true }] });
  });

  test("is none when it is 0", async () => {
    const { clock, signal } = begun(() => new Promise(() => {}), { timeoutMs: 0 });
    expect(clock.waiting).toBe(0);
    await clock.advance(86_400_000);
    expect(signal.aborted).toBe(false);
  });

  test("is forgotten once the call has ended", async () => {
    const { clock, signal } = begun(() => {});
    expect(clock.waiting).toBe(0);
    await clock.advance(60_000);
    expect(signal.aborted).toBe(false);
  });

  test("a call that heeds its signal ends, and is never overdue", async () => {
    const heed = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    const { clock, seen } = begun(heed);
    await clock.advance(60_000);
    expect(seen).toMatchObject({ results: [{ ok: false, error: { code: "handler-timeout" } }], overdue: 0 });
  });

  test("one that ignores it is overdue after its grace, once", async () => {
    const { clock, seen } = begun(() => new Promise(() => {}));
    await clock.advance(1_499);
    expect(seen.overdue).toBe(0);
    await clock.advance(1);
    expect(seen.overdue).toBe(1);
    await clock.advance(60_000);
    expect(seen).toEqual({ results: [], overdue: 1 });
  });

  test("is over with the call, also on a clock whose timers cannot be cleared", async () => {
    const { promise, resolve } = deferred();
    const { clock, seen, signal } = begun(() => promise, { clears: false });
    await clock.advance(1_000);
    expect(signal.aborted).toBe(true);
    resolve();
    await turns();
    await clock.advance(60_000);
    expect(seen).toEqual({ results: [{ ok: true }], overdue: 0 });
  });

  test("a late success is a success still, in its grace and after it", async () => {
    for (const lateMs of [1_200, 60_000]) {
      const { promise, resolve } = deferred();
      const { clock, seen } = begun(() => promise);
      await clock.advance(lateMs);
      resolve();
      await turns();
      expect(seen.results).toEqual([{ ok: true }]);
    }
  });
});

describe("an abort from outside", () => {
  test("tells the signal why, and begins the grace", async () => {
    const { clock, running, signal, seen } = begun(() => new Promise(() => {}));
    running.abort("closing");
    expect(signal.reason).toBe("closing");
    await clock.advance(499);
    expect(seen.overdue).toBe(0);
    await clock.advance(1);
    expect(seen.overdue).toBe(1);
  });

  test("after the time limit changes nothing: the first reason stays, and the grace does not start again", async () => {
    const { clock, running, signal, seen } = begun(() => new Promise(() => {}));
    await clock.advance(1_400);
    running.abort("closing");
    expect(isHooklineError(signal.reason, "handler-timeout")).toBe(true);
    await clock.advance(100);
    expect(seen.overdue).toBe(1);
  });

  test("of an ended call does nothing", async () => {
    const { clock, running, signal } = begun(() => {});
    running.abort("closing");
    expect([signal.aborted, clock.waiting]).toEqual([false, 0]);
  });
});
