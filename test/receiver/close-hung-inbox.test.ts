import { expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { turns, watch } from "../support/event-loop.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

type Verbs = WorkingInbox<"memory">;

const never = () => new Promise<never>(() => {});

function hanging(change: (own: Verbs) => Partial<Verbs>) {
  const counts = { closed: 0, unrefed: 0 };
  const inbox = stubInbox((own) => ({
    close: () => ((counts.closed += 1), own.close()),
    unref: () => void (counts.unrefed += 1),
    ...change(own),
  }));
  return { ...rig({ inbox }), counts };
}

test.each<[string, (own: Verbs) => Partial<Verbs>]>([
  ["claims", () => ({ claim: never })],
  ["lists what is not expanded", () => ({ unexpanded: never })],
  ["lists what was unhandled", (own) => ({ jobs: { ...own.jobs, unhandled: never } })],
])("close() closes an inbox that hangs where it %s", async (_, change) => {
  const { receiver, pass, log, counts } = hanging(change);
  receiver.on("email", () => {});
  await receiver.start();
  await turns();
  const closed = watch(receiver.close({ drainMs: 2_000 }));
  await pass(2_000);
  expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
  expect(counts).toEqual({ closed: 1, unrefed: 0 });
  expect(log.of("inbox-failed")).toEqual([]);
});

test("close() lets no inbox keep the process alive that never closes", async () => {
  const { receiver, pass, counts } = hanging(() => ({ close: never }));
  await receiver.start();
  const closed = watch(receiver.close());
  await turns();
  await pass(1_000);
  expect(closed.ended).toBe(true);
  expect(counts.unrefed).toBe(1);
});

test("an inbox that settles late is closed after it, without a second try", async () => {
  let settle = (): void => {};
  const { receiver, send, pass, log, counts } = hanging((own) => ({
    settle: (settlements) =>
      new Promise((resolve) => {
        settle = () => resolve(own.settle(settlements));
      }),
  }));
  const { handler, last } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a"));
  await turns();
  last().end();
  await turns();
  const closed = watch(receiver.close({ drainMs: 0 }));
  await pass();
  await pass();
  expect(closed.value).toMatchObject({ stuck: 1 });
  expect(counts).toEqual({ closed: 0, unrefed: 1 });
  settle();
  await turns();
  expect(counts.closed).toBe(1);
  expect(log.of("settle-failed")).toEqual([]);
});

test("an inbox hears of the close while a handler runs: what does not run may go to other processes", async () => {
  let stopped = 0;
  const { receiver, send, pass } = hanging(() => ({ stopWork: () => void (stopped += 1) }));
  const { handler, last } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a"));
  await turns();
  const closed = watch(receiver.close());
  await turns();
  expect([stopped, closed.ended]).toEqual([1, false]);
  last().end();
  await pass();
  expect(closed.value).toMatchObject({ done: 1, stuck: 0 });
});

test.each([
  () => {
    throw new Error("no");
  },
  () => Promise.reject(new Error("no")) as never,
])("and closes also where it throws", async (stopWork) => {
  const { receiver, counts, pass } = hanging(() => ({ stopWork }));
  receiver.on("email", () => {});
  await receiver.start();
  const closed = watch(receiver.close());
  await pass();
  expect(closed.value).toMatchObject({ stuck: 0 });
  expect(counts.closed).toBe(1);
});
