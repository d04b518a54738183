import { verify } from "hookline/signature";
import { describe, expect, test } from "vitest";
import { createContext, type CallFacts } from "../../src/dispatch/calls/context.ts";
import { bookingMade, emailEvent, lifecycleOf, trackingOpen } from "../support/events.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { bodyOf, makeDelivery } from "../support/make-delivery.ts";
import { emails, rig } from "../support/rig.ts";

const delivery = makeDelivery(bodyOf(), { source: "crm" });

function context(fields: Partial<CallFacts> = {}, log = logRecorder().logger) {
  const unsubscribed: unknown[] = [];
  const facts: CallFacts = {
    signal: new AbortController().signal,
    attempt: 1,
    lastAttempt: false,
    merged: 1,
    event: emailEvent("created"),
    entry: 0,
    jobId: "12",
    deliveryId: "11",
    consumer: "default",
    replayOf: undefined,
    delivery,
    ...fields,
  };
  const unsubscribe = async (...given: unknown[]) => void unsubscribed.push(given);
  const ctx = createContext(facts, { log, unsubscribe });
  return Object.assign(ctx, { unsubscribed });
}

const key = (fields: Partial<CallFacts>) => context(fields).idempotencyKey;

describe("the idempotency key", () => {
  test("is stable over attempts", () => {
    expect(key({ attempt: 2, lastAttempt: true })).toBe(key({}));
  });

  test("is stable over a redelivery with the same timestamp: another delivery, another job, the same signature", () => {
    const again = makeDelivery(bodyOf(), { source: "crm", receivedAt: delivery.receivedAt + 60_000 });
    expect(key({ delivery: again, jobId: "99", deliveryId: "98" })).toBe(key({}));
  });

  test("is another one for another delivery, another entry, another consumer", () => {
    const other = makeDelivery(bodyOf(), { sentAt: delivery.sentAt + 1_000, source: "crm" });
    const keys = [key({}), key({ delivery: other }), key({ entry: 1 }), key({ consumer: "search" })];
    expect(new Set(keys).size).toBe(4);
  });

  test("of tracking and booking is the natural one: whatever brought it", () => {
    const other = makeDelivery(bodyOf(), { sentAt: delivery.sentAt + 1_000, source: "crm" });
    for (const event of [trackingOpen(), bookingMade()])
      expect(key({ event, delivery: other, entry: 7 })).toBe(key({ event }));
    expect(key({ event: trackingOpen({ id: 8 }) })).not.toBe(key({ event: trackingOpen() }));
    expect(key({ event: bookingMade("e-2") })).not.toBe(key({ event: bookingMade() }));
  });

  test("of tracking and booking differs by account and by source", () => {
    const event = trackingOpen();
    const elsewhere = makeDelivery(bodyOf(), { source: "shop" });
    const nowhere = makeDelivery(bodyOf());
    expect(key({ event, delivery: nowhere })).not.toContain("undefined");
    const keys = [
      key({ event }),
      key({ event, delivery: elsewhere }),
      key({ event, delivery: nowhere }),
      key({ event: trackingOpen({ accountId: 9 }) }),
    ];
    expect(new Set(keys).size).toBe(4);
  });

  test("of tracking and booking differs between a source and a consumer whose name has it", () => {
    const event = trackingOpen();
    const keys = ["crm", "crm:crm", "crm%3Acrm"].flatMap((consumer) => [
      key({ event, consumer }),
      key({ event, consumer, delivery: makeDelivery(bodyOf()) }),
    ]);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("of lifecycle is the delivery's: the same state may come again", () => {
    const other = makeDelivery(bodyOf(), { sentAt: delivery.sentAt + 1_000 });
    expect(key({ event: lifecycleOf("error"), delivery: other })).not.toBe(key({ event: lifecycleOf("error") }));
  });

  test("of a replay is a new one, and stable over its attempts", () => {
    for (const event of [emailEvent("created"), trackingOpen()]) {
      const replay = { event, replayOf: "12", jobId: "20" };
      const keys = [key({ event }), key(replay), key({ ...replay, jobId: "21" })];
      expect(new Set(keys).size).toBe(3);
      expect(key({ ...replay, attempt: 5 })).toBe(key(replay));
    }
  });
});

describe("a context", () => {
  test("says where its event came from", async () => {
    const ctx = context({ replayOf: "5" });
    expect(ctx).toMatchObject({ jobId: "12", replayOf: "5", source: "crm", attempt: 1, lastAttempt: false, merged: 1 });
    expect([ctx.receivedAt.getTime(), ctx.sentAt.getTime()]).toEqual([delivery.receivedAt, delivery.sentAt]);
    expect(await ctx.delivery()).toMatchObject({
      id: "11",
      source: "crm",
      bodyBase64: Buffer.from(delivery.body).toString("base64"),
    });
  });

  test("leaves out what is not there", () => {
    const ctx = context({ delivery: makeDelivery() });
    expect([Object.hasOwn(ctx, "source"), Object.hasOwn(ctx, "replayOf")]).toEqual([false, false]);
  });

  test("has one state and one logger for all of the call", () => {
    const ctx = context();
    expect(ctx.state).toBe(ctx.state);
    expect(ctx.log).toBe(ctx.log);
    expect(context().state).not.toBe(ctx.state);
  });

  test("logs each line with the job's id", () => {
    const log = logRecorder();
    const ctx = context({}, log.logger);
    for (const level of ["debug", "info", "warn", "error"] as const) ctx.log[level]({ tries: 2 }, "looked");
    expect(log.lines).toEqual(
      ["debug", "info", "warn", "error"].map((level) => ({
        level,
        facts: { jobId: "12", tries: 2 },
        message: "looked",
      })),
    );
  });

  test("hands an unsubscribe on, with its event and source", async () => {
    const ctx = context();
    await ctx.unsubscribe("gone");
    expect(ctx.unsubscribed).toEqual([[emailEvent("created"), "crm", "gone"]]);
  });
});

describe("ctx.delivery()", () => {
  test("gives the stored request, byte for byte, which can be verified again", async () => {
    const { receiver, send, clock } = rig();
    const body = ` ${emails("a", "b")}\n`;
    const given: unknown[] = [];
    receiver.on("email", async (event, ctx) => {
      const { headers, bodyBase64, signedBy, source } = await ctx.delivery();
      const bytes = Buffer.from(bodyBase64, "base64");
      const verified = verify({ headers, body: bytes }, { secret: "a signing secret", now: clock.date() });
      given.push([event.id, bytes.toString(), verified.sentAt?.getTime(), signedBy, source]);
    });
    await receiver.start();
    const at = new Date("2026-05-06T07:00:00Z");
    await send(body, { source: "crm", at });
    await receiver.idle();
    expect(given).toEqual(["a", "b"].map((id) => [id, body, at.getTime(), "default", "crm"]));
  });
});
