import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { bodyOf, bookingBody, change, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig } from "../support/rig.ts";

describe("a consumer", () => {
  test("gets a job of its own from its most specific handler", async () => {
    const { receiver, send } = rig();
    const ran: string[] = [];
    const note = (name: string) => (): void => void ran.push(name);
    receiver.on("email", note("default email")).on("email.created", note("default created"));
    receiver.on("*", note("search all"), { consumer: "search" });
    receiver.on("email", note("search email"), { consumer: "search" });
    await receiver.start();
    await send(bodyOf({ payloads: [change("a", "created")] }));
    await receiver.idle();
    expect(ran).toEqual(["default created", "search email"]);
    expect(receiver.stats().succeeded).toBe(2);
  });

  test("without a handler for an event gets no job, and none is skipped or unhandled for it", async () => {
    const { receiver, send, inbox } = rig();
    const [one, other] = [recordingHandler(), recordingHandler()];
    receiver.on("email.created", one.handler);
    receiver.on("email.updated", other.handler, { consumer: "search" });
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect([one.seen, other.seen]).toEqual([[], ["a"]]);
    expect(receiver.stats()).toMatchObject({ skipped: 0, succeeded: 1 });
    expect(inbox.stats().unhandled).toBe(0);
  });

  test("counts its attempts alone, and merges alone", async () => {
    const { receiver, send, pass } = rig();
    const [one, other] = [heldHandler(), heldHandler()];
    receiver.on("email", one.handler);
    receiver.on("email", other.handler, { consumer: "search" });
    await receiver.start();
    await send(emails("a"));
    await turns();
    one.last().fail();
    other.last().end();
    await send(emails("a"));
    await pass(1_000);
    expect(one.calls.map(({ ctx }) => [ctx.attempt, ctx.merged])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(other.calls.map(({ ctx }) => [ctx.attempt, ctx.merged])).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(other.last().ctx.idempotencyKey).not.toBe(one.last().ctx.idempotencyKey);
  });

  test("gets tracking and booking once, as each other one does", async () => {
    const { receiver, send } = rig();
    const consumers: string[] = [];
    for (const consumer of ["one", "two"]) receiver.on("tracking", () => consumers.push(consumer), { consumer });
    await receiver.start();
    for (let times = 0; times < 2; times += 1) await send(trackingBody(tracked(1)));
    await receiver.idle();
    expect(consumers.toSorted()).toEqual(["one", "two"]);
  });

  test("shares the slots with the others", async () => {
    const { receiver, send } = rig({ concurrency: 2 });
    const { calls, handler } = heldHandler();
    for (const consumer of ["one", "two", "three"]) receiver.on("email", handler, { consumer });
    await receiver.start();
    await send(emails("a"));
    await turns();
    expect(calls).toHaveLength(2);
    calls[0]?.end();
    await turns();
    expect(calls).toHaveLength(3);
  });
});

describe("events without a handler", () => {
  test("is warned of once per name, however many deliveries bring it", async () => {
    const { receiver, send, log, inbox } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    for (const id of ["e-1", "e-2", "e-3"]) await send(bookingBody(id));
    await receiver.idle();
    expect(log.of("unhandled")).toHaveLength(1);
    expect(inbox.stats().unhandled).toBe(3);
  });

  test("is no hindrance to its record's lane", async () => {
    const { receiver, send } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email.created", handler, { lane: "account" });
    await receiver.start();
    await send(bodyOf({ payloads: [] }));
    await send(bodyOf({ payloads: [change("a", "deleted"), change("a", "created")] }));
    await receiver.idle();
    expect(seen).toEqual(["a"]);
  });

  test("is one job of no consumer, however many consumers there are", async () => {
    const { receiver, send, inbox } = rig();
    for (const consumer of ["one", "two"]) receiver.on("email", () => {}, { consumer });
    await receiver.start();
    await send(bookingBody("e-1"));
    await receiver.idle();
    const { jobs } = await inbox.jobs.find({ limit: 9 });
    expect(jobs).toMatchObject([{ state: "unhandled", consumer: undefined, lane: undefined, attempts: 0 }]);
  });
});
