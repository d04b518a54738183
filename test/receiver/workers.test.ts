import { createReceiver, forwardInbox, type Inbox, type Receiver, type Reply } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";
import { bodyOf, makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails } from "../support/rig.ts";

const SECRET = "a signing secret";

/** A receiver in a process that looks like a Worker. */
function onWorkers(stored: Inbox<"network"> | Parameters<typeof forwardInbox>[0], concurrency = 10) {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  onTestFinished(() => void vi.unstubAllGlobals());
  const clock = fakeClock();
  const inbox = typeof stored === "function" ? forwardInbox(stored) : stored;
  const receiver: Receiver = createReceiver({ secret: SECRET, inbox, clock, log: false, concurrency });
  return { receiver, clock };
}

function receive({ receiver, clock }: { receiver: Receiver; clock: FakeClock }, id: string): Promise<Reply> {
  return receiver.receive(signedRequest(emails(id), { secret: SECRET, at: clock.date() }));
}

describe("on Workers, where a request's I/O ends with it", () => {
  test("each delivery is stored by itself, and all of them that come at once", async () => {
    const stored: number[] = [];
    const own = onWorkers(async (deliveries) => void stored.push(deliveries.length));
    const replies = await Promise.all(["a", "b", "c"].map((id) => receive(own, id)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(stored).toEqual([1, 1, 1]);
  });

  test("a queue that never answers is 503, and the next delivery does not wait for it", async () => {
    const store = vi
      .fn<() => Promise<void>>()
      .mockReturnValueOnce(new Promise(() => {}))
      .mockResolvedValue();
    const own = onWorkers(store);
    const first = watch(receive(own, "a"));
    await turns();
    expect(await receive(own, "b")).toMatchObject({ status: 200 });
    await own.clock.advance(5_000);
    expect(first.value).toMatchObject({ status: 503 });
    expect(await receive(own, "c")).toMatchObject({ status: 200 });
  });

  test("a queue that refuses is 503, and so is an inbox that throws", async () => {
    const refusing = forwardInbox(() => Promise.reject(new Error("down")));
    const throwing = Object.assign(
      forwardInbox(async () => {}),
      { store: () => Promise.reject(new Error("broken")) },
    );
    for (const inbox of [refusing, throwing]) {
      const own = onWorkers(inbox);
      expect(await receive(own, "a")).toMatchObject({ status: 503 });
      expect(own.receiver.stats().refused).toEqual({ "storage-failed": 1 });
    }
  });

  test("a close waits for what is being stored", async () => {
    const gate = deferred();
    const own = onWorkers(() => gate.promise);
    const stored = watch(receive(own, "a"));
    await turns();
    const closed = watch(own.receiver.close());
    await turns();
    expect(closed.ended).toBe(false);
    gate.resolve();
    await turns();
    expect([stored.value?.status, closed.ended]).toEqual([200, true]);
  });

  test("a handler that never ends holds up no other delivery, neither in its lane nor by its slot", async () => {
    const { receiver } = onWorkers(async () => {}, 1);
    const handled: number[] = [];
    receiver.on("email", ({ accountId }) => {
      handled.push(accountId);
      return handled.length === 1 ? new Promise(() => {}) : undefined;
    });
    void receiver.handle(toStored("1", makeDelivery(bodyOf())));
    await receiver.handle(toStored("2", makeDelivery(bodyOf())));
    expect(handled).toEqual([2002, 2002]);
  });
});
