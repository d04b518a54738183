import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { bookingBody, lifecycleBody } from "../support/make-delivery.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** One inbox that several receivers work on, one after another, as after deploys. */
function deploys() {
  const shared = { inbox: memoryInbox(), clock: fakeClock() };
  return () => rig(shared);
}

describe("a later start", () => {
  test("gives unhandled jobs to the consumers that handle them by then, in order, before anything newer", async () => {
    const deploy = deploys();
    const before = deploy();
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    for (let index = 0; index < 230; index += 1) await before.send(emails(`m-${index}`));
    await before.receiver.close();
    const after = deploy();
    await after.send(emails("newer"));
    const { seen, handler } = recordingHandler();
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
      inbox: stubInbox(() => {
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
    const inbox = stubInbox((own) => ({
      jobs: { ...own.jobs, unhandled: () => Promise.reject(new Error("a bad page")) },
    }));
    const { receiver, send, log } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(seen).toEqual(["a"]);
    expect(log.of("inbox-failed")).toMatchObject([{ level: "error" }]);
  });

  test("goes before what is stored while it sweeps", async () => {
    const clock = fakeClock();
    const before = rig({ inbox: memoryInbox(), clock });
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    await before.send(emails("older"));
    await before.receiver.idle();
    await before.receiver.close();

    const paging = deferred();
    const own = before.inbox;
    const inbox = stubInbox(() => ({
      ...own,
      jobs: {
        ...own.jobs,
        unhandled: async (page) => {
          await paging.promise;
          return own.jobs.unhandled(page);
        },
      },
    }));
    const after = rig({ inbox, clock });
    const { seen, handler } = recordingHandler();
    after.receiver.on("email", handler, { lane: "account" });
    await after.receiver.start();
    await after.send(emails("newer"));
    await turns();
    paging.resolve();
    await turns();
    await after.receiver.idle();
    expect(seen).toEqual(["older", "newer"]);
  });
});
