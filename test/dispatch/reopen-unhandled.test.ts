import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import type { InboxJobs, UnhandledJob } from "../../src/inbox/port/jobs.ts";
import { deferred, turns, until, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { bodyOf, bookingBody, lifecycleBody } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig, type Rig, type RigOptions } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** One inbox that several receivers work on, one after another, as after deploys. */
function deploys() {
  const shared = { inbox: memoryInbox(), clock: fakeClock() };
  return () => rig(shared);
}

const named = (count: number): string[] => Array.from({ length: count }, (_, index) => `m-${index}`);

/**
 * A receiver on an inbox with unhandled changes of these e-mails, stored by an earlier one.
 * @param change its calls that the sweep makes
 */
async function withUnhandled(
  ids: readonly string[],
  change: (own: InboxJobs) => Partial<InboxJobs> = () => ({}),
  options: RigOptions = {},
): Promise<Rig> {
  const clock = fakeClock();
  const { receiver, inbox, send } = rig({ inbox: memoryInbox(), clock });
  receiver.on("contact", () => {});
  await receiver.start();
  await send(emails(...ids));
  await receiver.idle();
  await receiver.close();
  const verbs = stubInbox(() => ({ ...inbox, jobs: { ...inbox.jobs, ...change(inbox.jobs) } }));
  return rig({ inbox: verbs, clock, gaps: false, ...options });
}

/**
 * The same with 100 of one delivery that is so long that the event loop gets a turn once it is parsed.
 * @param change how the inbox gives each
 */
async function withLongDelivery(change: (job: UnhandledJob) => UnhandledJob) {
  const pages: number[] = [];
  const ids = named(100).map((id) => id.padEnd(1_000, "x"));
  const { receiver } = await withUnhandled(ids, (own) => ({
    unhandled: async (page) => (await own.unhandled(page)).map(change),
    reopen: (page) => (pages.push(page.length), own.reopen(page)),
  }));
  return { pages, receiver };
}

describe("a later start", () => {
  test("gives unhandled jobs to the consumers that handle them by then, in order", async () => {
    const { receiver, inbox } = await withUnhandled(named(230));
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(named(230));
    expect(inbox.stats().unhandled).toBe(0);
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

  test("leaves what still has no handler", async () => {
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

  test("looks at no job that still has no handler, however many there are", async () => {
    const pages: number[] = [];
    const { receiver, inbox } = await withUnhandled(named(1_000), (own) => ({
      unhandled: async (page) => {
        const found = await own.unhandled(page);
        pages.push(found.length);
        return found;
      },
    }));
    receiver.on("booking", () => {});
    await receiver.start();
    await receiver.idle();
    expect([pages, inbox.stats().unhandled]).toEqual([[0], 1_000]);
  });

  test("reads anew what an earlier version did not understand", async () => {
    const asUnknown = (type: string): string => (type === "unknown" ? "email.updated" : "nothing");
    const { receiver, inbox } = await withUnhandled(["a"], (own) => ({
      unhandled: async (page) => {
        const handled = page.handled.map(({ type, consumer }) => ({ type: asUnknown(type), consumer }));
        const found = await own.unhandled({ ...page, handled });
        return found.map(({ id, entry, consumer, delivery }) => ({ id, entry, consumer, delivery, event: undefined }));
      },
    }));
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await receiver.idle();
    expect([seen, inbox.stats().unhandled]).toEqual([["a"], 0]);
  });

  test("leaves what it does not understand either, and what it does not handle", async () => {
    const { receiver, inbox } = await withUnhandled(["a"], (own) => ({
      unhandled: async (page) =>
        own.unhandled({ ...page, handled: page.handled.map(({ consumer }) => ({ type: "email.updated", consumer })) }),
    }));
    receiver.on("booking", () => {});
    await receiver.start();
    await receiver.idle();
    expect(inbox.stats().unhandled).toBe(1);
  });

  test("what is still unknown makes nothing behind it wait, not even after a look that failed", async () => {
    const limits: number[] = [];
    const { receiver, send, pass } = await withUnhandled(["a"], (own) => ({
      unhandled: async (page) => {
        if (limits.push(page.limit) === 1) throw new Error("no");
        const found = await own.unhandled({ ...page, after: limits.length > 5 ? page.after : undefined });
        if (limits.length > 4) return found;
        return found.map((job) => Object.assign({}, job, { event: { type: "unknown" } }));
      },
    }));
    const { handler } = heldHandler();
    receiver.on("contact", handler, { lane: "account", timeoutMs: 0 });
    const { seen, handler: onEmail } = recordingHandler();
    receiver.on("email", onEmail);
    await send(bodyOf({ resource: "/contacts", payloads: named(150).map((id) => ({ id, changeType: "created" })) })); // they wait in one lane
    await receiver.start();
    await pass(1_000);
    expect([seen, limits]).toEqual([["a"], [100, 50, 100, 100, 100, 100]]);
  });

  test("without any handler does not look for unhandled jobs", async () => {
    let looks = 0;
    const { receiver, pass } = await withUnhandled(["a"], (own) => ({
      unhandled: (page) => ((looks += 1), own.unhandled(page)),
    }));
    await receiver.start();
    await pass();
    expect(looks).toBe(0);
  });

  test("never waits for unhandled jobs: what was stored before it and after it is handled at once", async () => {
    const paging = deferred();
    const { receiver, send, pass } = await withUnhandled(["unhandled"], (own) => ({
      unhandled: async (page) => {
        await paging.promise;
        return own.unhandled(page);
      },
    }));
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await send(emails("stored before"));
    await receiver.start();
    await pass();
    await send(emails("stored after"));
    await pass();
    expect(seen).toEqual(["stored before", "stored after"]);
    paging.resolve();
    await receiver.idle();
    expect(seen).toEqual(["stored before", "stored after", "unhandled"]);
  });

  test("reopens a page of at most 100 jobs in one call of the inbox, and lets the event loop turn between pages", async () => {
    const pages: { readonly jobs: number; readonly turn: number }[] = [];
    let turn = 0;
    const { receiver } = await withUnhandled(named(1_000), (own) => ({
      reopen: (page) => (pages.push({ jobs: page.length, turn }), own.reopen(page)),
    }));
    receiver.on("email", () => {});
    await receiver.start();
    const idle = watch(receiver.idle());
    for (; !idle.ended; turn += 1) await turns(1);
    expect(pages.map(({ jobs }) => jobs)).toEqual(Array.from({ length: 10 }, () => 100));
    expect(new Set(pages.map((page) => page.turn)).size).toBeGreaterThan(5);
    expect(receiver.stats().succeeded).toBe(1_000);
  });

  test("lets the event loop turn after a long delivery, not after each job of it", async () => {
    const { pages, receiver } = await withLongDelivery((job) => ({ ...job, event: undefined }));
    receiver.on("email", () => {});
    await receiver.start();
    await turns(10);
    expect(pages).toEqual([100]);
    await receiver.idle();
  });

  test("goes on behind a page that the inbox cut short", async () => {
    const { receiver, inbox } = await withUnhandled(named(30), (own) => ({
      unhandled: (page) => own.unhandled({ ...page, limit: 7 }),
    }));
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    await receiver.start();
    await receiver.idle();
    expect([seen, inbox.stats().unhandled]).toEqual([named(30), 0]);
  });

  test("handles a fresh job before most of many that were unhandled", async () => {
    const { receiver, send, clock } = await withUnhandled(named(1_000), undefined, { concurrency: 1 });
    const { seen, handler } = recordingHandler(() => turns(1));
    receiver.on("email", handler);
    await receiver.start();
    await until(() => seen.length > 0);
    await send(emails("fresh"));
    await receiver.idle();
    expect(seen).toHaveLength(1_001);
    expect(seen.indexOf("fresh")).toBeLessThan(300);
    expect(clock.waiting).toBe(0); // no page's timer is left
  });

  test.each([
    ["wait for a retry", () => Promise.reject(new Error("no"))],
    ["stand behind one that never ends", () => new Promise(() => {})],
  ])("goes on at once while jobs wait of which none may start: they %s", async (_, handler) => {
    const { receiver, inbox, pass } = await withUnhandled(named(500));
    receiver.on("email", handler, { lane: "account", timeoutMs: 0 });
    await receiver.start();
    for (let page = 0; page < 5; page += 1) await pass();
    expect(inbox.stats().unhandled).toBe(0);
  });

  test("goes on at once while a pause holds as many jobs", async () => {
    const { receiver, inbox, pass } = await withUnhandled(named(500));
    receiver.on("email", () => {});
    await receiver.flow.pause({ consumer: "default" }, { reason: "a test" });
    await receiver.start();
    for (let page = 0; page < 5; page += 1) await pass();
    expect(inbox.stats()).toMatchObject({ unhandled: 0, pausedWaiting: 500 });
  });

  test("reopens a page a second while all slots are taken and as many jobs wait", async () => {
    const { receiver, inbox, pass } = await withUnhandled(named(500), undefined, { concurrency: 1 });
    const { handler } = heldHandler();
    receiver.on("email", handler, { timeoutMs: 0 });
    await receiver.start();
    const left: number[] = [];
    for (const ms of [0, 0, 999, 1, 1_000, 1_000]) {
      await pass(ms);
      left.push(inbox.stats().unhandled);
    }
    // Behind the one that runs 99 jobs wait: fewer than a page.
    expect(left).toEqual([300, 300, 300, 200, 100, 0]);
  });

  test("reopens nothing while deliveries wait for room in the memory, and then a few at first", async () => {
    let isFull = true;
    const pages: number[] = [];
    const { inbox, clock } = await withUnhandled(named(300), (own) => ({
      reopen: (page) => (pages.push(page.length), own.reopen(page)),
    }));
    let looks = 0;
    const full = stubInbox(() => ({ ...inbox, stats: () => ((looks += 1), { ...inbox.stats(), isFull }) }));
    const { receiver, pass } = rig({ inbox: full, clock });
    receiver.on("email", () => {});
    await receiver.start();
    await pass(60_000);
    expect(pages).toEqual([100]);
    const before = looks;
    await turns(1_000);
    expect(looks).toBe(before); // until its second is over
    isFull = false;
    await pass(1_000);
    await receiver.idle();
    expect(pages).toEqual([100, 1, 2, 4, 8, 16, 32, 64, 73]);
  });

  test("leaves half of the memory to fresh jobs, but for a page a second, and then for a job a second", async () => {
    let fill = 0.5;
    const pages: number[] = [];
    const { inbox, clock } = await withUnhandled(named(500), (own) => ({
      reopen: (page) => (pages.push(page.length), own.reopen(page)),
    }));
    const filling = stubInbox(() => ({ ...inbox, stats: () => ({ ...inbox.stats(), fill }) }));
    const { receiver, pass } = rig({ inbox: filling, clock });
    const { handler } = heldHandler();
    receiver.on("email", handler, { lane: "account", timeoutMs: 0 });
    const at = async (now: number): Promise<void> => {
      fill = now;
      await pass(1_000);
    };
    await receiver.start();
    await pass();
    for (const now of [0.5, 0.89, 0.9, 0.95]) await at(now);
    // Behind the one that runs 99 jobs wait: fewer than a page.
    expect(pages).toEqual([100, 100, 100, 100, 1, 1]);
    await at(0.49);
    expect(pages.reduce((sum, jobs) => sum + jobs)).toBe(500);
  });

  test("reopens a page a second while as many deliveries wait to be expanded", async () => {
    const { inbox, clock } = await withUnhandled(named(300));
    const full = stubInbox(() => ({ ...inbox, unexpanded: async () => [] }));
    const { receiver, send, pass } = rig({ inbox: full, clock });
    receiver.on("email", () => {});
    for (let count = 0; count < 100; count += 1) await send(emails("fresh"));
    await receiver.start();
    const left: number[] = [];
    for (const ms of [0, 999, 1]) {
      await pass(ms);
      left.push(inbox.stats().unhandled);
    }
    expect(left).toEqual([200, 200, 100]);
  });

  test("waits in idle() for the end of the sweep", async () => {
    const paging = deferred();
    const { receiver, pass } = await withUnhandled([], (own) => ({
      unhandled: async (page) => {
        await paging.promise;
        return own.unhandled(page);
      },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    const idle = watch(receiver.idle());
    await pass(10_000);
    expect(idle.ended).toBe(false);
    paging.resolve();
    await pass();
    expect(idle.ended).toBe(true);
  });
});

describe("an inbox that fails to", () => {
  test.each(["unhandled", "reopen"] as const)("answer %s is logged, and asked again after a second", async (verb) => {
    let failures = 2;
    const { receiver, send, pass, log } = await withUnhandled(["unhandled"], (own) => ({
      [verb]: async (given: never) => {
        failures -= 1;
        if (failures >= 0) throw new Error("a bad page");
        return own[verb](given);
      },
    }));
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("fresh"));
    await pass(999);
    expect([seen, failures]).toEqual([["fresh"], 1]);
    await pass(1);
    expect([seen, failures]).toEqual([["fresh"], 0]);
    await pass(1_000);
    expect(seen).toEqual(["fresh", "unhandled"]);
    expect(log.of("inbox-failed")[0]).toMatchObject({ level: "error" });
    await receiver.idle();
  });
});

describe("close()", () => {
  test("ends a sweep that waits for its next page", async () => {
    let pages = 0;
    const reopen = (own: InboxJobs): Partial<InboxJobs> => ({
      reopen: (page) => ((pages += 1), own.reopen(page)),
    });
    const { receiver, clock, pass } = await withUnhandled(named(500), reopen, { concurrency: 1 });
    const { handler, calls } = heldHandler();
    receiver.on("email", handler, { timeoutMs: 0 });
    await receiver.start();
    await pass();
    expect([pages, clock.waiting]).toEqual([2, 1]);
    const closed = watch(receiver.close());
    calls[0]?.end();
    await pass();
    expect(closed.value).toEqual({ done: 1, released: 1, stuck: 0 });
    await pass(10_000);
    expect([pages, clock.waiting]).toEqual([2, 0]);
  });

  test("is not kept by a sweep that has just reopened a page", async () => {
    const closing: ReturnType<typeof watch>[] = [];
    const { receiver, pass } = await withUnhandled(named(300), (own) => ({
      reopen(page) {
        closing.push(watch(receiver.close()));
        return own.reopen(page);
      },
    }));
    receiver.on("email", () => {});
    watch(receiver.start());
    await pass();
    expect(closing).toMatchObject([{ ended: true }]);
  });

  test("is not kept by a sweep in the middle of a page of long deliveries", async () => {
    const { pages, receiver } = await withLongDelivery(({ delivery, ...job }) => ({
      ...job,
      event: undefined,
      delivery: { ...delivery, body: Uint8Array.from(delivery.body) },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    await turns(10);
    const closed = watch(receiver.close());
    await turns(10);
    expect([closed.ended, pages]).toEqual([true, []]);
  });

  test("is not kept by a sweep that waits after a failure, and says nothing of one that fails because of it", async () => {
    const reading = deferred();
    let reads = 0;
    const { receiver, pass, log } = await withUnhandled(["a"], () => ({
      unhandled: async () => {
        reads += 1;
        if (reads === 2) await reading.promise;
        throw new Error("a bad page");
      },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    await pass(1_000);
    expect(reads).toBe(2);
    const closed = watch(receiver.close());
    reading.resolve();
    await pass();
    expect(closed.ended).toBe(true);
    await pass(10_000);
    expect([reads, log.of("inbox-failed").length]).toEqual([2, 1]);
  });
});
