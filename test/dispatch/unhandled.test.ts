import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { altered } from "../support/inboxes.ts";
import { bodyOf, bookingBody, change, lifecycleBody, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failing, heldHandler, idOf, notingHandler, rig } from "../support/rig.ts";
import { turns } from "../support/turns.ts";

/** One inbox that several receivers work on, one after another, as after deploys. */
function deploys() {
  const shared = { inbox: memoryInbox(), clock: fakeClock() };
  return () => rig(shared);
}

describe("an event that nobody handles", () => {
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

describe("a later start", () => {
  test("gives what nobody handled to those who handle it by then, in order, before anything newer", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    for (let index = 0; index < 230; index += 1) await before.send(emails(`m-${index}`));
    await before.receiver.close();
    const after = deploy();
    await after.send(emails("newer"));
    const { seen, handler } = notingHandler();
    after.receiver.on("email", handler, { lane: "account" });
    await after.receiver.start();
    await after.receiver.idle();
    expect(seen).toEqual([...Array.from({ length: 230 }, (_, index) => `m-${index}`), "newer"]);
    expect(after.inbox.stats().unhandled).toBe(0);
  });

  test("makes a job for each consumer that handles it", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    await before.send(lifecycleBody("error", { error: "invalid_grant" }));
    await before.receiver.idle();
    await before.receiver.close();
    const after = deploy();
    const consumers: string[] = [];
    after.receiver.on("lifecycle", () => consumers.push("default"));
    after.receiver.on("*", () => consumers.push("audit"), { consumer: "audit" });
    await after.receiver.start();
    await after.receiver.idle();
    expect(consumers.toSorted()).toEqual(["audit", "default"]);
  });

  test("leaves what nobody handles still", async () => {
    const deploy = deploys();
    for (let times = 0; times < 2; times += 1) {
      const { receiver, send, inbox } = deploy();
      receiver.on("contact", () => {});
      await receiver.start();
      await send(bookingBody(`e-${times}`));
      await receiver.idle();
      expect(inbox.stats().unhandled).toBe(times + 1);
      await receiver.close();
    }
  });

  test("sweeps in pages, and the loop turns between them", async () => {
    const inbox = memoryInbox();
    const before = rig({ inbox });
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    await before.send(emails(...Array.from({ length: 1_000 }, (_, index) => `m-${index}`)));
    await before.receiver.idle();
    await before.receiver.close();
    const pages: number[] = [];
    let turn = 0;
    const watched = rig({
      inbox: altered(() => {
        const own = before.inbox;
        return {
          ...own,
          jobs: {
            ...own.jobs,
            unhandled: (page) => {
              pages.push(turn);
              return own.jobs.unhandled(page);
            },
          },
        };
      }),
    });
    watched.receiver.on("email", () => {});
    await watched.receiver.start();
    for (; turn < 30; turn += 1) await turns(1);
    await watched.receiver.idle();
    expect(pages).toHaveLength(11);
    expect(new Set(pages).size).toBeGreaterThan(5);
    expect(watched.receiver.stats().succeeded).toBe(1_000);
  });

  test("that cannot look at them says so, and works on all the same", async () => {
    const inbox = altered((own) => ({
      jobs: { ...own.jobs, unhandled: () => Promise.reject(new Error("a bad page")) },
    }));
    const { receiver, send, log } = rig({ inbox });
    const { seen, handler } = notingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(seen).toEqual(["a"]);
    expect(log.of("inbox-failed")).toMatchObject([{ level: "error" }]);
  });
});

describe("a job whose handler went with a deploy", () => {
  test("becomes unhandled at the claim, and frees its lane", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failing().handler, { lane: () => "one" });
    before.receiver.on("contact", () => {}, { lane: () => "one" });
    await before.receiver.start();
    await before.send(emails("a"));
    await before.send(bodyOf({ resource: "/contacts", payloads: [change("c")] }));
    await before.receiver.idle();
    await before.receiver.close();
    const after = deploy();
    const { seen, handler } = notingHandler();
    after.receiver.on("contact", handler);
    await after.receiver.start();
    await after.pass(10_000);
    expect(seen).toEqual(["c"]);
    expect(after.inbox.stats()).toMatchObject({ unhandled: 1, waiting: 0, running: 0 });
    expect(after.log.of("handler-gone")).toMatchObject([
      { level: "warn", facts: { event: "email.updated", consumer: "default" } },
    ]);
  });

  test("goes to its own consumer again when that has one, and to no other: those had their own job", async () => {
    const deploy = deploys();
    const [kept, gone] = [notingHandler(), notingHandler()];
    const first = deploy();
    first.receiver.on("email", kept.handler);
    first.receiver.on("email", failing().handler, { consumer: "search" });
    await first.receiver.start();
    await first.send(emails("a"));
    await first.receiver.idle();
    await first.receiver.close();

    const second = deploy();
    second.receiver.on("email", kept.handler);
    await second.receiver.start();
    await second.pass(10_000);
    expect(second.inbox.stats().unhandled).toBe(1);
    await second.receiver.close();

    const third = deploy();
    third.receiver.on("email", kept.handler);
    await third.receiver.start();
    await third.receiver.idle();
    expect([kept.seen, third.inbox.stats().unhandled]).toEqual([["a"], 1]);
    await third.receiver.close();

    const fourth = deploy();
    fourth.receiver.on("email", kept.handler);
    fourth.receiver.on("email", gone.handler, { consumer: "search" });
    await fourth.receiver.start();
    await fourth.receiver.idle();
    expect([kept.seen, gone.seen, fourth.inbox.stats().unhandled]).toEqual([["a"], ["a"], 0]);
  });

  test("keeps its lane: it is looked up by its consumer, not by the handler that it was made for", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("email", failing().handler, { lane: "account", coalesce: false });
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
