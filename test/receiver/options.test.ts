import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { describe, expect, test } from "vitest";
import { assertOptions } from "../../src/assert.ts";
import { resolveOptions } from "../../src/receiver/options.ts";
import { rig } from "../support/rig.ts";

const make = (options: object) => () => createReceiver({ secret: "s", inbox: memoryInbox(), log: false, ...options });
const handling = (options: object) => () => rig().receiver.on("email", () => {}, options);

function expectInvalid(run: () => unknown, ...texts: readonly string[]): void {
  expect(run).toThrow(expect.objectContaining({ code: "option-invalid" }));
  for (const text of texts) expect(run).toThrow(text);
}

describe("a name that is no option is refused, with the one that is meant and all there are:", () => {
  test.each<[string, () => unknown, string, string]>([
    ["of a receiver", make({ timeout: 5 }), '"timeout"', 'Did you mean "timeoutMs"?'],
    ["of a receiver, although it is undefined", make({ maxBodySize: undefined }), '"maxBodySize"', '"maxBodyBytes"'],
    ["of its gate", make({ gate: { deadlineMs: 5 } }), "`gate`", "Allowed are: timeoutMs, maxUnsubscribesPerHour."],
    ["of its dedupe", make({ dedupe: { windowMs: 5 } }), "`dedupe`", 'Did you mean "windowSeconds"?'],
    ["of a handler", handling({ Concurrency: 5 }), 'on("email") got "Concurrency"', "Allowed are: consumer, lane"],
    ["of a handler", handling({ retryforms: 5 }), '"retryforms"', 'Did you mean "retryForMs"?'],
    ["of memoryInbox", () => memoryInbox({ maxjobs: 5 } as object), "memoryInbox", 'Did you mean "maxJobs"?'],
    [
      "of forwardInbox",
      () => forwardInbox(async () => {}, { store: "disk" } as object),
      '"store"',
      "Allowed are: storage.",
    ],
    ["of sqliteInbox", () => sqliteInbox("inbox.db", { keepDoneDay: 5 } as object), '"keepDoneDay"', '"keepDoneDays"?'],
  ])("%s", (_, run, got, allowed) => {
    expectInvalid(run, got, allowed);
  });

  test("where nothing is near, without a guess", () => {
    const run = (): void => assertOptions<object>("it", { zebra: 1 }, { concurrency: true, name: true });
    expectInvalid(run, 'it got "zebra", which is no option. Allowed are: concurrency, name.');
  });

  test("a name that every object has is none either, and a long one is cut", () => {
    expectInvalid(make({ toString: 1 }), '"toString"');
    expectInvalid(make({ ["x".repeat(5_000_000)]: 1 }), `"${"x".repeat(100)}"`);
  });

  test.each([null, "default", 5, []])("what is no object at all: %j", (options) => {
    expectInvalid(() => createReceiver(options as never), "createReceiver", "expected an object");
    expectInvalid(() => rig().receiver.on("email", () => {}, options as never), 'on("email")', "expected an object");
    expectInvalid(make({ gate: options }), "`gate`");
  });
});

describe("a number that must be whole, or that no timer can wait for, is refused:", () => {
  const LONGEST_MS = 2_147_483_647;

  test.each<[string, (value: unknown) => () => unknown]>([
    ["concurrency", (concurrency) => make({ concurrency })],
    ["attempts", (attempts) => make({ attempts })],
    ["attempts", (attempts) => handling({ attempts })],
    ["retryForMs", (retryForMs) => handling({ retryForMs })],
    ["timeoutMs", (timeoutMs) => handling({ timeoutMs })],
    ["maxBodyBytes", (maxBodyBytes) => make({ maxBodyBytes })],
    ["maxInFlightBytes", (maxInFlightBytes) => make({ maxInFlightBytes })],
    ["maxAgeSeconds", (maxAgeSeconds) => make({ maxAgeSeconds })],
    ["maxStuck", (maxStuck) => make({ maxStuck })],
    ["gate.maxUnsubscribesPerHour", (maxUnsubscribesPerHour) => make({ gate: { maxUnsubscribesPerHour } })],
    ["dedupe.windowSeconds", (windowSeconds) => make({ dedupe: { windowSeconds } })],
    ["storeTimeoutMs", (storeTimeoutMs) => make({ storeTimeoutMs })],
    ["maxJobs", (maxJobs) => () => memoryInbox({ maxJobs } as object)],
    ["maxJobs", (maxJobs) => () => sqliteInbox("inbox.db", { maxJobs } as object)],
    ["minFreeDiskBytes", (minFreeDiskBytes) => () => sqliteInbox("inbox.db", { minFreeDiskBytes } as object)],
  ])("%s", (name, given) => {
    for (const [value, got] of [
      [1.5, "1.5"],
      [Number.NaN, "NaN"],
      [-1, "-1"],
      [2 ** 53, "9007199254740992"],
      ["5", "a text"],
      [5n, "a bigint"],
      [[5], "a list"],
    ])
      expectInvalid(given(value), `${name} ${String(got)}`, "a whole number");
  });

  test.each<[string, (ms: number) => () => unknown]>([
    ["bodyTimeoutMs", (bodyTimeoutMs) => make({ bodyTimeoutMs })],
    ["secretTimeoutMs", (secretTimeoutMs) => make({ secretTimeoutMs })],
    ["storeTimeoutMs", (storeTimeoutMs) => make({ storeTimeoutMs })],
    ["graceMs", (graceMs) => make({ graceMs })],
    ["timeoutMs", (timeoutMs) => make({ timeoutMs })],
    ["gate.timeoutMs", (timeoutMs) => make({ gate: { timeoutMs } })],
  ])("%s, a timer's", (name, given) => {
    expect(given(LONGEST_MS)).not.toThrow();
    for (const ms of [LONGEST_MS + 1, Infinity]) expectInvalid(given(ms), name, "2,147,483,647");
  });

  test("but Infinity where it means no limit, and a month where it is no timer's", () => {
    expect(make({ attempts: Infinity, retryForMs: Infinity })).not.toThrow();
    expect(make({ retryForMs: 30 * 86_400_000, maxAgeSeconds: 90 * 86_400 })).not.toThrow();
  });
});

test("bodies in flight may hold the longest body, unless it is said otherwise", () => {
  const inFlight = (given: object): number =>
    resolveOptions({ secret: "s", inbox: memoryInbox(), ...given }).maxInFlightBytes;
  expect(inFlight({})).toBe(64 * 1024 ** 2);
  expect(inFlight({ maxBodyBytes: 128 * 1024 ** 2 })).toBe(128 * 1024 ** 2);
});

test.each(["", 5, Buffer.from("shop"), "\ud800", "a\0"])(
  "a receiver's name is a text that is not empty, not %j",
  (name) => {
    expectInvalid(make({ name }), "createReceiver got name", "a text that is not empty");
  },
);

test("a consumer's name is a text that is not empty", () => {
  for (const consumer of ["", 5, {}])
    expect(handling({ consumer })).toThrow(expect.objectContaining({ code: "handler-invalid" }));
});

test.each(["false", 0, null])("what is a yes or a no is a boolean, not %j", (given) => {
  expectInvalid(make({ logContent: given }), "createReceiver's `logContent` got", "expected true or false");
  expectInvalid(handling({ merge: given }), 'on("email")\'s `merge` got', "expected true or false");
});

test("what is to be called is a function, and an observer's names are known", () => {
  const { receiver } = rig();
  const wrong = 5 as never;
  expectInvalid(() => receiver.use(wrong), "use() got 5, expected a function");
  expectInvalid(() => receiver.onDead(wrong), "onDead() got 5, expected a function");
  expectInvalid(() => receiver.unsubscribeWhen(wrong), "unsubscribeWhen() got 5, expected a function");
  expectInvalid(() => receiver.observe({ stored: wrong }), "observe()'s `stored` got 5, expected a function");
  expectInvalid(() => receiver.observe({ stord() {} } as never), 'observe() got "stord"', 'Did you mean "stored"?');
});
