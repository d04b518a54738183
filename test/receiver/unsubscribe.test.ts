import { memoryInbox } from "hookline";
import { expect, test } from "vitest";
import { internalsOf } from "../../src/receiver/internals.ts";
import { codesOf } from "../support/health.ts";
import { bodyOf, lifecycleBody } from "../support/make-delivery.ts";
import { rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const MAIL = { subscription: 1001, accountId: 2002, resource: "/email/messages" };

/** A receiver that works. @param unsubscribes whether its handler does */
async function working({ inbox = memoryInbox(), unsubscribes = false } = {}) {
  const own = rig({ inbox });
  own.receiver.on(["email", "lifecycle"], async (_, ctx) => (unsubscribes ? ctx.unsubscribe("left") : undefined));
  await own.receiver.start();
  return {
    ...own,
    known: async () =>
      (await internalsOf(own.receiver).subscriptions.known()).map(({ sentAt: _sentAt, ...one }) => one),
  };
}

test.each([undefined, "crm"])(
  "what a handler unsubscribed is remembered with its account, resource and source: %s",
  async (source) => {
    const { send, pass, known } = await working({ unsubscribes: true });
    await send(bodyOf(), source === undefined ? {} : { source });
    await pass();
    expect(await known()).toEqual([{ ...MAIL, source }]);
  },
);

test.each(["crm\0eu", "crm \ud83d"])(
  "a source that a file could give back as another one is refused",
  async (source) => {
    const { receiver } = rig();
    for (const asked of [receiver.unsubscribe(1001, "left", { source }), receiver.resubscribe(1001, { source })])
      await expect(asked).rejects.toMatchObject({
        code: "option-invalid",
        message: expect.stringContaining("whole characters"),
      });
  },
);

test("what `receiver.unsubscribe` took is remembered as its deliveries told it, of the given source alone", async () => {
  const { receiver, send, pass, known } = await working();
  for (const how of [{}, { source: "crm" }, { source: "shop" }]) await send(bodyOf(), how);
  await pass();
  await receiver.unsubscribe(1001, "left", { source: "crm" });
  expect(await known()).toEqual([{ ...MAIL, source: "crm" }]);
  await receiver.unsubscribe(1001, "left", { source: "" });
  expect(await known()).toContainEqual({ ...MAIL, source: undefined });
  await receiver.unsubscribe(1001, "left");
  expect(await known()).toContainEqual({ ...MAIL, source: "shop" });
});

test("an error that was told before it was unsubscribed is no problem when it comes late", async () => {
  const { receiver, send, pass, clock } = await working();
  const before = clock.date();
  await send();
  await pass(60_000);
  await receiver.unsubscribe(1001, "left");
  await receiver.resubscribe(1001);
  await send(lifecycleBody("error", { error: "invalid_grant" }), { at: before });
  await pass();
  expect(await codesOf(receiver)).not.toContain("subscription-errored");
});

test("the tombstone stands where the inbox cannot record what it was for", async () => {
  const inbox = stubInbox((own) => ({
    subscriptions: { ...own.subscriptions, record: () => Promise.reject(new Error("EIO")) },
  }));
  const { receiver, send, offer, pass, log } = await working({ inbox });
  await send();
  await pass();
  await receiver.unsubscribe(1001, "left");
  expect(await offer()).toMatchObject({ status: 422 });
  expect(log.of("subscriptions-failed")).toMatchObject([{ level: "warn" }]);
});
