import { describe, expect, test } from "vitest";
import { eventAt, eventIn, toJob, toJobOf } from "../../src/dispatch/calls/job-view.ts";
import type { StoredJob } from "../../src/inbox/port/jobs.ts";
import { parseDocument } from "../../src/protocol/envelope.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { emailEvent } from "../support/events.ts";
import { bodyOf, change, makeDelivery } from "../support/make-delivery.ts";

const event = emailEvent("updated");
const AT = 1_700_000_000_000;

const bare: StoredJob = {
  id: "7",
  deliveryId: "3",
  entry: 0,
  state: "unhandled",
  event,
  consumer: undefined,
  lane: undefined,
  attempts: 0,
  error: undefined,
  receivedAt: AT,
  runAt: undefined,
  settledAt: undefined,
  replayOf: undefined,
};

describe("a job as users see it", () => {
  test("has no field for what it does not have", () => {
    expect(toJob(bare, event)).toStrictEqual({
      id: "7",
      state: "unhandled",
      event,
      attempts: 0,
      receivedAt: new Date(AT),
      deliveryId: "3",
    });
  });

  test("has its times as dates, and its last error without what an inbox adds", () => {
    const error = { name: "TypeError", message: "no", at: AT + 2, stack: "private" };
    const stored = { ...bare, consumer: "search", lane: "search 1", error, settledAt: AT + 3, replayOf: "5" };
    expect(toJob({ ...stored, state: "dead", attempts: 4, runAt: AT + 9 }, event)).toStrictEqual({
      id: "7",
      state: "dead",
      event,
      consumer: "search",
      lane: "search 1",
      attempts: 4,
      lastError: { name: "TypeError", message: "no", at: new Date(AT + 2) },
      receivedAt: new Date(AT),
      settledAt: new Date(AT + 3),
      replayOf: "5",
      deliveryId: "3",
    });
  });

  test("has the time of its next attempt only while it waits for it", () => {
    const next = (fields: Partial<StoredJob>): unknown => toJob({ ...bare, ...fields }, event).nextAttemptAt;
    expect(next({ state: "waiting", runAt: AT + 9 })).toEqual(new Date(AT + 9));
    expect(next({ state: "waiting" })).toBeUndefined();
    expect(next({ state: "running", runAt: AT + 9 })).toBeUndefined();
  });

  test("that is done has no number of attempts: an inbox need not store it", () => {
    expect(toJob({ ...bare, state: "done", attempts: 2 }, event)).not.toHaveProperty("attempts");
  });

  test("that was claimed runs, or is in the state that it just reached", () => {
    const job = claimedJob({ id: "7", deliveryId: "3", attempt: 2 });
    const receivedAt = new Date(job.delivery.receivedAt);
    const common = { id: "7", event, consumer: "default", attempts: 2, receivedAt, deliveryId: "3" };
    expect(toJobOf(job, event)).toStrictEqual({ ...common, state: "running" });
    expect(toJobOf(job, event, { state: "dead", settledAt: AT })).toStrictEqual({
      ...common,
      state: "dead",
      settledAt: new Date(AT),
    });
  });
});

describe("the event of a job", () => {
  const delivery = makeDelivery(bodyOf({ payloads: [change("a"), change("b")] }));

  test("is the one that its inbox holds, else the one in the stored bytes", () => {
    expect(eventAt({ event, delivery, entry: 1 })).toBe(event);
    expect(eventAt({ event: undefined, delivery, entry: 1 })).toMatchObject({ type: "email.updated", id: "b" });
    expect(eventAt({ event: undefined, delivery, entry: 0 })).toMatchObject({ type: "email.updated", id: "a" });
  });

  test("is unknown where the bytes have no such entry", () => {
    expect(eventIn(parseDocument(delivery.body), 2)).toMatchObject({ type: "unknown", reason: "shape" });
  });
});
