import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { catchRejection, describeThrown } from "../src/thrown.ts";
import { turns } from "./support/event-loop.ts";

const error = new Error("no");

test.each<[string, () => unknown]>([
  ["a promise", () => Promise.reject(error)],
  [
    "a promise whose own `then` throws",
    () =>
      // oxlint-disable-next-line unicorn/no-thenable -- it is one, of a broken make
      Object.defineProperty(Promise.reject(error), "then", {
        get() {
          throw error;
        },
      }),
  ],
  // oxlint-disable-next-line unicorn/no-thenable -- what a promise library of somebody's own hands in
  ["a thenable", () => ({ then: (_: unknown, reject: (reason: unknown) => void) => reject(error) })],
])("a rejection is heard, told once, and ends no process: of %s", async (_, make) => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const heard: unknown[] = [];
  catchRejection(make(), (reason) => heard.push(reason));
  await turns();
  expect([heard, unhandled]).toEqual([[error], []]);
});

test.each<[string, (this: object, ok: (value: unknown) => void, no: (reason: unknown) => void) => void]>([
  [
    "rejects with itself",
    function (_, no) {
      no(this);
    },
  ],
  [
    "fulfils with itself",
    function (ok) {
      ok(this);
    },
  ],
  [
    "does both, twice",
    function (ok, no) {
      for (let times = 0; times < 2; times += 1) [no, ok].forEach((settle) => settle(this));
    },
  ],
])("a thenable that %s is not followed without end", async (_, then) => {
  let calls = 0;
  const thenable = {};
  // oxlint-disable-next-line unicorn/no-thenable -- it is one, of a broken make
  Object.defineProperty(thenable, "then", {
    get() {
      calls += 1;
      return calls > 100 ? undefined : then;
    },
  });
  catchRejection(thenable);
  await turns();
  expect(calls).toBe(8);
});

test.each([
  ["NUL, which no text in PostgreSQL has", "a\0b", "a\uFFFDb"],
  ["halves of surrogate pairs", "\uDE00 \uD83D 😀", "\uFFFD \uFFFD 😀"],
  ["a pair that does not fit", `${"x".repeat(1_999)}😀`, "x".repeat(1_999)],
  ["a pair that just fits", `${"x".repeat(1_998)}😀y`, `${"x".repeat(1_998)}😀`],
])("name and message of what was thrown can be stored: %s", (_, text, stored) => {
  expect(describeThrown(Object.assign(new Error(text), { name: text }))).toEqual({ name: stored, message: stored });
});

test("a thrown text can be stored", () => {
  expect(describeThrown("a\0\uD83D")).toEqual({ name: "Error", message: "string was thrown: a\uFFFD\uFFFD" });
  expect(describeThrown(`${"x".repeat(1_980)}😀`).message).toBe(`string was thrown: ${"x".repeat(1_980)}`);
});

test("an async `toString` of what was thrown ends no process", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const odd = { toString: () => Promise.reject(error) };
  const shown = [odd, Object.assign(new Error("x"), { message: odd, name: () => "y" })].map(describeThrown);
  await turns();
  expect(shown).toEqual([
    { name: "Error", message: "object was thrown: it cannot be shown" },
    { name: '() => "y"', message: "it cannot be shown" },
  ]);
  expect(unhandled).toEqual([]);
});

test("of what was thrown nothing but the description stays in memory", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  // As of an API that answers with a page: the second one cut it itself.
  const described = Array.from({ length: 100 }, (_, nth) => {
    const page = `page ${nth} `.repeat(100_000);
    return [new Error(`HTTP 502: ${page}`), new Error(page.slice(0, 200))].map(describeThrown);
  });
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000); // the pages have 80 MB and more
  expect(described.flat().map(({ message }) => message.length)).toContain(200);
});
