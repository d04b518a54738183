import type { AnyEvent, Context, Job } from "hookline";
import { describe, expect, test } from "vitest";
import { eventAt } from "../../src/dispatch/calls/job-view.ts";
import { mergeEvents } from "../../src/dispatch/calls/merged-event.ts";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { emailEvent, signalOf } from "../support/events.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, idOf, recordingHandler, rig } from "../support/rig.ts";

type Writable = Record<string, unknown>;

/** What plain JavaScript may do to an event. */
const WRITES: readonly [string, (event: Writable) => unknown][] = [
  ["sets a field", (event) => (event["id"] = "corrupt")],
  ["deletes its type", (event) => delete event["type"]],
  ["adds a field", (event) => (event["tenant"] = 1)],
  ["defines a field anew", (event) => Object.defineProperty(event, "id", { value: "corrupt" })],
];

const write = (name: string) => WRITES.find(([known]) => known === name)?.[1] as (event: Writable) => unknown;

describe.each(WRITES)("a handler that %s", (_, corrupt) => {
  test("fails alone, each time: its neighbour and its own retry get the event as it was", async () => {
    const { receiver, send, pass, log } = rig({ attempts: 2 });
    const [writer, reader] = [
      recordingHandler((event) => corrupt(event as unknown as Writable)),
      recordingHandler((event) => expect(event.type).toBe("email.updated")),
    ];
    receiver.on("email", writer.handler, { consumer: "writer" });
    receiver.on("email", reader.handler, { consumer: "reader" });
    await receiver.start();
    await send(emails("a"));
    await pass(2_000);
    expect([writer.seen, reader.seen]).toEqual([["a", "a"], ["a"]]);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 2, dead: 1 });
    const lines = log.lines.filter(({ message }) => message === "a handler failed");
    expect(lines).toHaveLength(2);
    for (const { facts } of lines) expect(facts["fix"]).toContain("`structuredClone(event)`");
  });
});

test("a middleware that writes to the event fails the call, and the log says what to do", async () => {
  const { receiver, send, pass, log } = rig({ attempts: 1 });
  receiver.use((event, _ctx, next) => {
    write("deletes its type")(event as unknown as Writable);
    return next();
  });
  receiver.on("email", () => {});
  await receiver.start();
  await send(emails("a"));
  await pass();
  expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 1 });
  expect(log.text()).toContain("structuredClone(event)");
});

test("a failure of another kind gets no such advice", async () => {
  const { receiver, send, pass, log } = rig({ attempts: 1 });
  receiver.on("email", (event) => (event as unknown as { attributes: { threadId: string } }).attributes.threadId);
  await receiver.start();
  await send(emails("a"));
  await pass();
  expect(log.text()).toContain("Cannot read properties of undefined");
  expect(log.text()).not.toContain("structuredClone");
});

test("a delivery from a queue has its events frozen too, and the error says what to do", async () => {
  const { receiver } = rig();
  receiver.on("email", (event) => write("sets a field")(event as unknown as Writable), { consumer: "writer" });
  const { seen, handler } = recordingHandler();
  receiver.on("email", handler, { consumer: "reader" });
  await expect(receiver.handle(toStored("d-1", makeDelivery(emails("a"))))).rejects.toMatchObject({
    code: "handle-failed",
    fix: expect.stringContaining("structuredClone(event)"),
  });
  expect(seen).toEqual(["a"]);
});

describe("frozen as well is", () => {
  test("an event that is read back from its bytes, and one that is not there", () => {
    const delivery = makeDelivery(emails("a"));
    for (const entry of [0, 7]) expect(eventAt({ event: undefined, delivery, entry })).toSatisfy(Object.isFrozen);
  });

  test("what several changes come to", () => {
    const merged = mergeEvents([emailEvent("created"), emailEvent("updated")], { batches: false });
    expect(merged).toMatchObject({ type: "email.created" });
    expect(merged).toSatisfy(Object.isFrozen);
  });

  test("a batch, with its list and each change", () => {
    const batch = mergeEvents([emailEvent("created"), signalOf("email")], { batches: true }) as AnyEvent & {
      changes: readonly object[];
    };
    expect(batch.changes).toEqual([{ id: "m-1", changeType: "created" }]);
    for (const part of [batch, batch.changes, batch.changes[0]]) expect(part).toSatisfy(Object.isFrozen);
  });
});

describe("a call has to itself", () => {
  test("its context with its dates, over consumers and attempts", async () => {
    const { receiver, send, pass } = rig();
    const calls: Context[] = [];
    const spoil = (_event: AnyEvent, ctx: Context): void => {
      calls.push(ctx);
      ctx.receivedAt.setTime(0);
      ctx.sentAt.setTime(0);
      Object.assign(ctx.state, { spoilt: true });
      if (calls.length === 1) throw new Error("no");
    };
    const seen: unknown[] = [];
    receiver.use((_event, { receivedAt, sentAt, state }, next) => {
      seen.push([receivedAt.getTime() > 0, sentAt.getTime() > 0, { ...state }]);
      return next();
    });
    receiver.on("email", spoil).on("email", spoil, { consumer: "search" });
    await receiver.start();
    await send(emails("a"));
    await pass(2_000);
    expect(seen).toEqual([1, 2, 3].map(() => [true, true, {}]));
    expect(new Set(calls).size).toBe(3);
  });

  test("what it reads of its delivery", async () => {
    const { receiver, send, pass } = rig();
    const seen: number[] = [];
    receiver.on("email", async (_event, ctx) => {
      const { headers } = await ctx.delivery();
      seen.push(Object.keys(headers).length);
      for (const name of Object.keys(headers)) delete (headers as Writable)[name];
      throw new Error("no");
    });
    await receiver.start();
    await send(emails("a"));
    await pass(2_000);
    expect(seen[0]).toBeGreaterThan(1);
    expect(new Set(seen).size).toBe(1);
  });
});

test("a listener of onDead has a job of its own", async () => {
  const { receiver, send, pass } = rig({ attempts: 1 });
  receiver.on("email", () => {
    throw new Error("no");
  });
  const heard: unknown[] = [];
  receiver.onDead((job: Job) => {
    Object.assign(job, { id: "corrupt" });
    job.receivedAt.setTime(0);
  });
  receiver.onDead(({ id, event, receivedAt }) => heard.push([id === "corrupt", idOf(event), receivedAt.getTime() > 0]));
  await receiver.start();
  await send(emails("a"));
  await pass();
  expect(heard).toEqual([[false, "a", true]]);
});
