import { describe, expect, test } from "vitest";
import { turns, watch } from "../support/event-loop.ts";
import { idsAndStates, listAllJobs, receiverWithDeadJobs } from "../support/job-fixtures.ts";
import { emails } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

describe("a replay of many", () => {
  test("goes in pages, and the loop turns between them", async () => {
    const pages: { readonly size: number; readonly turn: number }[] = [];
    let turn = 0;
    const inbox = stubInbox((own) => ({
      jobs: {
        ...own.jobs,
        find: (query) => {
          pages.push({ size: query.limit, turn });
          return own.jobs.find(query);
        },
        replay: (selection) => {
          pages.push({ size: "ids" in selection ? selection.ids.length : Infinity, turn });
          return own.jobs.replay(selection);
        },
      },
    }));
    const ids = Array.from({ length: 5_200 }, (_, index) => `m-${index}`);
    const { receiver, seen } = await receiverWithDeadJobs(ids, { inbox });
    const replayed = watch(receiver.jobs.replay({ state: "dead" }));
    for (; !replayed.ended; turn += 1) await turns(1);
    expect(replayed.value).toEqual({ count: 5_200 });
    expect(pages.length).toBeGreaterThan(10);
    expect(Math.max(...pages.map(({ size }) => size))).toBeLessThanOrEqual(1_000);
    expect(new Set(pages.map((page) => page.turn)).size).toBe(pages.length);
    await receiver.idle();
    expect(seen.toSorted()).toEqual(ids.toSorted());
  });

  test("of many ids goes in pages too", async () => {
    const sizes: number[] = [];
    const inbox = stubInbox((own) => ({
      jobs: {
        ...own.jobs,
        replay: (selection) => {
          sizes.push("ids" in selection ? selection.ids.length : Infinity);
          return own.jobs.replay(selection);
        },
      },
    }));
    const dead = await receiverWithDeadJobs(
      Array.from({ length: 1_700 }, (_, index) => `m-${index}`),
      { inbox },
    );
    const ids = (await listAllJobs(dead)).map(({ id }) => id);
    expect(await dead.receiver.jobs.replay(ids)).toEqual({ count: 1_700 });
    expect(sizes.length).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
  });
});

describe("a replay with a rate", () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `m-${index}`);

  test("starts so many jobs a second, by the receiver's clock", async () => {
    const { receiver, seen, pass } = await receiverWithDeadJobs(names(7));
    const replayed = watch(receiver.jobs.replay({ state: "dead" }, { perSecond: 2 }));
    await turns();
    const started = [seen.length];
    for (let half = 0; half < 5; half += 1) {
      await pass(500);
      started.push(seen.length);
    }
    expect(started).toEqual([1, 2, 3, 4, 5, 6]);
    expect(replayed.ended).toBe(false);
    await pass(500);
    expect(replayed).toMatchObject({ ended: true, value: { count: 7 } });
    expect(seen).toEqual(names(7));
  });

  test.each([
    [0.1, 3, 20_000],
    [15, 60, 3_900],
    [100, 250, 2_400],
    [20_000, 1_200, 50],
  ])("of %d takes %d jobs in about %d ms, never faster", async (perSecond, count, ms) => {
    const { receiver, pass, clock, inbox } = await receiverWithDeadJobs(names(count));
    const replayed = watch(receiver.jobs.replay({ state: "dead" }, { perSecond }));
    await turns();
    const begun = clock.now();
    const made = () => count - inbox.stats().dead;
    while (!replayed.ended) {
      const burst = Math.max(1, perSecond / 10 + 1);
      expect(made()).toBeLessThanOrEqual(((clock.now() - begun) / 1_000) * perSecond + burst);
      await pass(ms / 20);
    }
    expect(replayed.value).toEqual({ count });
    expect(clock.now() - begun).toBeGreaterThanOrEqual(ms * 0.9);
    expect(clock.now() - begun).toBeLessThanOrEqual(ms * 1.1 + 1);
  });

  test("takes no notice of a wall clock that jumps", async () => {
    const { receiver, seen, pass, clock } = await receiverWithDeadJobs(names(4));
    const replayed = watch(receiver.jobs.replay({ state: "dead" }, { perSecond: 1 }));
    await turns();
    clock.jump(-86_400_000);
    await pass(1_000);
    expect(seen).toHaveLength(2);
    clock.jump(2 * 86_400_000);
    await pass(0);
    expect(seen).toHaveLength(2);
    await pass(2_000);
    expect(replayed).toMatchObject({ ended: true, value: { count: 4 } });
  });

  test("takes each job once, though all die again meanwhile", async () => {
    const { receiver, pass, failFrom, send } = await receiverWithDeadJobs(names(5));
    failFrom();
    const replayed = watch(receiver.jobs.replay({ state: "dead" }, { perSecond: 1 }));
    await turns();
    await send(emails("fresh"));
    await pass(60_000);
    expect(replayed.value).toEqual({ count: 5 });
    const { jobs } = await receiver.jobs.list();
    expect(idsAndStates(jobs).map(([id]) => id)).toEqual(["m-0", "fresh", "m-1", "m-2", "m-3", "m-4"]);
    expect(receiver.stats().dead).toBe(5 + 5 + 1);
  });

  test("leaves what went meanwhile out of its count", async () => {
    const { receiver, pass } = await receiverWithDeadJobs(names(3));
    const replayed = watch(receiver.jobs.replay({ state: "dead" }, { perSecond: 1 }));
    await turns();
    const [, last] = (await receiver.jobs.list({ state: "dead" })).jobs;
    await receiver.jobs.drop(last?.id ?? "");
    await pass(10_000);
    expect(replayed.value).toEqual({ count: 2 });
  });

  test("ends when the receiver closes, and says how many were replayed", async () => {
    const { receiver, clock, inbox } = await receiverWithDeadJobs(names(10));
    const replayed = watch(receiver.jobs.replay({ state: "dead" }, { perSecond: 0.001 }));
    await turns();
    await receiver.close();
    await turns();
    expect(replayed.error).toMatchObject({
      name: "ClosedError",
      code: "closed",
      message: expect.stringContaining("after 1 jobs were replayed") as string,
      fix: expect.stringContaining("next receiver") as string,
    });
    expect(inbox.stats().dead).toBe(9);
    expect(clock.waiting).toBe(0);
  });

  test("ends when the receiver closes within a page, without waiting for the next one", async () => {
    const inbox = stubInbox((own) => ({
      jobs: {
        ...own.jobs,
        replay: (selection) => {
          void dead.receiver.close();
          return own.jobs.replay(selection);
        },
      },
    }));
    const dead = await receiverWithDeadJobs(names(3), { inbox });
    const replayed = watch(dead.receiver.jobs.replay({ state: "dead" }, { perSecond: 0.001 }));
    await turns();
    expect(replayed.error).toMatchObject({ code: "closed" });
    expect(dead.inbox.stats().dead).toBe(2);
  });

  test("does not wait for a rate when it only counts", async () => {
    const { receiver, seen } = await receiverWithDeadJobs(names(10));
    expect(await receiver.jobs.replay({ state: "dead" }, { perSecond: 0.001, dryRun: true })).toEqual({ count: 10 });
    await receiver.idle();
    expect(seen).toEqual([]);
  });

  test("may be without a limit", async () => {
    const { receiver, seen } = await receiverWithDeadJobs(names(3));
    expect(await receiver.jobs.replay({ state: "dead" }, { perSecond: Infinity })).toEqual({ count: 3 });
    await receiver.idle();
    expect(seen).toHaveLength(3);
  });
});
