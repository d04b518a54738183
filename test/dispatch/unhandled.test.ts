import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { bodyOf, bookingBody, change, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";

/** One inbox that several receivers work on, one after another, as after deploys. */
function deploys() {
  const shared = { inbox: memoryInbox(), clock: fakeClock() };
  return () => rig(shared);
}

describe("an event without a handler", () => {
  test("waits as unhandled, is warned of once per name with the fix, and holds no lane", async () => {
    const { receiver, send, inbox, log } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    await send(bookingBody("e-1", "e-2"));
    await send(trackingBody(tracked(1)));
    await send(bodyOf({ payloads: [] }));
    await receiver.idle();
    expect(inbox.stats()).toMatchObject({ unhandled: 4, waiting: 0, blockedLanes: 0 });
    expect(log.of("unhandled").map(({ level, facts }) => [level, facts["event"]])).toEqual([
      ["warn", "booking"],
      ["warn", "tracking.open"],
      ["warn", "email.signal"],
    ]);
    expect(log.of("unhandled")[0]?.facts["fix"]).toContain('receiver.on("booking"');
  });

  test("is skipped, and forgotten, when it is a change whose family some consumer handles", async () => {
    const { receiver, send, inbox, log } = rig();
    receiver.on("email.created", () => {});
    await receiver.start();
    await send(emails("a", "b"));
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ skipped: 2, succeeded: 0 });
    expect(inbox.stats()).toMatchObject({ unhandled: 0, waiting: 0 });
    expect(log.of("unhandled")).toEqual([]);
  });
});

describe("a job whose handler went with a deploy", () => {
  test("becomes unhandled at the claim, and frees its lane; it is warned of once", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failingHandler().handler, { lane: () => "one" });
    before.receiver.on("contact", () => {}, { lane: () => "one" });
    await before.receiver.start();
    await before.send(emails("a", "b"));
    await before.send(bodyOf({ resource: "/contacts", payloads: [change("c")] }));
    await before.receiver.idle();
    await before.receiver.close();
    const after = deploy();
    const { seen, handler } = recordingHandler();
    after.receiver.on("contact", handler);
    await after.receiver.start();
    await after.pass(10_000);
    expect(seen).toEqual(["c"]);
    expect(after.inbox.stats()).toMatchObject({ unhandled: 2, waiting: 0, running: 0 });
    expect(after.log.of("handler-gone")).toMatchObject([
      { level: "warn", facts: { event: "email.updated", consumer: "default" } },
    ]);
  });

  test("goes to its own consumer again when that has one, and to no other: those had their own job", async () => {
    const deploy = deploys();
    const [stored, gone] = [recordingHandler(), recordingHandler()];
    const first = deploy();
    first.receiver.on("email", stored.handler);
    first.receiver.on("email", failingHandler().handler, { consumer: "search" });
    await first.receiver.start();
    await first.send(emails("a"));
    await first.receiver.idle();
    await first.receiver.close();

    const second = deploy();
    second.receiver.on("email", stored.handler);
    await second.receiver.start();
    await second.pass(10_000);
    expect(second.inbox.stats().unhandled).toBe(1);
    await second.receiver.close();

    const third = deploy();
    third.receiver.on("email", stored.handler);
    await third.receiver.start();
    await third.receiver.idle();
    expect([stored.seen, third.inbox.stats().unhandled]).toEqual([["a"], 1]);
    await third.receiver.close();

    const fourth = deploy();
    fourth.receiver.on("email", stored.handler);
    fourth.receiver.on("email", gone.handler, { consumer: "search" });
    await fourth.receiver.start();
    await fourth.receiver.idle();
    expect([stored.seen, gone.seen, fourth.inbox.stats().unhandled]).toEqual([["a"], ["a"], 0]);
  });

  test("keeps its lane: it is looked up by its consumer, not by the handler that it was made for", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failingHandler().handler, { lane: "account", merge: false });
    await before.receiver.start();
    await before.send(emails("a", "b"));
    await before.receiver.idle();
    await before.receiver.close();
    const after = deploy();
    const { calls, handler } = heldHandler();
    after.receiver.on("*", handler);
    await after.receiver.start();
    await after.pass(10_000);
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a"]);
    calls[0]?.end();
    await after.pass();
    expect(calls.map(({ event }) => idOf(event))).toEqual(["a", "b"]);
  });
});
