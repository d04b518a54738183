import { GiveUp, HooklineError, isHooklineError, RetryLater, UsageError } from "hookline";
import { describe, expect, test } from "vitest";
import { emails, failingHandler, recordingHandler, rig } from "../support/rig.ts";

const now = Date.parse("2026-05-06T07:08:09Z");
const DAY_MS = 86_400_000;

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
    expect(make).toThrow(expect.objectContaining({ code: "retry-later-invalid" }));
  });

  test.each([
    ["soon", "got soon."],
    [null, "got null."],
    [{ after: 5, unit: "s" }, "got { after: 5, unit: s }."],
  ])("misused says what it got in plain words: %o", (when, got) => {
    expect(() => new RetryLater(when as never)).toThrow(got);
  });
});

test("a RetryLater whose scope cannot be read is one of its job", async () => {
  const later = Object.defineProperty(new RetryLater({ afterMs: 100 }), "scope", {
    get() {
      throw new Error("no scope");
    },
  });
  const { receiver, send, pass } = rig();
  const { seen, handler } = failingHandler(later);
  receiver.on("email", handler);
  await receiver.start();
  await send();
  await pass(100);
  expect(seen).toHaveLength(2);
  expect((await receiver.health()).dead).toBe(0);
});

describe("a handler that throws GiveUp", () => {
  test("ends the job at once", async () => {
    const { receiver, send, pass, inbox } = rig();
    const { seen, handler } = failingHandler(new GiveUp("the account is gone"));
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(DAY_MS);
    expect(seen).toHaveLength(1);
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(jobs).toMatchObject([
      { state: "dead", attempts: 1, error: { name: "GiveUp", message: "the account is gone" } },
    ]);
    expect(receiver.stats()).toMatchObject({ failed: 1, dead: 1, retried: 0 });
  });

  test("ends all that were merged", async () => {
    const { receiver, send, pass, inbox } = rig();
    const { seen, handler } = failingHandler(new GiveUp("gone"));
    receiver.on("email", handler);
    for (let times = 0; times < 3; times += 1) await send(emails("a"));
    await receiver.start();
    await pass();
    expect(seen).toEqual(["a"]);
    expect(inbox.stats()).toMatchObject({ dead: 3, waiting: 0 });
  });
});

describe("a handler that throws RetryLater", () => {
  test("waits as long as it says, without counting", async () => {
    const { receiver, send, pass, clock } = rig({ attempts: 1 });
    const seen: [number, number, boolean][] = [];
    const began = clock.now();
    receiver.on("email", (_event, ctx) => {
      seen.push([clock.now() - began, ctx.attempt, ctx.lastAttempt]);
      const { length } = seen;
      if (length === 1) throw new RetryLater({ afterMs: 1_500 });
      if (length === 2) throw new RetryLater({ afterSeconds: 30 });
      if (length === 3) throw new RetryLater({ at: new Date(began + 3_600_000) });
    });
    await receiver.start();
    await send();
    await pass(DAY_MS);
    expect(seen).toEqual([
      [0, 1, true],
      [1_500, 1, true],
      [31_500, 1, true],
      [3_600_000, 1, true],
    ]);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0, retried: 3, dead: 0 });
  });

  test("is bounded by `retryForMs`", async () => {
    const { receiver, send, pass, inbox } = rig({ retryForMs: 3_600_000 });
    const { seen, handler } = failingHandler(new RetryLater({ afterSeconds: 600 }));
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass(DAY_MS);
    expect(seen).toHaveLength(7);
    expect(inbox.stats().dead).toBe(1);
  });

  test("holds its lane, and no other", async () => {
    const { receiver, send, pass } = rig();
    const { seen, handler } = recordingHandler((event) => {
      if ("id" in event && event.id === "a" && seen.length === 1) throw new RetryLater({ afterSeconds: 10 });
    });
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    await send(emails("a", "a", "b"));
    await pass(9_999);
    expect(seen).toEqual(["a", "b"]);
    await pass(1);
    expect(seen).toEqual(["a", "b", "a", "a"]);
  });
});
