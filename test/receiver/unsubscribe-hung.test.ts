import { describe, expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { watch } from "../support/event-loop.ts";
import { rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const never = () => new Promise<never>(() => {});

describe("unsubscribe() writes the tombstone, although the inbox never answers", () => {
  test.each<[string, (own: WorkingInbox<"memory">) => Partial<WorkingInbox<"memory">>]>([
    ["what the subscription was for", ({ gaps }) => (gaps ? { gaps: { ...gaps, resourcesOf: never } } : {})],
    [
      "that this was recorded",
      ({ subscriptions }) => (subscriptions ? { subscriptions: { ...subscriptions, record: never } } : {}),
    ],
  ])("%s", async (_, change) => {
    const { receiver, send, offer, pass } = rig({ inbox: stubInbox(change) });
    receiver.on("email", () => {});
    await receiver.start();
    await send();
    const unsubscribed = watch(receiver.unsubscribe(1001, "gone"));
    await pass(2_000);
    await pass(2_000);
    expect(unsubscribed).toMatchObject({ ended: true, value: undefined });
    expect(await offer()).toMatchObject({ status: 422 });
  });
});
