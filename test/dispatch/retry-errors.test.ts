import { GiveUp, HooklineError, isHooklineError, RetryLater, UsageError } from "hookline";
import { describe, expect, test } from "vitest";

const now = Date.parse("2026-05-06T07:08:09Z");

describe("GiveUp", () => {
  test("carries its reason and its cause", () => {
    const cause = new Error("410");
    const error = new GiveUp("the account is gone", { cause });
    expect(error).toBeInstanceOf(HooklineError);
    expect(error).toMatchObject({ name: "GiveUp", code: "give-up", message: "the account is gone", cause });
    expect(isHooklineError(error, "give-up")).toBe(true);
  });
});

describe("RetryLater", () => {
  test("reads its three forms as a delay from now, never below 0", () => {
    const forms = [
      { afterMs: 5 },
      { afterSeconds: 5 },
      { at: new Date(now + 5) },
      { afterMs: -1 },
      { afterSeconds: -1 },
      { at: new Date(now - 5) },
    ];
    expect(forms.map((when) => new RetryLater(when).delayMs(now))).toEqual([5, 5_000, 5, 0, 0, 0]);
  });

  test("carries its cause", () => {
    const cause = new Error("429");
    expect(new RetryLater({ afterMs: 1 }, { cause })).toMatchObject({ name: "RetryLater", code: "retry-later", cause });
  });

  test.each([
    30,
    "soon",
    undefined,
    null,
    {},
    { afterMs: Number.NaN },
    { afterMs: Infinity },
    { afterSeconds: Number("later") },
    { at: new Date(Number.NaN) },
    { at: now },
    { after: 5 },
  ])("misused throws at once, and says what it got and what it takes: %o", (when) => {
    const make = () => new RetryLater(when as never);
    expect(make).toThrow(UsageError);
    expect(make).toThrow(/RetryLater got .+new RetryLater\(\{ afterSeconds: 30 \}\)/);
  });
});
