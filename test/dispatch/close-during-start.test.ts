import { describe, expect, test } from "vitest";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

describe("close() during start()", () => {
  test("makes it reject with code closed, and nothing works afterwards", async () => {
    const opening = deferred();
    const inbox = stubInbox((own) => ({
      open: async (host) => {
        await opening.promise;
        await own.open(host);
      },
    }));
    const { receiver, pass } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    const started = watch(receiver.start());
    const closed = watch(receiver.close());
    opening.resolve();
    await pass();
    expect(started.error).toMatchObject({ code: "closed" });
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
    expect([seen, receiver.stats().role]).toEqual([[], "receiving"]);
  });

  test("holds where the worker lock is acquired only after it", async () => {
    const place = deferred();
    const inbox = stubInbox((own) => ({
      work: async (worker) => {
        await place.promise;
        await own.work(worker);
      },
    }));
    const { receiver, send, pass } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await send(emails("a"));
    const started = watch(receiver.start());
    await turns();
    const closed = watch(receiver.close());
    await turns();
    place.resolve();
    await pass();
    expect(started.error).toMatchObject({ code: "closed" });
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
    expect([seen, receiver.stats().role]).toEqual([[], "receiving"]);
  });

  test("during the sweep of unhandled jobs ends it between two pages", async () => {
    const paging = deferred();
    const pages: string[] = [];
    const inbox = stubInbox((own) => ({
      jobs: {
        ...own.jobs,
        unhandled: async (page) => {
          pages.push("page");
          await paging.promise;
          return own.jobs.unhandled({ ...page, limit: 1 });
        },
      },
    }));
    const before = rig({ inbox });
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    await before.send(emails("a", "b", "c"));
    await turns();
    const closed = watch(before.receiver.close());
    await turns();
    paging.resolve();
    await before.pass();
    expect(closed.value).toEqual({ done: 0, released: 0, stuck: 0 });
    expect(pages).toHaveLength(1);
  });

  test("a later start() rejects with code closed too", async () => {
    const { receiver } = rig();
    await receiver.close();
    await expect(receiver.start()).rejects.toMatchObject({ code: "closed" });
  });
});
