import { createReceiver, forwardInbox, type Inbox, type Receiver } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const VERBS: readonly (readonly [string, (receiver: Receiver) => Promise<unknown>])[] = [
  ["start", (receiver) => receiver.start()],
  ["unsubscribe", (receiver) => receiver.unsubscribe(1001, "left")],
  ["resubscribe", (receiver) => receiver.resubscribe(1001)],
  ["handle", (receiver) => receiver.handle(toStored("d-1", makeDelivery()))],
  ["jobs.list", (receiver) => receiver.jobs.list()],
  ["jobs.get", (receiver) => receiver.jobs.get("1")],
  ["jobs.replay", (receiver) => receiver.jobs.replay({ state: "dead" })],
  ["jobs.drop", (receiver) => receiver.jobs.drop({ state: "dead" })],
  ["jobs.erase", (receiver) => receiver.jobs.erase(2002)],
];

/** Counts how often it was opened. */
function counted(): { readonly inbox: Inbox<"memory">; readonly opened: () => number } {
  let opened = 0;
  const inbox = stubInbox((own) => ({
    open(host) {
      opened += 1;
      return own.open(host);
    },
  }));
  return { inbox, opened: () => opened };
}

describe.each(VERBS)("%s after close()", (_name, call) => {
  test("rejects with closed, and leaves the inbox closed", async () => {
    const { inbox, opened } = counted();
    const { receiver } = rig({ inbox });
    await receiver.start();
    await receiver.close();
    await expect(call(receiver)).rejects.toMatchObject({ name: "ClosedError", code: "closed" });
    expect(opened()).toBe(1);
  });

  test("does not open an inbox that was never needed", async () => {
    const { inbox, opened } = counted();
    const { receiver } = rig({ inbox });
    await receiver.close();
    await expect(call(receiver)).rejects.toMatchObject({ code: "closed" });
    expect(opened()).toBe(0);
  });

  test("rejects so too while the receiver closes", async () => {
    const { receiver, send } = rig();
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    const closed = receiver.close();
    await expect(call(receiver)).rejects.toMatchObject({ code: "closed" });
    last().end();
    await closed;
  });
});

test.each(VERBS.slice(1, 3))("%s rejects with closed on a queue of the user's, too", async (_name, call) => {
  const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
  await receiver.close();
  await expect(call(receiver)).rejects.toMatchObject({ code: "closed" });
});

test.each(VERBS.slice(1, 3))(
  "%s that waits for the inbox to open rejects with closed when it is closed",
  async (_name, call) => {
    const opening = deferred();
    const inbox = stubInbox((own) => ({ open: (host) => opening.promise.then(() => own.open(host)) }));
    const { receiver } = rig({ inbox });
    const called = watch(call(receiver));
    await turns();
    await receiver.close();
    opening.resolve();
    await turns();
    expect(called.error).toMatchObject({ code: "closed" });
  },
);

test("a handler that is still running may unsubscribe while the receiver closes, and after", async () => {
  const { receiver, send, pass, inbox } = rig();
  const { handler, calls } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a"));
  await send(emails("b"));
  const closed = watch(receiver.close());
  await calls[0]?.ctx.unsubscribe("during");
  expect(inbox.tombstones.find(1001, "")).toMatchObject({ reason: "during" });
  await pass(10_000);
  expect(closed.value).toMatchObject({ stuck: 2 });
  await calls[1]?.ctx.unsubscribe("after");
  expect(inbox.tombstones.find(1001, "")).toMatchObject({ reason: "after" });
  for (const call of calls) call.end();
  await pass();
  await expect(calls[1]?.ctx.unsubscribe("far too late")).rejects.toMatchObject({ code: "closed" });
});
