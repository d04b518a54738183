import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { deferred, turns, until } from "../support/event-loop.ts";
import { bodyOf, change, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

describe("events that are stored before start()", () => {
  test("are all handled after it, in order", async () => {
    const { receiver, send } = rig({ concurrency: 1 });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    for (const id of ["a", "b", "c"]) await send(emails(`${id}1`, `${id}2`));
    expect([seen, receiver.stats().role]).toEqual([[], "receiving"]);
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["a1", "a2", "b1", "b2", "c1", "c2"]);
    expect(receiver.stats()).toMatchObject({ role: "working", stored: 3, succeeded: 6 });
  });

  test("come before those that are stored after it", async () => {
    const { receiver, send } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    for (let index = 0; index < 250; index += 1) await send(emails(`early ${index}`));
    const started = receiver.start();
    const sent = Array.from({ length: 50 }, (_, index) => send(emails(`late ${index}`)));
    await Promise.all([started, ...sent]);
    await receiver.idle();
    expect(seen).toEqual([
      ...Array.from({ length: 250 }, (_, index) => `early ${index}`),
      ...Array.from({ length: 50 }, (_, index) => `late ${index}`),
    ]);
  });

  test("are expanded by those who are registered by then", async () => {
    const { receiver, send } = rig();
    await send(emails("a"));
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["a"]);
  });

  test("include a delivery of 3,000 entries, and what came behind it", async () => {
    const { receiver, send, inbox } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler, { lane: "account" });
    const ids = Array.from({ length: 3_000 }, (_, index) => `m-${index}`);
    await send(emails(...ids));
    await send(emails("behind"));
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual([...ids, "behind"]);
    expect(inbox.stats()).toMatchObject({ unexpanded: 0, waiting: 0 });
  });
});

test("what found no room in the inbox is expanded as soon as jobs are done", async () => {
  const { receiver, send, inbox } = rig({ inbox: memoryInbox({ maxJobs: 500 }) });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler, { lane: "account", merge: false });
  const ids = Array.from({ length: 1_000 }, (_, index) => `m-${index}`);
  await send(emails(...ids));
  await send(emails("behind"));
  await receiver.start();
  await turns();
  expect(inbox.stats()).toMatchObject({ unexpanded: 1, running: 1, waiting: 999 });
  for (let ended = 0; ended < 1_001; ended += 1) {
    await until(() => calls.length > ended);
    calls[ended]?.end();
  }
  await receiver.idle();
  expect(calls.map(({ event }) => idOf(event))).toEqual([...ids, "behind"]);
});

describe("a delivery", () => {
  test("of 3,000 entries is stored unexpanded and expanded 1,000 a commit", async () => {
    const parts: number[][] = [];
    const inbox = stubInbox((own) => ({
      expand(expansions) {
        parts.push(expansions.map(({ events }) => events.length));
        return own.expand(expansions);
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails(...Array.from({ length: 3_000 }, (_, index) => `m-${index}`)));
    await receiver.idle();
    expect(seen).toHaveLength(3_000);
    expect(parts).toEqual([[1_000], [1_000], [1_000]]);
  });

  test("of 1,000 entries or fewer and its jobs are one commit, also when it is expanded later", async () => {
    const commits: (number | undefined)[][] = [];
    const inbox = stubInbox((own) => ({
      expand(expansions) {
        commits.push(expansions.map(({ cursor }) => cursor));
        return own.expand(expansions);
      },
    }));
    const { receiver, send } = rig({ inbox });
    receiver.on("email", () => {});
    for (const name of ["a", "b", "c"])
      await send(emails(...Array.from({ length: 600 }, (_, index) => `${name}-${index}`)));
    await receiver.start();
    await receiver.idle();
    expect(commits.flat()).toEqual([undefined, undefined, undefined]);
    expect(receiver.stats().succeeded).toBe(1_800);
  });

  test("that is no JSON is one unknown event", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("unknown", handler);
    await receiver.start();
    await send("not json");
    await turns();
    expect(calls.map(({ event }) => event)).toMatchObject([{ type: "unknown", reason: "not-json" }]);
  });

  test("of many kinds reaches each its handler", async () => {
    const { receiver, send } = rig();
    const names: string[] = [];
    receiver.on(["email", "email.signal", "tracking.open"], (event) => names.push(event.type));
    await receiver.start();
    await send(bodyOf({ payloads: [change("a", "created"), change("a", "moved"), change("b", "deleted")] }));
    await send(bodyOf({ payloads: [] }));
    await send(trackingBody(tracked(1)));
    await receiver.idle();
    expect(names.toSorted()).toEqual(["email.created", "email.deleted", "email.signal", "tracking.open"]);
    expect(receiver.stats().succeeded).toBe(4);
  });
});

describe("start()", () => {
  test("is idempotent", async () => {
    const { receiver } = rig();
    await Promise.all([receiver.start(), receiver.start()]);
    await receiver.start();
    expect(receiver.stats().role).toBe("working");
  });

  test.each([undefined, "", "  "])("refuses the secret %o", async (secret) => {
    const receiver = createReceiver({ secret, inbox: memoryInbox(), log: false });
    await expect(receiver.start()).rejects.toMatchObject({ code: "secret-missing" });
    expect(receiver.stats().role).toBe("receiving");
  });

  test("that failed may be tried again", async () => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      open(host) {
        if (broken) throw new Error("no volume");
        return own.open(host);
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await expect(receiver.start()).rejects.toThrow("no volume");
    broken = false;
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(seen).toEqual(["a"]);
  });

  test("on an inbox without a working half throws, naming `handle`", async () => {
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
    await expect(receiver.start()).rejects.toMatchObject({
      code: "inbox-cannot-work",
      fix: expect.stringContaining("receiver.handle"),
    });
    await receiver.close();
  });

  test("where another process is the worker stands by, and takes over at `begin`", async () => {
    const begin = deferred<() => void>();
    const inbox = stubInbox((own) => ({
      work: async (worker) => {
        await own.work({ ...worker, begin() {} });
        begin.resolve(() => worker.begin());
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    expect(receiver.stats().role).toBe("standby");
    await send(emails("a"));
    await receiver.idle();
    expect(seen).toEqual([]);
    (await begin.promise)();
    expect(receiver.stats().role).toBe("working");
    await receiver.idle();
    expect(seen).toEqual(["a"]);
  });
});

describe("idle()", () => {
  test("resolves at once where nothing works", async () => {
    const { receiver, send } = rig();
    await send(emails("a"));
    await receiver.idle();
    expect(receiver.stats().succeeded).toBe(0);
  });

  test("waits for what is being stored, and for what runs", async () => {
    const keeping = deferred();
    const inbox = stubInbox((own) => ({
      store: async (deliveries) => {
        await keeping.promise;
        return own.store(deliveries);
      },
    }));
    const { receiver, send } = rig({ inbox });
    const { last, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    void send(emails("a"));
    await turns();
    let idle = false;
    void receiver.idle().then(() => (idle = true));
    await turns();
    expect(idle).toBe(false);
    keeping.resolve();
    await turns();
    expect(idle).toBe(false);
    last().end();
    await turns();
    expect(idle).toBe(true);
  });

  test("does not wait for what is due later", async () => {
    const { receiver, send, pass } = rig();
    receiver.on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(receiver.stats()).toMatchObject({ failed: 1, retried: 1 });
    await pass(1_000);
    await receiver.idle();
    expect(receiver.stats().failed).toBe(2);
  });
});
