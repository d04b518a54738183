import { createReceiver, forwardInbox, memoryInbox, RetryLater, type Inbox, type ReceiverOptions } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { bodyOf, bookingBody, makeDelivery, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const MINUTE_MS = 60_000;

describe("stored deliveries that no process works on are a problem", () => {
  test("of a process that only receives, until it starts", async () => {
    const { receiver, send } = rig();
    receiver.on("email", () => {});
    await send();
    await send();
    expect(await receiver.health()).toMatchObject({ ready: true, live: true, waiting: 2 });
    expect(await receiver.health()).toMatchObject({
      problems: [toReported("no-worker", "Now: 0 jobs, and 2 not expanded yet.")],
    });
    await receiver.start();
    await receiver.idle();
    expect(await receiver.health()).toMatchObject({ waiting: 0, problems: [] });
  });

  test("of one that is about to work only where that lasts", async () => {
    const { receiver, send, pass } = rig({ inbox: stubInbox(() => ({ work: () => new Promise(() => {}) })) });
    await send();
    watch(receiver.start());
    await pass(10_000);
    expect(await receiver.health()).toMatchObject({ waiting: 1, problems: [] });
    await pass(1);
    expect(await codesOf(receiver)).toEqual(["no-worker"]);
  });

  test("where other processes may work on them too, only once the oldest waits for more than 5 minutes", async () => {
    const { receiver, send, pass } = rig({ inbox: shared(memoryInbox()) });
    await send();
    await pass(5 * MINUTE_MS);
    expect(await codesOf(receiver)).toEqual([]);
    await pass(1);
    expect(await codesOf(receiver)).toEqual(["no-worker"]);
  });

  test("if no other process works on them either, after a successor had time to start", async () => {
    let isWorkedOn = true;
    const inbox = stubInbox((own) => ({
      capabilities: { ...own.capabilities, shared: true },
      stats: () => ({ ...own.stats(), isWorkedOn }),
    }));
    const { receiver, send, pass } = rig({ inbox });
    await send();
    await pass(MINUTE_MS);
    expect(await codesOf(receiver)).toEqual([]);
    isWorkedOn = false;
    expect(await codesOf(receiver)).toEqual(["no-worker"]);
    await receiver.jobs.erase(2002);
    await send();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("not any more when it closes", async () => {
    const { receiver, send } = rig();
    await send();
    await receiver.close();
    expect(await codesOf(receiver)).toEqual(["closing"]);
  });
});

test("lag of an inbox on which many work says how many, and what this process has of it", async () => {
  const inbox = stubInbox((own) => ({ stats: () => ({ ...own.stats(), workers: { alive: 3, share: 22 / 64 } }) }));
  const { receiver, send, pass } = rig({ inbox, concurrency: 1 });
  const { handler } = heldHandler();
  receiver.on("email", handler, { timeoutMs: 0 });
  await receiver.start();
  await send(emails("a", "b", "c"));
  await pass(6 * MINUTE_MS);
  const { problems } = await receiver.health();
  expect(problems.find(({ code }) => code === "lag")?.message).toMatch(
    / It waits for 360 s\. It is the oldest of all workers: 3, of whose lanes this process has 34 %\.$/,
  );
});

test("lag is a problem once the oldest waiting job is older than 5 minutes, and ends with it", async () => {
  const { receiver, send, pass } = rig({ concurrency: 1 });
  const { calls, handler, last } = heldHandler();
  receiver.on("email", handler, { timeoutMs: 0 });
  await receiver.start();
  await send(emails("a", "b", "c"));
  await pass(5 * MINUTE_MS);
  expect(await receiver.health()).toMatchObject({ waiting: 2, oldestWaitingMs: 5 * MINUTE_MS, problems: [] });
  await pass(1_000);
  expect(await receiver.health()).toMatchObject({ oldestWaitingMs: 5 * MINUTE_MS + 1_000 });
  expect(await problemsOf(receiver, "lag")).toEqual([toReported("lag", "It waits for 301 s.")]);
  while (calls.length < 3) {
    last().end();
    await pass();
  }
  expect(await receiver.health()).toMatchObject({ waiting: 0, oldestWaitingMs: 0, problems: [] });
});

test("a wall clock that is set back does not hide how long a job waits", async () => {
  const { receiver, send, pass, clock } = rig({ concurrency: 1, timeoutMs: 0 });
  const { handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b"));
  clock.jump(-60 * MINUTE_MS);
  expect(await receiver.health()).toMatchObject({ waiting: 1, oldestWaitingMs: 0 });
  await pass(6 * MINUTE_MS);
  expect(await receiver.health()).toMatchObject({ oldestWaitingMs: 6 * MINUTE_MS });
  expect(await problemsOf(receiver, "lag")).toEqual([toReported("lag", "It waits for 360 s.")]);
});

test("a job that is claimed ahead of a handler that never ends waits, and is late, as if it were not claimed", async () => {
  const { receiver, send, pass, inbox } = rig({ concurrency: 1, timeoutMs: 0 });
  const { calls, handler, last } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a"));
  await pass(MINUTE_MS);
  expect(await receiver.health()).toMatchObject({ waiting: 0, oldestWaitingMs: 0 });
  await send(emails("b", "b"));
  await pass(24 * 60 * MINUTE_MS);
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 3 });
  expect(await receiver.health()).toMatchObject({
    waiting: 2,
    oldestWaitingMs: 24 * 60 * MINUTE_MS,
    problems: [toReported("lag", "It waits for 86400 s.")],
  });
  last().end();
  await pass();
  expect(calls).toHaveLength(2);
  expect(await receiver.health()).toMatchObject({ waiting: 0, oldestWaitingMs: 0, problems: [] });
});

test("a wall clock that was set back makes nothing older than now", async () => {
  const { receiver, send, clock } = rig();
  await send();
  clock.jump(-3_600_000);
  expect(await receiver.health()).toMatchObject({ waiting: 1, oldestWaitingMs: 0 });
});

test("lanes whose first job waits for its next attempt are a problem until it is settled", async () => {
  const { receiver, send, pass } = rig();
  let broken = true;
  receiver.on("email", () => {
    if (broken) throw new RetryLater({ afterMs: 1_000 });
  });
  await receiver.start();
  await send(emails("a", "b"));
  await pass();
  expect(await receiver.health()).toMatchObject({
    waiting: 2,
    blockedLanes: 2,
    problems: [toReported("lanes-blocked", "Now: 2 lanes.")],
  });
  broken = false;
  await pass(1_000);
  expect(await receiver.health()).toMatchObject({ waiting: 0, blockedLanes: 0, problems: [] });
});

test("deliveries that wait because jobs fill the memory are a problem while it is so", async () => {
  const state = { isFull: true };
  const inbox = stubInbox((own) => ({ stats: () => ({ ...own.stats(), unexpanded: 7, ...state }) }));
  const { receiver } = rig({ inbox });
  await receiver.start();
  expect(await problemsOf(receiver, "jobs-limit-reached")).toEqual([
    toReported("jobs-limit-reached", "Now: 0 jobs, and 7 not expanded yet."),
  ]);
  state.isFull = false;
  expect(await codesOf(receiver)).toEqual([]);
});

test("dead letters are a problem until they are replayed or dropped", async () => {
  const { receiver, send, pass, inbox } = rig({ attempts: 1 });
  receiver.on("email", failingHandler().handler);
  await receiver.start();
  await send();
  await pass();
  expect(await receiver.health()).toMatchObject({ dead: 1, problems: [toReported("dead-letters", "Now: 1 job.")] });
  await inbox.jobs.drop({ states: ["dead"] });
  expect(await receiver.health()).toMatchObject({ dead: 0, problems: [] });
});

test("stuck handlers are a problem until they end", async () => {
  const { receiver, send, pass } = rig({ timeoutMs: 1_000, graceMs: 500 });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b"));
  await pass(1_500);
  expect(await receiver.health()).toMatchObject({
    live: true,
    stuck: 2,
    problems: [toReported("handlers-stuck", "Now: 2 handlers.")],
  });
  for (const call of calls) call.end();
  await pass();
  expect(await receiver.health()).toMatchObject({ stuck: 0, problems: [] });
});

describe("events without a handler are a problem", () => {
  test("with their names and how often each came, until what waits is gone", async () => {
    const { receiver, send, pass, inbox } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    await send(bookingBody("e-1", "e-2"));
    await send("no JSON");
    await send();
    await pass();
    expect(await receiver.health()).toMatchObject({
      unhandled: 3,
      problems: [
        toReported("unhandled", "Now waiting: 3 jobs. Since the start of this process: booking (2), unknown (1)."),
      ],
    });
    await inbox.jobs.drop({ states: ["unhandled"] });
    expect(await receiver.health()).toMatchObject({ unhandled: 0, problems: [] });
  });

  test("without names, where they came before this process began", async () => {
    const store = memoryInbox();
    const { receiver: before, send } = rig({ inbox: store });
    await before.start();
    await send(trackingBody(tracked(1)));
    await before.close();
    const { receiver } = rig({ inbox: store });
    await receiver.start();
    expect(await problemsOf(receiver, "unhandled")).toEqual([toReported("unhandled", "Now waiting: 1 job.")]);
  });

  test("by their names alone on a user's queue, which stores none of them", async () => {
    const receiver = createReceiver({ ...plain, inbox: forwardInbox(async () => {}) });
    await receiver.handle(toStored("d-1", makeDelivery(bodyOf())));
    expect(await receiver.health()).toMatchObject({
      unhandled: 0,
      problems: [toReported("unhandled", "Since the start of this process: email.updated (1).")],
    });
  });
});

describe("the unsubscribe limit is a problem", () => {
  test("for an hour after the gate wanted more than it may", async () => {
    const { receiver, send, pass } = rig({ gate: { maxUnsubscribesPerHour: 0 } });
    receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe("a bug"));
    receiver.on("email", () => {});
    await receiver.start();
    await send();
    await pass();
    expect(await receiver.health()).toMatchObject({ ready: true, problems: [toReported("unsubscribe-limit-reached")] });
    await pass(60 * MINUTE_MS);
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("for an hour after a handler wanted it", async () => {
    const { receiver, send, pass } = rig({ gate: { maxUnsubscribesPerHour: 0 }, attempts: 1 });
    receiver.on("email", (_event, ctx) => ctx.unsubscribe("a bug"));
    await receiver.start();
    await send();
    await pass();
    expect(await codesOf(receiver)).toEqual(["unsubscribe-limit-reached", "dead-letters"]);
  });
});

const plain = { secret: "s", clock: fakeClock(), log: false } satisfies Partial<ReceiverOptions>;

/** One that several processes share, and that says how old what it holds is, expanded or not. */
function shared(own: Inbox<"memory">): Inbox<"memory"> {
  const verbs = own as WorkingInbox<"memory">;
  let oldest: number | undefined;
  const inbox: WorkingInbox<"memory"> = {
    ...verbs,
    capabilities: { ...verbs.capabilities, shared: true },
    store: (deliveries) => {
      oldest ??= deliveries[0]?.delivery.receivedAt;
      return verbs.store(deliveries);
    },
    stats: () => ({ ...verbs.stats(), oldestWaitingAt: oldest }),
  };
  return inbox;
}
