import { GiveUp, isHooklineError, RetryLater, type StoredDelivery } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { turns, watch } from "../support/event-loop.ts";
import { bodyOf, change, lifecycleBody, makeDelivery } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";

function stored(body = bodyOf(), id = "d-1", source?: string): StoredDelivery {
  return toStored(id, makeDelivery(body, { source }));
}

describe("receiver.handle", () => {
  test("runs each event of a delivery once, one after another in array order, without merging", async () => {
    const { receiver } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const outcome = watch(receiver.handle(stored(emails("a", "b", "a"))));
    for (const [index, id] of ["a", "b", "a"].entries()) {
      await turns();
      expect(calls.map(({ event }) => idOf(event))).toHaveLength(index + 1);
      expect([idOf(calls[index]?.event as never), calls[index]?.ctx.merged]).toEqual([id, 1]);
      expect(outcome.ended).toBe(false);
      calls[index]?.end();
    }
    await turns();
    expect(outcome).toEqual({ ended: true });
    expect(receiver.stats()).toMatchObject({ succeeded: 3, merged: 0 });
  });

  test("runs every consumer, and gives `.changes` a batch of one", async () => {
    const { receiver } = rig();
    const seen: unknown[] = [];
    receiver.on("email.changes", (event) => seen.push(event.changes.map(({ id }) => id)));
    receiver.on("email", (event) => seen.push(event.id), { consumer: "search" });
    await receiver.handle(stored(emails("a", "b")));
    expect(seen).toEqual([["a"], "a", ["b"], "b"]);
  });

  test("needs no start and no inbox to work on; it seals the handlers", async () => {
    const { receiver } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.handle(stored(emails("a")));
    expect([seen, receiver.stats().role]).toEqual([["a"], "receiving"]);
    expect(() => receiver.on("contact", handler)).toThrow(/after the start/);
  });

  test("gives a handler its context: the delivery, its keys, its source, attempt 1", async () => {
    const { receiver } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const delivery = stored(emails("a", "b"), "d-7", "crm");
    void receiver.handle(delivery);
    await turns();
    const [call] = calls;
    expect(call?.ctx).toMatchObject({ attempt: 1, lastAttempt: false, merged: 1, source: "crm" });
    expect(call?.ctx.jobId).toContain("d-7");
    expect(await call?.ctx.delivery()).toEqual(delivery);
    expect(call?.ctx.sentAt).toEqual(new Date(delivery.sentAt));
    call?.end();
    await turns();
    expect(calls[1]?.ctx.idempotencyKey).not.toBe(call?.ctx.idempotencyKey);
  });

  test("throws when one failed, with its error as the cause; the others run all the same", async () => {
    const { receiver } = rig();
    const { seen, handler } = recordingHandler((event) => {
      if (idOf(event) === "b") throw new Error("no");
    });
    receiver.on("email", handler);
    const failure: unknown = await receiver.handle(stored(emails("a", "b", "c"))).catch((error: unknown) => error);
    expect(seen).toEqual(["a", "b", "c"]);
    expect(isHooklineError(failure, "handle-failed")).toBe(true);
    expect(failure).toMatchObject({ cause: { message: "no" }, fix: expect.stringContaining("again") });
    expect(receiver.stats()).toMatchObject({ succeeded: 2, failed: 1 });
  });

  test("throws once for several, with all of their errors", async () => {
    const { receiver } = rig();
    receiver.on("email", () => Promise.reject(undefined));
    await expect(receiver.handle(stored(emails("a", "b")))).rejects.toMatchObject({
      code: "handle-failed",
      cause: expect.any(AggregateError),
    });
  });

  test("counts GiveUp as done, and RetryLater as failed", async () => {
    const { receiver } = rig();
    receiver.on("email.updated", failingHandler(new GiveUp("gone")).handler);
    receiver.on("email.created", failingHandler(new RetryLater({ afterMs: 1 })).handler);
    await receiver.handle(stored(emails("a")));
    await expect(receiver.handle(stored(bodyOf({ payloads: [change("a", "created")] })))).rejects.toMatchObject({
      code: "handle-failed",
    });
  });

  test("may run the same delivery again: nothing is remembered", async () => {
    const { receiver } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("*", handler);
    const delivery = stored(
      JSON.stringify({
        subscription: 1,
        accountId: 2,
        resource: "/booking/935",
        payloads: [{ bookingId: 935, calendarId: "c", eventId: "e" }],
      }),
    );
    await receiver.handle(delivery);
    await receiver.handle(delivery);
    expect(seen).toHaveLength(2);
  });

  test("keeps the lanes of this process: two deliveries of one record do not overlap, those of two do", async () => {
    const { receiver } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const handled = [stored(emails("a"), "1"), stored(emails("a"), "2"), stored(emails("b"), "3")].map((one) =>
      watch(receiver.handle(one)),
    );
    await turns();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
    calls[0]?.fail();
    await turns();
    expect(calls).toHaveLength(3);
    expect(handled.map(({ ended }) => ended)).toEqual([true, false, false]);
    expect(handled[0]?.error).toMatchObject({ code: "handle-failed" });
    for (const call of calls) call.end();
    await turns();
    expect(handled.slice(1)).toEqual([{ ended: true }, { ended: true }]);
  });

  test("runs no more than `concurrency` at once, lanes or not", async () => {
    const { receiver } = rig({ concurrency: 2 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { lane: "none" });
    for (let index = 0; index < 4; index += 1) void receiver.handle(stored(emails("a"), String(index)));
    await turns();
    expect(calls).toHaveLength(2);
    calls[0]?.end();
    await turns();
    expect(calls).toHaveLength(3);
  });

  test("shares neither lanes nor `concurrency` on a platform that isolates requests", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { receiver } = rig({ concurrency: 1 });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    for (let index = 0; index < 3; index += 1) void receiver.handle(stored(emails("a"), String(index)));
    await turns();
    expect(calls).toHaveLength(3);
    for (const call of calls) call.end();
  });

  test("says once an event without a handler, and logs a subscription in trouble", async () => {
    const { receiver, log } = rig();
    receiver.on("email", () => {});
    await receiver.handle(stored(lifecycleBody("error", { error: "invalid_grant" })));
    await receiver.handle(stored(lifecycleBody("error", { error: "invalid_grant" })));
    expect(log.of("unhandled")).toHaveLength(1);
    expect(log.of("subscription-errored")).toHaveLength(2);
  });

  test("says nothing of a change without a handler where another one of its family has one: an inbox would skip it", async () => {
    const { receiver, log } = rig();
    receiver.on("email.created", () => {});
    await receiver.handle(stored(emails("a"))); // email.updated
    await receiver.handle(stored(bodyOf({ resource: "/contacts", payloads: [change("b", "created")] })));
    expect(log.of("unhandled")).toMatchObject([{ facts: { event: "contact.created" } }]);
  });

  test("runs middleware around each handler", async () => {
    const { receiver } = rig();
    const said: string[] = [];
    receiver.use(async (event, _ctx, next) => {
      said.push(`before ${event.type}`);
      await next();
      said.push("after");
    });
    receiver.on("email", () => said.push("handler"));
    await receiver.handle(stored(emails("a")));
    expect(said).toEqual(["before email.updated", "handler", "after"]);
  });

  test.each([
    undefined,
    null,
    {},
    { id: "1" },
    { ...stored(), bodyBase64: undefined },
    { ...stored(), receivedAt: "yesterday" },
    { ...stored(), headers: { "x-aurinko-signature": { toString: 1 } } },
  ])("refuses what is no stored delivery: %#", async (given) => {
    const { receiver } = rig();
    await expect(receiver.handle(given as never)).rejects.toMatchObject({
      code: "delivery-invalid",
      fix: expect.stringContaining("forwardInbox"),
    });
  });

  test("is refused by a closed receiver", async () => {
    const { receiver } = rig();
    await receiver.close();
    await expect(receiver.handle(stored())).rejects.toMatchObject({ code: "closed" });
  });
});
