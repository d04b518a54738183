import { forwardInbox, memoryInbox } from "hookline";
import { AssertionError } from "node:assert/strict";
import { describe, expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { brokenSubject } from "../support/broken-inboxes/broken-subject.ts";
import { checkInboxModel } from "./inbox-model/check-inbox-model.ts";
import { checkInbox } from "./inbox/check-inbox.ts";
import type { InboxSubject } from "./inbox/inbox-subject.ts";

const whole = brokenSubject(() => ({}));

/** The error of a promise that has to fail. */
async function failureOf(run: Promise<void> | undefined): Promise<Error> {
  return (await run?.then(
    () => new Error("it did not fail"),
    (error: unknown) => error,
  )) as Error;
}

describe("checkInbox", () => {
  test("gives each case a name of its own, which begins with the member of the port", () => {
    const names = checkInbox({ ...whole, beside: whole.crash }).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(100);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^\w+: ./.test(name))).toEqual([]);
  });

  test("gives each case an inbox of its own, closed and cleared away afterwards, whether it passes or not", async () => {
    const seen: string[] = [];
    const subject = brokenSubject((own) => ({
      close: async () => {
        seen.push("closed");
        await own.close();
      },
      settle: async () => [false],
    }));
    const cases = checkInbox({
      ...subject,
      make: () => (seen.push("made"), subject.make()),
      cleanup: () => void seen.push("cleared"),
    });
    await cases.find(({ name }) => name.startsWith("ready"))?.run();
    await failureOf(cases.find(({ name }) => name === "settle: done frees the lane")?.run());
    expect(seen).toEqual(["made", "closed", "cleared", "made", "closed", "cleared"]);
  });

  test("tells the promise that is broken, the case, and what was got and expected", async () => {
    const cases = checkInbox(brokenSubject(() => ({ settle: async () => [false] })));
    const failure = await failureOf(cases.find(({ name }) => name === "settle: done frees the lane")?.run());
    expect(failure).toBeInstanceOf(AssertionError);
    expect(failure).toMatchObject({ actual: [false], expected: [true] });
    expect(failure.message).toMatch(
      /^The port promises of settle: "The next job of the lane can be claimed after the same write\." Not so here: settle: done frees the lane\.\n/,
    );
  });

  test("tells so too when a verb throws, and an inbox that cannot be closed hides nothing", async () => {
    const cases = checkInbox(
      brokenSubject(() => ({
        store: () => Promise.reject(new Error("the disk is gone")),
        close: () => Promise.reject(new Error("and stays so")),
      })),
    );
    const failure = await failureOf(cases.find(({ name }) => name === "settle: done frees the lane")?.run());
    expect(failure.message).toMatch(/^The port promises of settle: .*\nthe disk is gone$/s);
    expect(failure.cause).toMatchObject({ message: "the disk is gone" });
  });

  test("refuses an inbox with the writing half alone", async () => {
    const [first] = checkInbox({ make: () => forwardInbox(async () => {}) });
    expect((await failureOf(first?.run())).cause).toMatchObject({ name: "UsageError", code: "inbox-invalid" });
  });
});

const leftOut = (subject: InboxSubject, what: string) =>
  checkInbox(subject).find(({ name }) => name.startsWith(`left out for want of \`${what}\`: `));

describe("without crash, checkInbox", () => {
  test("leaves out what a successor finds, and says so by a case", async () => {
    const make = (): ReturnType<InboxSubject["make"]> => memoryInbox();
    expect(checkInbox(whole).length).toBeGreaterThan(checkInbox({ make }).length);
    expect(leftOut(whole, "crash")).toBeUndefined();
    expect(leftOut({ make }, "crash")?.name).toMatch(
      /^left out for want of `crash`: the \d+ cases about what a successor finds$/,
    );
    await leftOut({ make }, "crash")?.run();
  });

  test("fails for an inbox that is to outlive its process", async () => {
    const make = (): WorkingInbox => {
      const own = memoryInbox() as WorkingInbox<"memory">;
      return { ...own, storage: "disk", capabilities: { ...own.capabilities, durability: "fsync" } };
    };
    expect((await failureOf(leftOut({ make }, "crash")?.run())).message).toMatch(
      /"fsync" outlives its process.*Give `crash`/,
    );
  });
});

describe("without beside, checkInbox", () => {
  test("leaves out what several that work owe each other, and says so by a case", async () => {
    expect(checkInbox({ ...whole, beside: whole.crash }).length).toBeGreaterThan(checkInbox(whole).length);
    expect(leftOut({ ...whole, beside: whole.crash }, "beside")).toBeUndefined();
    expect(leftOut(whole, "beside")?.name).toMatch(/: the \d+ cases about several that work$/);
    await leftOut(whole, "beside")?.run();
  });

  test("fails for an inbox on which many work", async () => {
    const make = (): WorkingInbox => {
      const own = memoryInbox() as WorkingInbox<"memory">;
      return { ...own, capabilities: { ...own.capabilities, workers: "many" } };
    };
    expect((await failureOf(leftOut({ make }, "beside")?.run())).message).toMatch(/many work .*Give `beside`/);
  });
});

describe("checkInboxModel", () => {
  const broken = brokenSubject((own) => ({ settle: async (all) => (await own.settle(all)).map(() => true) }));

  test("tells the shortest walk that shows the difference, and how to repeat it", async () => {
    const failure = await failureOf(checkInboxModel(broken, { seed: 3 }));
    expect(failure).toBeInstanceOf(AssertionError);
    const steps = failure.message.split("\n").filter((line) => /^ {2}\d+\. /.test(line));
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.length).toBeLessThan(6);
    expect(steps[0]).toMatch(/^ {2}1\. store \{"deliveries":/);
    const [, repeat = ""] = /Repeat it: checkInboxModel\(subject, (\{.*\})\)$/m.exec(failure.message) ?? [];
    const options = JSON.parse(repeat) as { readonly seed: number; readonly path: string };
    expect(options.seed).toBe(3);
    expect((await failureOf(checkInboxModel(broken, options))).message.split("\n")).toEqual(
      failure.message.split("\n"),
    );
  });

  test("walks without a death where there is no crash", async () => {
    await checkInboxModel({ make: () => memoryInbox() }, { runs: 20, steps: 20 });
  });
});
