import { memoryInbox, StorageError } from "hookline";
import { describe, expect, test, vi } from "vitest";
import type { Delivery } from "../../src/inbox/port/delivery.ts";
import type { WritingInbox } from "../../src/inbox/port/inbox.ts";
import { createInFlightBytes } from "../../src/ingest/body-limits.ts";
import { createDeliveryStore } from "../../src/ingest/store.ts";
import { idleWatch } from "../support/standstill-watch.ts";
import type { Admitted } from "../../src/ingest/types.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { changes, expectBare, mounted, type Mounted } from "../support/mounted.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { failingInbox, stubInbox, unopenableInbox } from "../support/stub-inboxes.ts";

const MIB = 1024 * 1024;

/** Several deliveries in one turn of the loop, hence in one commit. */
function together({ receiver, signed }: Mounted, bodies: readonly string[]): Promise<readonly number[]> {
  const replies = bodies.map((body) =>
    receiver.receive({ method: "POST", url: "/", headers: signed(body), body: Buffer.from(body) }),
  );
  return Promise.all(replies.map(async (reply) => (await reply).status));
}

const textOf = ({ body }: Delivery): string => Buffer.from(body).toString();

test.each([undefined, null, 7])(
  "what an inbox stored is 200 although its lists of duplicates and conflicts are %s",
  async (list) => {
    const inbox = stubInbox((own) => ({
      store: async (given) =>
        (await own.store(given)).map((one) => Object.assign(one, { duplicates: list, conflicts: list }) as never),
    }));
    const { receiver, send, pass } = rig({ inbox });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    expect([seen, receiver.stats().stored]).toEqual([["a"], 1]);
  },
);

describe("what could not be stored is 503 and comes again:", () => {
  test.each<[string, unknown]>([
    ["an error", new Error("the disk is gone")],
    ["an error with a status of 422", Object.assign(new Error("no"), { status: 422, statusCode: 422 })],
    ["an error with a status of 200", Object.assign(new Error("no"), { status: 200 })],
    ["a storage error of a code of its own", new StorageError("corrupt", "The file is corrupt.")],
    ["nothing at all", null],
  ])("an inbox whose store rejects with %s", async (_, error) => {
    const { deliver, receiver, log } = await mounted({ inbox: failingInbox(error) });
    expectBare(await deliver(), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { "storage-failed": 1 } });
    expect(log.of("storage-failed")).toMatchObject([{ level: "error", facts: { fix: expect.any(String) } }]);
  });

  test("an inbox whose store throws before it gives a promise", async () => {
    const inbox = stubInbox(() => ({
      store: () => {
        throw new Error("the disk is gone");
      },
    }));
    const { deliver } = await mounted({ inbox });
    expectBare(await deliver(), 503, "retry-after");
  });

  test.each<[string, unknown]>([
    ["too few results", []],
    ["an error that is not of our class", [new Error("the disk is gone")]],
    ["nothing", [undefined]],
    ["null", [null]],
    ["a truth value", [true]],
    ["something without an id", [{ expanded: false, duplicates: [], conflicts: [] }]],
    ["no list", undefined],
  ])("an inbox whose store breaks its contract, and gives %s", async (_, results) => {
    const { deliver, receiver } = await mounted({ inbox: stubInbox(() => ({ store: async () => results as never })) });
    expectBare(await deliver(), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { "storage-failed": 1 } });
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a truth value", true],
    ["an error that has an id, as another copy of this package could make it", Object.assign(new Error(), { id: "d" })],
    ["something without an id", { expanded: false, duplicates: [], conflicts: [] }],
  ])("one delivery of a commit for which the inbox gives %s; the other one is stored", async (_, result) => {
    const inbox = stubInbox((own) => ({
      store: async (all) => [...(await own.store(all.slice(0, 1))), result as never],
    }));
    const own = await mounted({ inbox });
    expect(await together(own, ["{}", "[]"])).toEqual([200, 503]);
    expect(own.receiver.stats()).toMatchObject({ stored: 1, refused: { "storage-failed": 1 } });
  });

  test.each([[0], [1], [3]])(
    "one delivery of a commit that the inbox rejects because of it; the others are stored: %d",
    async (bad) => {
      const texts = ['{"a":0}', '{"a":1}', '{"a":2}', '{"a":3}'];
      const stored: string[] = [];
      const inbox = stubInbox((own) => ({
        async store(all) {
          if (all.some(({ delivery }) => textOf(delivery) === texts[bad])) throw new Error("22021");
          stored.push(...all.map(({ delivery }) => textOf(delivery)));
          return own.store(all);
        },
      }));
      const statuses = await together(await mounted({ inbox }), texts);
      expect(statuses).toEqual(texts.map((_, index) => (index === bad ? 503 : 200)));
      expect(stored).toEqual(texts.filter((_, index) => index !== bad));
    },
  );

  test("all of a commit that the inbox rejects, and it is not asked for each of them", async () => {
    let calls = 0;
    const inbox = stubInbox(() => ({ store: () => ((calls += 1), Promise.reject(new Error("the disk is gone"))) }));
    const texts = Array.from({ length: 50 }, (_, nth) => `{"a":${nth}}`);
    expect(new Set(await together(await mounted({ inbox }), texts))).toEqual(new Set([503]));
    expect(calls).toBe(3);
  });

  test("more than `maxInFlightBytes` waiting for a slow disk, until it has caught up", async () => {
    const disk = deferred();
    const inbox = stubInbox((own) => ({
      store: async (all) => {
        await disk.promise;
        return own.store(all);
      },
    }));
    const own = await mounted({ inbox, maxInFlightBytes: 100 });
    const first = together(own, ["x".repeat(60), "x".repeat(40)]);
    expect(await together(own, ["x"])).toEqual([503]);
    disk.resolve();
    expect(await first).toEqual([200, 200]);
    expect(await together(own, ["x".repeat(100)])).toEqual([200]);
    expect(own.receiver.stats()).toMatchObject({ stored: 3, refused: { "intake-full": 1 } });
  });

  test("a commit of which one delivery failed stores the others", async () => {
    const inbox = stubInbox((own) => ({
      store: async (all) => {
        const failed = new StorageError("storage-failed", "A bad page.");
        const good = all.filter(({ delivery }) => !textOf(delivery).includes("poison"));
        const stored = [...(await own.store(good))];
        return all.map((one) => (good.includes(one) ? (stored.shift() ?? failed) : failed));
      },
    }));
    const seen: number[] = [];
    const own = await mounted({
      inbox,
      prepare: (receiver) => void receiver.on("email", (event) => void seen.push(event.accountId)),
    });
    await own.receiver.start();
    const bodies = [1, 2, 3, 4].map((accountId) =>
      changes({ accountId, ...(accountId === 2 ? { resource: "/email/messages?poison" } : {}) }),
    );
    expect(await together(own, bodies)).toEqual([200, 503, 200, 200]);
    await own.receiver.idle();
    expect(new Set(seen)).toEqual(new Set([1, 3, 4]));
    expect(own.receiver.stats()).toMatchObject({ stored: 3, refused: { "storage-failed": 1 } });
  });

  test("a commit that failed as a whole refuses all of its deliveries, and the next one succeeds", async () => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      store: (all) => (broken ? Promise.reject(new Error("the disk is gone")) : own.store(all)),
    }));
    const own = await mounted({ inbox });
    expect(await together(own, ["{}", "[]", "null"])).toEqual([503, 503, 503]);
    broken = false;
    expect(await together(own, ["{}", "[]", "null"])).toEqual([200, 200, 200]);
  });

  test("a memory inbox that is full, until there is room again", async () => {
    let release = (): void => {};
    const { deliver, receiver, log } = await mounted({
      inbox: memoryInbox({ maxJobs: 2 }),
      prepare: (own) =>
        void own.on("email", () => new Promise<void>((resolve) => (release = resolve)), { lane: "none" }),
    });
    await receiver.start();
    expectBare(await deliver(changes({ accountId: 1 })), 200);
    expectBare(await deliver(changes({ accountId: 2 })), 200);
    expectBare(await deliver(changes({ accountId: 3 })), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ stored: 2, refused: { "inbox-full": 1 } });
    expect(log.of("inbox-full")).toMatchObject([{ level: "error", facts: { status: 503 } }]);
    release();
    await eventually(async () => expectBare(await deliver(changes({ accountId: 4 })), 200));
  });

  test("a memory inbox that has no room for these bytes, but for fewer", async () => {
    const { deliver } = await mounted({ inbox: memoryInbox({ maxBytes: 500 }) });
    expectBare(await deliver("x".repeat(400)), 200);
    expectBare(await deliver("x".repeat(101)), 503, "retry-after");
    expectBare(await deliver("x".repeat(100)), 200);
  });
});

describe("storage that is slower than `storeTimeoutMs`", () => {
  async function slow() {
    const clock = fakeClock();
    const commits: { readonly bodies: readonly string[]; readonly end: () => void }[] = [];
    const inbox = stubInbox((own) => ({
      store: async (all) => {
        const stored = await own.store(all);
        await new Promise<void>((end) => commits.push({ bodies: all.map(({ delivery }) => textOf(delivery)), end }));
        return stored;
      },
    }));
    const seen: number[] = [];
    const own = await mounted({
      clock,
      inbox,
      storeTimeoutMs: 1_000,
      prepare: (receiver) => void receiver.on("email", (event) => void seen.push(event.accountId)),
    });
    return { ...own, clock, commits, seen };
  }

  test("is 503, and that it was stored after all is harmless: it is handled, and so is its redelivery", async () => {
    const { deliver, receiver, clock, commits, seen } = await slow();
    await receiver.start();
    const first = deliver();
    await eventually(() => expect(commits).toHaveLength(1));
    await clock.advance(999);
    expect(receiver.stats().answered).toEqual({});
    await clock.advance(1);
    expectBare(await first, 503, "retry-after");
    expect(receiver.stats().refused).toEqual({ "storage-late": 1 });
    commits[0]?.end();
    await receiver.idle();
    const again = deliver();
    await eventually(() => expect(commits).toHaveLength(2));
    commits[1]?.end();
    expectBare(await again, 200);
    await receiver.idle();
    expect(seen).toEqual([2002, 2002]);
    expect(receiver.stats().answered).toEqual({ 200: 1, 503: 1 });
  });

  test("is not given what was late before its turn came: that is redelivered", async () => {
    const own = await slow();
    const first = own.deliver("first delivery");
    await eventually(() => expect(own.commits).toHaveLength(1));
    const second = together(own, ["second", "third"]);
    await eventually(() => expect(own.receiver.stats().secrets).toMatchObject([{ uses: 3 }]));
    await own.clock.advance(1_000);
    expect(await second).toEqual([503, 503]);
    expectBare(await first, 503, "retry-after");
    own.commits[0]?.end();
    const fourth = own.deliver("fourth delivery");
    await eventually(() => expect(own.commits).toHaveLength(2));
    own.commits[1]?.end();
    expectBare(await fourth, 200);
    expect(own.commits.flatMap(({ bodies }) => bodies)).toEqual(["first delivery", "fourth delivery"]);
  });

  test("counts each delivery's time from its own coming", async () => {
    const own = await slow();
    const first = own.deliver("first delivery");
    await eventually(() => expect(own.commits).toHaveLength(1));
    await own.clock.advance(600);
    const second = together(own, ["second"]);
    await eventually(() => expect(own.receiver.stats().secrets).toMatchObject([{ uses: 2 }]));
    await own.clock.advance(400);
    expectBare(await first, 503, "retry-after");
    own.commits[0]?.end();
    await eventually(() => expect(own.commits).toHaveLength(2));
    own.commits[1]?.end();
    expect(await second).toEqual([200]);
  });
});

test("deliveries that come at once share commits of 4 MiB at most: a giant one does not delay the others", async () => {
  const sizes: number[] = [];
  const inbox = stubInbox((own) => ({
    store: (all) => {
      sizes.push(all.length);
      return own.store(all);
    },
  }));
  const own = await mounted({ inbox, maxBodyBytes: 3 * MIB, maxInFlightBytes: 12 * MIB });
  expect(await together(own, ["x".repeat(3 * MIB), "x".repeat(2 * MIB), "{}"])).toEqual([200, 200, 200]);
  expect(sizes).toEqual([1, 2]);
});

describe("where requests must not wait for each other's storage", () => {
  const LIMIT_MS = 1_000;

  /** Each commit waits until the test ends it. */
  function isolated({ maxInFlightBytes = MIB } = {}) {
    const clock = fakeClock();
    const commits: { readonly size: number; end(): void; fail(error: unknown): void }[] = [];
    const inbox = stubInbox(() => ({
      store: async (all) => {
        const { promise, resolve, reject } = deferred();
        commits.push({ size: all.length, end: resolve, fail: reject });
        await promise;
        return all.map(() => ({ id: "d-1", expanded: false, duplicates: [], conflicts: [] }));
      },
    })) as WritingInbox;
    const store = createDeliveryStore({
      watch: idleWatch(),
      inbox,
      inFlightBytes: createInFlightBytes(maxInFlightBytes),
      timeoutMs: LIMIT_MS,
      clock,
      expand: (batch) => batch.map(() => undefined),
      expanding: () => undefined,
      stored: () => {},
      committed: () => {},
      isolateRequests: true,
      instruments: {},
    });
    const put = (body = "{}") => watch(store.store({ delivery: makeDelivery(body) } as Admitted));
    return { store, clock, commits, put };
  }

  test("each delivery has a commit of its own, and one that hangs holds up no other", async () => {
    const { commits, put } = isolated();
    const [hung, good] = [put(), put()];
    await turns();
    expect(commits.map(({ size }) => size)).toEqual([1, 1]);
    commits[1]?.end();
    await turns();
    expect(hung.ended).toBe(false);
    expect(good.value).toMatchObject({ id: "d-1" });
  });

  test("one that failed is refused with its error", async () => {
    const { commits, put } = isolated();
    const failed = put();
    const error = new StorageError("inbox-full", "Full.");
    commits[0]?.fail(error);
    await turns();
    expect(failed.value).toMatchObject({ code: "inbox-full", cause: error });
  });

  test("one that is late is refused, and its bytes are released", async () => {
    const { clock, commits, put } = isolated({ maxInFlightBytes: 2 });
    const late = put();
    const tooMuch = put("x");
    await turns();
    expect(tooMuch.value).toMatchObject({ code: "intake-full" });
    expect(commits).toHaveLength(1);
    await clock.advance(LIMIT_MS - 1);
    expect(late.ended).toBe(false);
    await clock.advance(1);
    expect(late.value).toMatchObject({ code: "storage-late" });
    put();
    expect(commits).toHaveLength(2);
  });

  test("a close waits for all commits that run, late ones too, and for none that ended", async () => {
    const { clock, commits, put, store } = isolated();
    for (const _ of [1, 2, 3]) put();
    commits[0]?.end();
    await clock.advance(LIMIT_MS);
    const drained = watch(store.drained());
    commits[1]?.end();
    await turns();
    expect(drained.ended).toBe(false);
    commits[2]?.fail(new Error("no"));
    await turns();
    expect(drained.ended).toBe(true);
  });
});

describe("the inbox is opened", () => {
  test("by the first delivery, once for all that come at once, and not by what is refused before", async () => {
    const open = vi.fn();
    const inbox = stubInbox((own) => ({
      open: async (host) => {
        open(host.name, host.dedupeWindowMs);
        await new Promise((resolve) => setImmediate(resolve));
        return own.open(host);
      },
    }));
    const own = await mounted({ inbox, name: "mails", maxAgeSeconds: 86_400, dedupe: { windowSeconds: 200_000 } });
    await own.deliver(changes(), { secret: "another secret" });
    await own.deliver("", { target: "/?validationToken=t" });
    expect(open).not.toHaveBeenCalled();
    expect(await together(own, ["{}", "[]", "null"])).toEqual([200, 200, 200]);
    await own.receiver.start();
    expect(open.mock.calls).toEqual([["mails", 200_000_000]]);
  });

  test("again after it failed", async () => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      open: (host) => (broken ? Promise.reject(new Error("no such volume")) : own.open(host)),
    }));
    const { deliver, receiver } = await mounted({ inbox });
    expectBare(await deliver(), 503, "retry-after");
    await expect(receiver.start()).rejects.toThrow("no such volume");
    expectBare(await deliver(), 503, "retry-after");
    broken = false;
    expectBare(await deliver(), 200);
    await receiver.start();
    expect(receiver.stats()).toMatchObject({ role: "working", stored: 1, refused: { "storage-failed": 2 } });
  });

  test("for no longer than `storeTimeoutMs` while a delivery waits", async () => {
    const clock = fakeClock();
    let open = (): void => {};
    const opening = new Promise<void>((resolve) => (open = resolve));
    const inbox = stubInbox((own) => ({ open: (host) => opening.then(() => own.open(host)) }));
    const { deliver, receiver } = await mounted({ clock, inbox, storeTimeoutMs: 700 });
    const answer = deliver();
    await eventually(() => expect(receiver.stats().secrets).toHaveLength(1));
    await eventually(() => expect(clock.waiting).toBe(1));
    await clock.advance(700);
    expectBare(await answer, 503, "retry-after");
    expect(receiver.stats().refused).toEqual({ "storage-late": 1 });
    open();
    await eventually(async () => expectBare(await deliver(), 200));
  });

  test.each<[string, unknown]>([
    ["inbox-full", new StorageError("inbox-full", "Full.")],
    ["storage-failed", new Error("no such volume")],
  ])("or it is said why not (%s)", async (code, error) => {
    const { deliver, receiver } = await mounted({ inbox: unopenableInbox(error) });
    expectBare(await deliver(), 503, "retry-after");
    expect(receiver.stats().refused).toEqual({ [code]: 1 });
  });
});
