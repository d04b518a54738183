import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";

function emailsOf(...changes: readonly (readonly [string, string])[]): string {
  return bodyOf({ payloads: changes.map(([id, changeType]) => change(id, changeType)) });
}

describe("changes of one record that wait together", () => {
  test("come in one call, which says how many and what they come to", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await send(emailsOf(["a", "created"]));
    await send(emailsOf(["a", "updated"], ["a", "updated"]));
    await receiver.start();
    await turns();
    expect(calls.map(({ event, ctx }) => [event.type, idOf(event), ctx.merged])).toEqual([["email.created", "a", 3]]);
    calls[0]?.end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ succeeded: 3, merged: 2 });
  });

  test("that come while the handler runs cause one more call, with all that came", async () => {
    const { receiver, send } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emailsOf(["a", "created"]));
    for (let times = 0; times < 5; times += 1) await send(emailsOf(["a", "updated"]));
    await turns();
    expect(calls).toHaveLength(1);
    last().end();
    await turns();
    expect(calls.map(({ ctx }) => ctx.merged)).toEqual([1, 5]);
    last().end();
    await receiver.idle();
    expect(calls).toHaveLength(2);
  });

  test("merge only as an unbroken run behind the head of their lane", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { lane: "account" });
    await send(emailsOf(["a", "updated"], ["a", "updated"], ["b", "updated"], ["a", "updated"]));
    await receiver.start();
    for (let times = 0; times < 3; times += 1) {
      await turns();
      calls[times]?.end();
    }
    await receiver.idle();
    expect(calls.map(({ event, ctx }) => [idOf(event), ctx.merged])).toEqual([
      ["a", 2],
      ["b", 1],
      ["a", 1],
    ]);
  });

  test("merge up to 1,000 in a call", async () => {
    const { receiver, send } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await send(emails(...Array.from({ length: 1_000 }, () => "a")));
    await send(emails(...Array.from({ length: 500 }, () => "a")));
    await receiver.start();
    await turns();
    last().end();
    await turns();
    last().end();
    await receiver.idle();
    expect(calls.map(({ ctx }) => ctx.merged)).toEqual([1_000, 500]);
  });

  test("have each its own call with merge: false", async () => {
    const { receiver, send } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { merge: false });
    await send(emails("a", "a", "a"));
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["a", "a", "a"]);
    expect(receiver.stats().merged).toBe(0);
  });

  test("do not merge across handlers, consumers or sources", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email.created", handler, { lane: () => "one" });
    receiver.on("email", handler, { lane: () => "one" });
    await send(emailsOf(["a", "created"], ["a", "updated"]));
    await send(emailsOf(["a", "updated"]), { source: "crm" });
    await receiver.start();
    for (let times = 0; times < 3; times += 1) {
      await turns();
      expect(calls[times]?.ctx.merged).toBe(1);
      calls[times]?.end();
    }
    await receiver.idle();
    expect(calls.map(({ ctx }) => ctx.source)).toEqual([undefined, undefined, "crm"]);
  });
});

describe("a merged call", () => {
  test("has the attempt of its oldest job, and all that names it from its newest", async () => {
    const { receiver, send, pass, clock, inbox } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    const first = clock.date();
    await send(emailsOf(["a", "created"]));
    await turns();
    last().fail();
    await pass(200);
    await send(bodyOf({ subscription: 5, payloads: [change("a", "updated")] }));
    await pass(10_000);
    expect(calls).toHaveLength(2);
    const [one, two] = calls.map(({ ctx }) => ctx);
    const { jobs } = await inbox.jobs.find({ limit: 10 });
    expect(two).toMatchObject({ attempt: 2, merged: 2, jobId: jobs.at(-1)?.id });
    expect(last().event).toMatchObject({ type: "email.created", subscription: 5 });
    expect(two?.receivedAt.getTime()).toBe(first.getTime() + 200);
    expect(two?.idempotencyKey).not.toBe(one?.idempotencyKey);
    expect(await two?.delivery()).toMatchObject({ id: jobs.at(-1)?.deliveryId });
  });

  test("of the same jobs has the same key again, a grown one a new one", async () => {
    const { receiver, send, pass } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await send(emails("a", "a"));
    await receiver.start();
    await turns();
    last().fail();
    await pass(1_000);
    last().fail();
    await send(emails("a"));
    await pass(2_000);
    const keys = calls.map(({ ctx }) => ctx.idempotencyKey);
    expect(keys).toHaveLength(3);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  test("is the last attempt only if it is for all of its jobs", async () => {
    const { receiver, send, pass } = rig({ attempts: 2 });
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await turns();
    last().fail();
    await turns();
    await send(emails("a"));
    await pass(1_000);
    expect(calls.map(({ ctx }) => [ctx.attempt, ctx.merged, ctx.lastAttempt])).toEqual([
      [1, 1, false],
      [2, 2, false],
    ]);
  });

  test("that fails leaves its jobs each with its own count: those that used up theirs go dead, the next takes along what came", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 2 });
    const { calls, handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await turns();
    last().fail();
    await send(emails("a"));
    await pass(1_000);
    await send(emails("a"));
    last().fail();
    await turns();
    expect(inbox.stats()).toMatchObject({ dead: 1, waiting: 2 });
    await pass(2_000);
    expect(calls.map(({ ctx }) => [ctx.attempt, ctx.merged])).toEqual([
      [1, 1],
      [2, 2],
      [2, 2],
    ]);
    last().end();
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ dead: 1, succeeded: 2, failed: 3 });
  });
});

describe("jobs that were made under other handlers", () => {
  test("of different records never come as one event, however they would have merged", async () => {
    const { receiver, send, inbox, clock } = rig();
    receiver.on("email.changes", failingHandler().handler);
    await receiver.start();
    await send(emails("a", "b"));
    await send(bodyOf({ payloads: [] }));
    await receiver.idle();
    await receiver.close();
    const later = rig({ inbox, clock });
    const { seen, handler } = recordingHandler();
    later.receiver.on("email", handler);
    later.receiver.on("email.signal", () => seen.push("signal"));
    await later.receiver.start();
    await later.pass(10_000);
    expect(seen).toEqual(["a", "b", "signal"]);
    expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
  });

  test("merge no more once their handler says merge: false", async () => {
    const { receiver, send, inbox, clock } = rig();
    receiver.on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a", "a"));
    await receiver.idle();
    await receiver.close();
    const later = rig({ inbox, clock });
    const { seen, handler } = recordingHandler();
    later.receiver.on("email", handler, { merge: false });
    await later.receiver.start();
    await later.pass(10_000);
    expect(seen).toEqual(["a", "a"]);
  });

  test("reach each the handler of its type", async () => {
    const { receiver, send, inbox, clock } = rig();
    receiver.on("email", failingHandler().handler);
    await receiver.start();
    await send(emailsOf(["a", "created"], ["a", "updated"], ["a", "updated"]));
    await receiver.idle();
    await receiver.close();
    const later = rig({ inbox, clock });
    const seen: [string, number][] = [];
    later.receiver.on("email.created", (_event, ctx) => seen.push(["created", ctx.merged]));
    later.receiver.on("email.updated", (_event, ctx) => seen.push(["updated", ctx.merged]));
    await later.receiver.start();
    await later.pass(10_000);
    expect(seen).toEqual([
      ["created", 1],
      ["updated", 2],
    ]);
  });
});
