import { GiveUp, RetryLater, type SeenStore } from "hookline";
import { expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { turns } from "../support/event-loop.ts";
import { makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig } from "../support/rig.ts";

const stored = (id = "d-1") => toStored(id, makeDelivery(emails("a")));
const busy: SeenStore = { claim: async () => "busy", settle: async () => {} };

test.each([
  ["an error", () => new Error("no")],
  ["a RetryLater", () => new RetryLater({ afterMs: 1 })],
])("a message whose handler throws %s is logged with its delivery and the error", async (_, make) => {
  const { receiver, log } = rig();
  const thrown = make();
  receiver.on("email", () => Promise.reject(thrown));
  await expect(receiver.handle(stored())).rejects.toMatchObject({ code: "handle-failed" });
  expect(log.of("handlers-failed")).toMatchObject([
    { level: "error", facts: { deliveryId: "d-1", err: { code: "handle-failed", cause: thrown } } },
  ]);
});

test("where several handlers fail, the line has the words of each, up to five", async () => {
  const { receiver, log } = rig();
  receiver.on("email", ({ id }) => Promise.reject(new TypeError(`no ${String(id)}`)));
  const delivery = toStored("d-1", makeDelivery(emails("a", "b", "c", "d", "e", "f", "g")));
  await expect(receiver.handle(delivery)).rejects.toMatchObject({ code: "handle-failed" });
  const message = "TypeError: no a; TypeError: no b; TypeError: no c; TypeError: no d; TypeError: no e; and 2 more";
  expect(log.of("handlers-failed")).toMatchObject([{ facts: { err: { cause: { message } } } }]);
});

test.each(["a message", "a request"])("what a handler gives up of %s leaves a line with its error", async (what) => {
  const { receiver, log, clock } = rig({ secret: "shh" });
  const err = new GiveUp("the account is gone");
  receiver.on("email", () => Promise.reject(err));
  if (what === "a message") await receiver.handle(stored());
  else {
    const request = signedRequest(emails("a"), { secret: "shh", at: clock.date() });
    const { status } = await receiver.receive(request, { answer: "after-handlers", timeoutMs: 1_000 });
    expect(status).toBe(200);
  }
  const deliveryId = what === "a message" ? "d-1" : (expect.any(String) as string);
  expect(log.lines).toMatchObject([
    { level: "warn", facts: { code: "given-up", deliveryId, event: "email.updated", err } },
  ]);
});

test("what is no delivery is logged, with what it lacks", async () => {
  const { receiver, log } = rig();
  const message = expect.stringContaining("no valid id, receivedAt, sentAt, bodyBase64, headers[") as string;
  await expect(receiver.handle({ id: 7 } as never)).rejects.toMatchObject({ code: "delivery-invalid", message });
  expect(log.of("delivery-invalid")).toMatchObject([{ level: "error", facts: { err: { code: "delivery-invalid" } } }]);
});

test("handlers that have not ended when the signal aborts are logged, once", async () => {
  const { receiver, log } = rig();
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  const controller = new AbortController();
  const handled = receiver.handle(stored(), { signal: controller.signal });
  await turns();
  const reason = new Error("the time is over");
  controller.abort(reason);
  expect(log.of("handlers-late")).toMatchObject([
    { level: "error", facts: { deliveryId: "d-1", fix: expect.any(String) as string, err: { cause: reason } } },
  ]);
  calls[0]?.fail();
  await expect(handled).rejects.toMatchObject({ code: "handle-failed" });
  expect(log.of("handlers-failed")).toEqual([]);
});

test("nothing is logged of a message that is handled, also when its signal aborts later", async () => {
  const { receiver, log } = rig();
  receiver.on("email", recordingHandler().handler);
  const controller = new AbortController();
  await receiver.handle(stored(), { signal: controller.signal });
  controller.abort();
  expect(log.lines).toEqual([]);
});

test("what another process handles is a warning that asks for nothing", async () => {
  const { receiver, log, clock, pass } = rig({ secret: "shh" });
  receiver.on("email", recordingHandler().handler);
  await expect(receiver.handle(stored(), { seen: busy })).rejects.toMatchObject({ code: "seen-busy" });
  const fix = expect.stringContaining("Nothing to do") as string;
  expect(log.lines).toMatchObject([{ level: "warn", facts: { code: "seen-busy", deliveryId: "d-1", fix } }]);
  await pass(1_000);
  const request = signedRequest(emails("a"), { secret: "shh", at: clock.date() });
  const how = { answer: "after-handlers", timeoutMs: 1_000, seen: busy } as const;
  expect(await receiver.receive(request, how)).toMatchObject({ status: 503 });
  expect(log.lines.slice(1)).toMatchObject([{ level: "warn", facts: { code: "seen-busy", status: 503, fix } }]);
});

test("a request whose answer waits for the handlers is logged once", async () => {
  const { receiver, log, clock } = rig({ secret: "shh" });
  receiver.on("email", () => Promise.reject(new Error("no")));
  const request = signedRequest(emails("a"), { secret: "shh", at: clock.date() });
  await receiver.receive(request, { answer: "after-handlers", timeoutMs: 1_000 });
  expect(log.lines).toHaveLength(1);
});
