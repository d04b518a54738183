import type { AnyEvent, Context } from "hookline";
import { completionOf, type SqlTransaction, type Transactional } from "hookline/adapter";
import { expect, test } from "vitest";
import { deferred } from "../support/event-loop.ts";
import { codesOf, toReported } from "../support/health.ts";
import { emails, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const tx: SqlTransaction = { query: async () => ({ rows: [] }) };

test("a handler that completed its jobs is done when its transaction was committed", async () => {
  const { receiver, completed, run } = transactional({ isCompleted: async () => true });
  receiver.on("email", (_, ctx) => completionOf(ctx)?.complete(tx));
  await run(emails("a", "b"));
  expect(completed).toEqual([["2"], ["3"]]);
  expect(receiver.stats()).toMatchObject({ succeeded: 2, failed: 0 });
});

test("all jobs of a merged call are completed together", async () => {
  const { receiver, completed, run } = transactional({ isCompleted: async () => true });
  receiver.on("email", (_, ctx) => completionOf(ctx)?.complete(tx));
  await run(emails("a", "a"));
  expect(completed).toEqual([["2", "3"]]);
});

test("while the transaction is open the job is not settled, and its lane is closed", async () => {
  const { promise, resolve } = deferred();
  const { receiver, run, pass } = transactional({ isCompleted: () => promise.then(() => true) });
  const seen: number[] = [];
  receiver.on(
    "email",
    async (_, ctx) => {
      seen.push(ctx.merged);
      await completionOf(ctx)?.complete(tx);
    },
    { merge: false },
  );
  const ran = run(emails("a", "a"));
  await pass(60_000);
  expect([seen, receiver.stats().succeeded]).toEqual([[1], 0]);
  resolve();
  await ran;
  expect([seen, receiver.stats().succeeded]).toEqual([[1, 1], 2]);
});

test("a rollback is a failed attempt, though the handler returned", async () => {
  let commits = 0;
  const { receiver, run, pass } = transactional({ isCompleted: async () => (commits += 1) > 1 });
  const attempts: number[] = [];
  receiver.on("email", async (_, ctx) => {
    attempts.push(ctx.attempt);
    await completionOf(ctx)?.complete(tx);
  });
  await run(emails("a"));
  const { jobs } = await receiver.jobs.list();
  expect(jobs).toMatchObject([{ state: "waiting", lastError: { message: expect.stringContaining("rolled back") } }]);
  await pass(3_600_000);
  expect(attempts).toEqual([1, 2]);
  expect(receiver.stats()).toMatchObject({ succeeded: 1 });
});

test("a handler that fails after a rollback is retried with its own error", async () => {
  const { receiver, run } = transactional({ isCompleted: async () => false });
  receiver.on("email", async (_, ctx) => {
    await completionOf(ctx)?.complete(tx);
    throw new Error("no such account");
  });
  await run(emails("a"));
  expect((await receiver.jobs.list()).jobs).toMatchObject([
    { state: "waiting", lastError: { message: "no such account" } },
  ]);
});

test("a handler that fails after the commit is done: what the transaction did must not happen again", async () => {
  const { receiver, run, log } = transactional({ isCompleted: async () => true });
  receiver.on("email", async (_, ctx) => {
    await completionOf(ctx)?.complete(tx);
    throw new Error("after the commit");
  });
  await run(emails("a"));
  expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
  expect(log.of("failed-after-commit")).toHaveLength(1);
});

test("an inbox that does not know is asked again every second", async () => {
  let asked = 0;
  const isCompleted = async (): Promise<boolean> => {
    asked += 1;
    if (asked < 3) throw new Error("no connection");
    return true;
  };
  const { receiver, run, pass } = transactional({ isCompleted });
  receiver.on("email", (_, ctx) => completionOf(ctx)?.complete(tx));
  const ran = run(emails("a"));
  await pass(1_000);
  expect([asked, receiver.stats().succeeded]).toEqual([2, 0]);
  await pass(1_000);
  await ran;
  expect([asked, receiver.stats().succeeded]).toEqual([3, 1]);
});

test("one whose transaction is never known of is a problem, though others are settled all the time", async () => {
  const isCompleted = ({ jobs }: { readonly jobs: readonly { readonly entry: number }[] }): Promise<boolean> =>
    jobs[0]?.entry === 1 ? new Promise(() => {}) : Promise.resolve(true);
  const { receiver, send, pass, log } = transactional({ isCompleted });
  receiver.on("email", (_, ctx) => completionOf(ctx)?.complete(tx), { consumer: "search" });
  await receiver.start();
  await send(emails("fine", "hangs"));
  async function steadyTraffic(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await pass(1_000);
      await send(emails(`more ${second}`));
    }
  }
  await steadyTraffic(14);
  expect(await codesOf(receiver)).toEqual([]);
  await steadyTraffic(2);
  const still = "was not settled for 16 s: the inbox gives no answer.";
  expect(await receiver.health()).toMatchObject({
    live: true,
    problems: [toReported("no-progress", `Job 3 of consumer "search" ${still}`)],
  });
  await steadyTraffic(60);
  expect(log.of("settle-failed").length).toBeGreaterThan(0);
  expect(await receiver.health()).toMatchObject({ live: true, problems: [{ code: "no-progress" }] });
});

test("a completion that was refused decides nothing: the handler's own result does", async () => {
  const complete = async (): Promise<void> => {
    throw new Error("claim lost");
  };
  const { receiver, run } = transactional({ complete, isCompleted: () => new Promise(() => {}) });
  receiver.on("email", async (_: AnyEvent, ctx: Context) =>
    completionOf(ctx)
      ?.complete(tx)
      .catch(() => {}),
  );
  await run(emails("a"));
  expect(receiver.stats().succeeded).toBe(1);
});

test("on an inbox without transactions nothing can be completed", async () => {
  const { receiver, send } = rig();
  const offered: unknown[] = [];
  receiver.on("email", (_, ctx) => void offered.push(completionOf(ctx)));
  await receiver.start();
  await send(emails("a"));
  await receiver.idle();
  expect(offered).toEqual([undefined]);
});

/** A receiver on an inbox that settles in transactions; without more it takes every completion. */
function transactional(verbs: Partial<Transactional>) {
  const completed: (readonly string[])[] = [];
  const inbox = stubInbox(() => ({
    transactional: {
      async complete({ jobs }) {
        completed.push(jobs.map(({ id }) => id));
      },
      isCompleted: async () => true,
      ...verbs,
    },
  }));
  const all = rig({ inbox });
  const run = async (body: string): Promise<void> => {
    await all.receiver.start();
    await all.send(body);
    await all.receiver.idle();
  };
  return { ...all, completed, run };
}
