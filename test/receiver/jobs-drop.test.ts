import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { turns, until, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import {
  idsAndStates,
  listAllJobs,
  mailBody,
  receiverWithDeadJobs,
  receiverWithJobsInEachState,
} from "../support/job-fixtures.ts";
import { emails, failingHandler, heldHandler, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

describe("drop", () => {
  test("takes waiting, dead and unhandled jobs, and leaves a running one", async () => {
    const { receiver, held, log } = await receiverWithJobsInEachState();
    const state = ["waiting", "running", "done", "skipped", "dead", "unhandled"] as const;
    expect(await receiver.jobs.drop({ state })).toEqual({ count: 4 });
    expect(idsAndStates((await receiver.jobs.list()).jobs)).toEqual([["running", "running"]]);
    expect(log.of("jobs-dropped")).toMatchObject([{ level: "info", facts: { count: 4 } }]);
    held.last().end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 1 });
    expect((await receiver.jobs.list()).jobs).toEqual([]);
  });

  test("of ids counts each job once, and what runs or is not there not at all", async () => {
    const { receiver } = await receiverWithJobsInEachState();
    const ids = (await receiver.jobs.list()).jobs.map(({ id }) => id);
    const selection = [...ids, ...ids, "999999", "", "no-id"];
    expect(await receiver.jobs.drop(selection, { dryRun: true })).toEqual({ count: 4 });
    expect(await receiver.jobs.drop(selection)).toEqual({ count: 4 });
    expect(await receiver.jobs.drop(ids[1] ?? "")).toEqual({ count: 0 });
  });

  test("of a filter takes what it names, and nothing else", async () => {
    const { receiver } = await receiverWithJobsInEachState();
    expect(await receiver.jobs.drop({ state: "waiting", type: "email.deleted" })).toEqual({ count: 1 });
    expect(idsAndStates((await receiver.jobs.list()).jobs).map(([id]) => id)).toEqual([
      "dead",
      "running",
      "behind",
      "nobody's",
    ]);
  });

  test("of a job that waits behind a running one leaves the lane to the one that runs", async () => {
    const { receiver, send, held } = await receiverWithJobsInEachState();
    const [behind] = (await receiver.jobs.list({ state: "waiting", type: "email.updated" })).jobs;
    await receiver.jobs.drop(behind?.id ?? "");
    await send(emails("later"));
    await turns();
    expect(held.calls).toHaveLength(1);
    held.last().end();
    await until(() => held.calls.length === 2);
    expect(held.last().event).toMatchObject({ id: "later" });
  });

  test("of a job that waits for its retry lets its lane go on", async () => {
    const { receiver, send } = rig();
    const { seen, handler } = recordingHandler((event) => {
      if ("id" in event && event.id === "a") throw new Error("no");
    });
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await send(emails("a", "b"));
    await receiver.idle();
    expect(seen).toEqual(["a"]);
    await receiver.jobs.drop({ state: "waiting", receivedAfter: new Date(0), accountId: 7 });
    await receiver.idle();
    expect(seen).toEqual(["a"]);
    const [head] = (await receiver.jobs.list()).jobs;
    await receiver.jobs.drop(head?.id ?? "");
    await receiver.idle();
    expect(seen).toEqual(["a", "b"]);
  });

  test("of a job in the middle of a run leaves the others to merge", async () => {
    const { receiver, send } = rig();
    const held = heldHandler();
    receiver.on("email.changes", held.handler);
    await receiver.start();
    await send(emails("first"));
    await until(() => held.calls.length === 1);
    await send(emails("a", "b", "c"));
    const [, middle] = (await receiver.jobs.list({ state: "waiting" })).jobs;
    await receiver.jobs.drop(middle?.id ?? "");
    held.last().end();
    await until(() => held.calls.length === 2);
    expect(held.last().event).toMatchObject({ changes: [{ id: "a" }, { id: "c" }] });
    expect(held.last().ctx.merged).toBe(2);
  });

  test("of one consumer's job leaves the others' of the same event", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    receiver.on("email", failingHandler().handler);
    receiver.on("email", failingHandler().handler, { consumer: "search" });
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(await receiver.jobs.drop({ state: "dead", consumer: "search" })).toEqual({ count: 1 });
    const [left, ...more] = (await receiver.jobs.list()).jobs;
    expect([left?.consumer, more]).toEqual(["default", []]);
    expect(
      Buffer.from((await receiver.jobs.get(left?.id ?? ""))?.delivery?.bodyBase64 ?? "", "base64").toString(),
    ).toBe(emails("a"));
  });

  test.each(["a filter", "ids"])("of many by %s goes in pages, and the loop turns between them", async (way) => {
    const pages: { readonly size: number; readonly turn: number }[] = [];
    let turn = 0;
    const inbox = stubInbox((own) => ({
      jobs: {
        ...own.jobs,
        drop: (selection) => {
          pages.push({ size: "ids" in selection ? selection.ids.length : Infinity, turn });
          return own.jobs.drop(selection);
        },
      },
    }));
    const made = await receiverWithDeadJobs(
      Array.from({ length: 5_200 }, (_, index) => `m-${index}`),
      { inbox },
    );
    const { receiver } = made;
    const selection = way === "ids" ? (await listAllJobs(made)).map(({ id }) => id) : ({ state: "dead" } as const);
    const dropped = watch(receiver.jobs.drop(selection));
    for (; !dropped.ended; turn += 1) await turns(1);
    expect(dropped.value).toEqual({ count: 5_200 });
    expect(Math.max(...pages.map(({ size }) => size))).toBeLessThanOrEqual(1_000);
    expect(new Set(pages.map((page) => page.turn)).size).toBe(pages.length);
    expect((await receiver.jobs.list()).jobs).toEqual([]);
  });

  test("ends between two pages when the receiver closes, and says how many were dropped", async () => {
    let closing: Promise<unknown> | undefined;
    const inbox = stubInbox((own) => ({
      jobs: {
        ...own.jobs,
        drop: (selection) => {
          closing ??= receiver.close();
          return own.jobs.drop(selection);
        },
      },
    }));
    const made = await receiverWithDeadJobs(
      Array.from({ length: 2_100 }, (_, index) => `m-${index}`),
      { inbox },
    );
    const { receiver } = made;
    await expect(receiver.jobs.drop({ state: "dead" })).rejects.toMatchObject({
      code: "closed",
      message: expect.stringContaining("after 500 jobs were dropped") as string,
    });
    await closing;
    expect(made.inbox.stats().dead).toBe(1_600);
  });
});

describe("erase", () => {
  test("takes every job and delivery of the account, those that wait to be expanded too, and no other's", async () => {
    const shared = { inbox: memoryInbox(), clock: fakeClock() };
    const before = rig({ ...shared, attempts: 1 });
    before.receiver.on("email", failingHandler().handler);
    await before.receiver.start();
    await before.send(mailBody(7, ["a", "b"]));
    await before.send(mailBody(8, ["other"]));
    await before.receiver.idle();
    await before.receiver.close();
    const { receiver, send, log } = rig(shared);
    await send(mailBody(7, ["unexpanded"]));
    await send(mailBody(8, ["other, unexpanded"]));
    expect(await receiver.jobs.erase(7)).toMatchObject({ count: 3 });
    expect(await receiver.jobs.erase(7)).toMatchObject({ count: 0 });
    expect(idsAndStates((await receiver.jobs.list()).jobs)).toEqual([["other", "dead"]]);
    expect(log.of("account-erased")[0]).toMatchObject({ level: "info", facts: { accountId: 7, count: 3 } });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["other, unexpanded"]);
  });

  test("tells running handlers to stop, and what becomes of them does not count", async () => {
    const { receiver, send, inbox } = rig();
    const held = heldHandler();
    receiver.on("email", held.handler, { merge: false });
    await receiver.start();
    await send(mailBody(7, ["ends", "ends"]));
    await send(mailBody(7, ["fails"]));
    await send(mailBody(8, ["other"]));
    await turns();
    const [ends, fails, other] = held.calls;
    expect(await receiver.jobs.erase(7)).toMatchObject({ count: 3 });
    expect(ends?.ctx.signal.reason).toMatchObject({ name: "ClosedError", code: "claim-lost" });
    expect(fails?.ctx.signal.aborted).toBe(true);
    expect(other?.ctx.signal.aborted).toBe(false);
    ends?.end();
    fails?.fail();
    await turns();
    expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 0 });
    expect(idsAndStates((await receiver.jobs.list()).jobs)).toEqual([["other", "running"]]);
    other?.end();
    await receiver.idle();
    expect(held.calls).toHaveLength(3);
    expect(inbox.stats()).toMatchObject({ running: 0, waiting: 0, dead: 0, unexpanded: 0 });
  });

  test("takes merged jobs that run together", async () => {
    const { receiver, send } = rig();
    const held = heldHandler();
    receiver.on("email.changes", held.handler);
    await send(mailBody(7, ["a", "b"]));
    await receiver.start();
    await turns();
    expect(await receiver.jobs.erase(7)).toMatchObject({ count: 2 });
    expect(held.last().ctx.signal.aborted).toBe(true);
    expect((await receiver.jobs.list()).jobs).toEqual([]);
  });

  test("lets new deliveries of the account be handled", async () => {
    const { receiver, send } = rig();
    const held = heldHandler();
    receiver.on("email", held.handler);
    await receiver.start();
    await send(mailBody(7, ["a"]));
    await turns();
    await receiver.jobs.erase(7);
    held.last().end();
    await send(mailBody(7, ["a"]));
    await until(() => held.calls.length === 2);
    held.last().end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 1 });
  });
});
