import { RetryLater, type SeenStore } from "hookline";
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

test("what is no delivery is logged", async () => {
  const { receiver, log } = rig();
  await expect(receiver.handle({ id: 7 } as never)).rejects.toMatchObject({ code: "delivery-invalid" });
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
  expect(log.of("handlers-late")).toMatchObject([{ level: "error", facts: { deliveryId: "d-1", err: reason } }]);
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
