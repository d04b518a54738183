import type { SeenStore } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig } from "../support/rig.ts";

const stored = (body: string, id = "d-1") => toStored(id, makeDelivery(body));

describe("an event that waits for the store of what was seen while the receiver closes", () => {
  /** A store whose claims wait. */
  function waiting() {
    const { promise, resolve } = deferred();
    const settled: string[] = [];
    const store: SeenStore = {
      claim: () => promise.then(() => "mine"),
      settle: async (_key, how) => void settled.push(how),
    };
    return { store, settled, answer: resolve };
  }

  test("does not begin after close(), and is given back", async () => {
    const { receiver, pass } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    const { store, settled, answer } = waiting();
    const handled = watch(receiver.handle(stored(emails("a")), { seen: store }));
    await turns();
    const closed = watch(receiver.close({ drainMs: 0 }));
    await pass(0);
    expect(closed.value).toMatchObject({ done: 0 });
    answer();
    await turns();
    expect(seen).toEqual([]);
    expect(settled).toEqual(["failed"]);
    expect(handled.error).toMatchObject({ code: "handle-failed", cause: { code: "closed" } });
  });

  test("begins while close() still waits for what runs", async () => {
    const { receiver, pass } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const { store, answer } = waiting();
    const handled = watch(receiver.handle(stored(emails("a")), { seen: store }));
    await turns();
    const closed = watch(receiver.close({ drainMs: 10_000 }));
    await turns();
    answer();
    await turns();
    calls[0]?.end();
    await pass();
    expect([calls.length, handled, closed.value]).toMatchObject([1, { ended: true }, { done: 1, stuck: 0 }]);
  });
});
