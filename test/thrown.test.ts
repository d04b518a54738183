import { expect, onTestFinished, test } from "vitest";
import { catchRejection } from "../src/thrown.ts";
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
