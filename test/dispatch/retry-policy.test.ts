import fc from "fast-check";
import { GiveUp, HooklineError, RetryLater } from "hookline";
import { describe, expect, onTestFinished, test } from "vitest";
import { isBroughtForward, isLastAttempt, outcomesOf, toJobError } from "../../src/dispatch/retries/retry-policy.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { turns } from "../support/event-loop.ts";

const DAY_MS = 86_400_000;
const now = Date.parse("2026-05-06T07:08:09Z");
const limits = { attempts: Infinity, retryForMs: DAY_MS };
const job = (fields: object = {}) => claimedJob({ firstAttemptAt: now, ...fields });

/** What becomes of jobs whose call threw this. */
function afterThrowing(error: unknown, jobs = [job()], rules: Partial<Parameters<typeof outcomesOf>[2]> = {}) {
  return outcomesOf(jobs, { ok: false, error }, { ...limits, now, retryTime: now, random: 0, ...rules });
}

describe("a call that ended well", () => {
  test("makes all of its jobs done, whatever their attempts", () => {
    const jobs = [job({ attempt: 99, firstAttemptAt: 0 }), job()];
    expect(outcomesOf(jobs, { ok: true }, { attempts: 1, retryForMs: 0, now, retryTime: now, random: 0 })).toEqual([
      { to: "done" },
      { to: "done" },
    ]);
  });
});

describe("a call that failed", () => {
  test("is tried again after the back-off of its attempt", () => {
    const error = { name: "TypeError", message: "no", at: now };
    expect(afterThrowing(new TypeError("no"))).toEqual([
      { to: "retry", at: now + 500, delayMs: 500, counted: true, error },
    ]);
    expect(afterThrowing(new TypeError("no"), [job({ attempt: 4 })], { random: 0.5 })).toMatchObject([
      { delayMs: 6_000 },
    ]);
  });

  test("is dead when `attempts` are used up", () => {
    const outcomes = [1, 2, 3, 4].map(
      (attempt) => afterThrowing(new Error("no"), [job({ attempt })], { attempts: 3 })[0]?.to,
    );
    expect(outcomes).toEqual(["retry", "retry", "dead", "dead"]);
  });

  test("is dead when `retryForMs` after its first attempt is over", () => {
    const outcomes = [0, 1, DAY_MS - 1, DAY_MS, DAY_MS + 1].map(
      (age) => afterThrowing(new Error("no"), [job({ attempt: 2, firstAttemptAt: now - age })])[0]?.to,
    );
    expect(outcomes).toEqual(["retry", "retry", "retry", "dead", "dead"]);
  });

  test.each([
    ["its window", new Error("no"), {}, true],
    ["its window, and of `attempts`", new Error("no"), { attempts: 1 }, true],
    ["its window, asking for more time", new RetryLater({ afterMs: 1 }), {}, true],
    ["GiveUp, its window being over", new GiveUp("enough"), {}, undefined],
    ["a window that never was", new Error("no"), { retryForMs: 0 }, undefined],
  ])("says that it died of %s, or not", (_, error, rules, ofWindow) => {
    const [outcome] = afterThrowing(error, [job({ firstAttemptAt: now - DAY_MS })], rules);
    expect([outcome?.to, (outcome as { ofWindow?: true }).ofWindow]).toEqual(["dead", ofWindow]);
  });

  test("died of `attempts`, and not of its window", () => {
    expect(afterThrowing(new Error("no"), [job()], { attempts: 1 })[0]).not.toHaveProperty("ofWindow");
  });

  test("for the first time is tried again, however long it waited before: only a failure decides", () => {
    expect(afterThrowing(new Error("no"), [job({ firstAttemptAt: now })])).toMatchObject([{ to: "retry" }]);
  });

  test("with `attempts: 1` or `retryForMs: 0` has no second try", () => {
    expect(afterThrowing(new Error("no"), [job()], { attempts: 1 })).toMatchObject([{ to: "dead" }]);
    expect(afterThrowing(new Error("no"), [job()], { retryForMs: 0 })).toMatchObject([{ to: "dead" }]);
  });

  test("leaves each of its merged jobs with its own count; the delay is the oldest's", () => {
    const jobs = [job({ attempt: 3 }), job({ attempt: 1 }), job({ attempt: 2, firstAttemptAt: now - DAY_MS })];
    expect(afterThrowing(new Error("no"), jobs, { attempts: 3 })).toMatchObject([
      { to: "dead" },
      { to: "retry", delayMs: 2_000, at: now + 2_000, counted: true },
      { to: "dead" },
    ]);
  });
});

describe("GiveUp", () => {
  test("ends the job at once, and all that were merged", () => {
    const outcomes = afterThrowing(new GiveUp("the account is gone"), [job(), job()]);
    const error = { name: "GiveUp", message: "the account is gone", at: now };
    expect(outcomes).toEqual([
      { to: "dead", error },
      { to: "dead", error },
    ]);
  });

  test("of another copy of the package counts as well", () => {
    const foreign = Object.assign(new Error("gone"), { name: "GiveUp", code: "give-up" });
    expect(afterThrowing(foreign)).toMatchObject([{ to: "dead" }]);
  });

  test("is nothing that only looks a little like it", () => {
    for (const error of [{ code: "give-up", name: "GiveUp" }, Object.assign(new Error("no"), { code: "give-up" })])
      expect(afterThrowing(error)).toMatchObject([{ to: "retry" }]);
  });
});

describe("RetryLater", () => {
  test.each([
    [{ afterMs: 1_500 }, 1_500],
    [{ afterSeconds: 30 }, 30_000],
    [{ at: new Date(now + 60_000) }, 60_000],
    [{ afterMs: 100 }, 100],
    [{ afterMs: 1_234.567 }, 1_235],
    [{ afterSeconds: 0.5001 }, 501],
  ])("%o is tried again then, uncounted", (when, delayMs) => {
    expect(afterThrowing(new RetryLater(when))).toMatchObject([
      { to: "retry", at: now + delayMs, delayMs, counted: false, error: { name: "RetryLater" } },
    ]);
  });

  test.each([
    { afterMs: 0 },
    { afterSeconds: 0 },
    { afterMs: -5 },
    { at: new Date(now) },
    { at: new Date(now - 60_000) },
  ])("%o is not ahead: it waits as long as after a first failure, with jitter", (when) => {
    const delays = [0, 0.5, 0.999].map(
      (random) =>
        (afterThrowing(new RetryLater(when), [job({ attempt: 9 })], { random })[0] as { delayMs: number }).delayMs,
    );
    expect(delays).toEqual([500, 750, 1_000]);
  });

  test("a user's own whose time is a promise that rejects waits like a first failure, and ends no process", async () => {
    const error = new RetryLater({ afterMs: 5_000 });
    error.delayMs = () => Promise.reject(new Error("no time")) as never;
    const rejections: unknown[] = [];
    const hear = (reason: unknown) => void rejections.push(reason);
    process.on("unhandledRejection", hear);
    onTestFinished(() => void process.off("unhandledRejection", hear));
    expect(afterThrowing(error, [job({ attempt: 9 })], { random: 0 })).toMatchObject([{ delayMs: 500 }]);
    await turns();
    expect(rejections).toEqual([]);
  });

  test.each([{ afterMs: 1 }, { afterSeconds: 0.099 }, { at: new Date(now + 99) }])(
    "%o is sooner than 100 ms, and waits for those",
    (when) => {
      expect(afterThrowing(new RetryLater(when))).toMatchObject([{ at: now + 100, delayMs: 100 }]);
    },
  );

  test("whose date was made invalid afterwards waits as long as after a first failure", () => {
    const at = new Date(now + 60_000);
    const error = new RetryLater({ at });
    at.setTime(Number.NaN);
    expect(afterThrowing(error)).toMatchObject([{ at: now + 500, delayMs: 500 }]);
  });

  test("does not use up `attempts`", () => {
    expect(afterThrowing(new RetryLater({ afterMs: 1 }), [job({ attempt: 3 })], { attempts: 3 })).toMatchObject([
      { to: "retry" },
    ]);
  });

  test("is bounded by `retryForMs`", () => {
    expect(afterThrowing(new RetryLater({ afterMs: 1 }), [job({ firstAttemptAt: now - DAY_MS })])).toMatchObject([
      { to: "dead" },
    ]);
  });

  test("beyond that is moved to its end, each job's own: there it gets an attempt, and only a failure then ends it", () => {
    const jobs = [job({ firstAttemptAt: now - 60_000 }), job({ firstAttemptAt: now - 1_000 })];
    const error = new RetryLater({ afterMs: 2 * DAY_MS });
    const outcomes = afterThrowing(error, jobs);
    expect(outcomes).toMatchObject([
      { to: "retry", delayMs: DAY_MS - 60_000, at: now + DAY_MS - 60_000, counted: false },
      { to: "retry", delayMs: DAY_MS - 1_000 },
    ]);
    expect(outcomes.map((outcome) => isBroughtForward(error, outcome))).toEqual([true, true]);
  });

  test("beside a job whose window is over waits no longer: it inherits that", () => {
    const jobs = [job({ firstAttemptAt: now - DAY_MS }), job({ firstAttemptAt: now - 1_000 })];
    expect(afterThrowing(new RetryLater({ afterMs: DAY_MS }), jobs)).toMatchObject([
      { to: "dead", ofWindow: true },
      { to: "retry", delayMs: 100, counted: false },
    ]);
  });

  test("by a date beyond that is moved in the same way", () => {
    const error = new RetryLater({ at: new Date(now + DAY_MS + 1) });
    expect(afterThrowing(error).map((outcome) => isBroughtForward(error, outcome))).toEqual([true]);
  });

  test("moves nothing where it was not what was thrown, nor where the job is dead", () => {
    const [waiting, dead] = [...afterThrowing(new Error("no")), ...afterThrowing(new GiveUp("no"))];
    const later = new RetryLater({ afterMs: DAY_MS });
    if (waiting === undefined || dead === undefined) throw new Error("expected two outcomes");
    const moved = [new Error("no"), "no", later].map((error) => isBroughtForward(error, waiting));
    expect([...moved, isBroughtForward(later, dead)]).toEqual([false, false, true, false]);
  });

  test("within it, or lengthened, was not moved", () => {
    for (const when of [{ afterMs: DAY_MS }, { afterMs: 0 }, { afterMs: 1 }, { at: new Date(now - 1) }]) {
      const error = new RetryLater(when);
      expect(afterThrowing(error).map((outcome) => isBroughtForward(error, outcome))).toEqual([false]);
    }
  });

  test.each([Number.MAX_VALUE, 9e15, 999_999_999_000])(
    "of %d ms where nothing bounds it is at a time that a Date can say",
    (afterMs) => {
      const [outcome] = afterThrowing(new RetryLater({ afterMs }), [job()], { retryForMs: Infinity });
      expect(new Date((outcome as { at: number }).at).getTime()).toBe(Math.min(now + afterMs, 8_640_000_000_000_000));
    },
  );

  test("is never sooner than 100 ms, nor later than the window's end but for those", () => {
    const time = fc.double({ min: -1e300, max: 1e300, noNaN: true });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.record({ afterMs: time }),
          fc.record({ afterMs: fc.integer({ min: -200, max: 200 }) }),
          fc.record({ at: fc.date({ noInvalidDate: true }) }),
        ),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        fc.oneof(
          fc.nat(2 * DAY_MS),
          fc.integer({ min: 0, max: 300 }).map((left) => DAY_MS - left),
        ),
        (when, random, age) => {
          const [outcome] = afterThrowing(new RetryLater(when), [job({ firstAttemptAt: now - age })], { random });
          expect(outcome?.to).toBe(age >= DAY_MS ? "dead" : "retry");
          if (outcome?.to !== "retry") return;
          expect(outcome.delayMs).toBeGreaterThanOrEqual(100);
          expect(outcome.at).toBe(now + outcome.delayMs);
          expect(outcome.delayMs).toBeLessThanOrEqual(Math.max(DAY_MS - age, 100));
        },
      ),
    );
  });

  test("of another copy of the package counts as well, but nothing that only has its name", () => {
    const foreign = Object.assign(new Error("later"), { name: "RetryLater", code: "retry-later" });
    expect(afterThrowing(foreign)).toMatchObject([{ to: "retry", counted: true }]);
    expect(afterThrowing(Object.assign(foreign, { delayMs: () => 700 }))).toMatchObject([
      { delayMs: 700, counted: false },
    ]);
  });

  test("holds all merged jobs", () => {
    const outcomes = afterThrowing(new RetryLater({ afterMs: 900 }), [job(), job({ attempt: 5 })], { attempts: 5 });
    expect(outcomes).toMatchObject([
      { delayMs: 900, counted: false },
      { delayMs: 900, counted: false },
    ]);
  });
});

describe("the last attempt", () => {
  test("is one whose failure would end the job", () => {
    const times = { now, retryTime: () => now };
    expect([1, 2, 3].map((attempt) => isLastAttempt(job({ attempt }), { ...limits, attempts: 2 }, times))).toEqual([
      false,
      true,
      true,
    ]);
    expect(isLastAttempt(job({ firstAttemptAt: now - DAY_MS }), limits, times)).toBe(true);
    expect(isLastAttempt(job({ firstAttemptAt: now - DAY_MS + 1 }), limits, times)).toBe(false);
  });
});

describe("what is stored of an error", () => {
  test("is its name and its message", () => {
    expect(toJobError(new RangeError("too far"), now)).toEqual({ name: "RangeError", message: "too far", at: now });
    expect(toJobError(new HooklineError("x", "what. fix"), now)).toMatchObject({
      name: "HooklineError",
      message: "what. fix",
    });
  });

  test("is no more than 2,000 characters of it", () => {
    expect(toJobError(new Error("x".repeat(10_000)), now).message).toHaveLength(2_000);
    expect(toJobError("x".repeat(10_000), now).message).toHaveLength(2_000);
  });

  const hostile = {
    toString() {
      throw new Error("no");
    },
  };

  test.each([
    [undefined, "undefined was thrown: undefined"],
    [null, "object was thrown: null"],
    ["no", "string was thrown: no"],
    [Symbol("s"), "symbol was thrown: Symbol(s)"],
    [hostile, "object was thrown: it cannot be shown"],
    [Object.create(null), "object was thrown: it cannot be shown"],
  ])("is a sentence where something else was thrown: %#", (thrown, message) => {
    expect(toJobError(thrown, now)).toEqual({ name: "Error", message, at: now });
  });

  test.each([
    ["an object", { code: 5 }, "[object Object]"],
    ["nothing", undefined, "undefined"],
    ["what cannot be shown", hostile, "it cannot be shown"],
  ])("is a text even where the error's own message or name is %s", (_, own, text) => {
    const strange = Object.assign(new Error("x"), { message: own, name: own });
    expect(toJobError(strange, now)).toEqual({ name: text, message: text, at: now });
  });
});
