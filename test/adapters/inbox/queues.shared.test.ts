import { createReceiver, forwardInbox, memoryInbox, type SeenStore, type StoredDelivery } from "hookline";
import type { WritingInbox } from "hookline/adapter";
import { describe, expect, onTestFinished, test } from "vitest";
import { createConsume, type ConsumerOptions } from "../../../adapters/inbox/queues/consume.ts";
import { groupKeyOf } from "../../../adapters/inbox/queues/group-key.ts";
import { createQueueInbox, type QueueInboxOptions } from "../../../adapters/inbox/queues/queue-inbox.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { bodyOf, change, makeDelivery, signedRequest } from "../../support/make-delivery.ts";

const SECRET = "a signing secret";
const KIB = 1_024;

/** Bodies of some lengths, and the batches that the queue got, each by its bodies' lengths. */
async function sent(lengths: readonly number[], options: Partial<QueueInboxOptions> = {}) {
  const batches: number[][] = [];
  const inbox = createQueueInbox({
    limits: { messages: 3, batchBytes: 40 * KIB, messageBytes: 40 * KIB },
    async send(deliveries) {
      batches.push(deliveries.map(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").length));
    },
    ...options,
  }) as WritingInbox;
  const results = await inbox.store(
    lengths.map((length) => ({ delivery: makeDelivery("x".repeat(length)), events: undefined })),
  );
  return { batches, results };
}

const bytesOf = (delivery: StoredDelivery): number => Buffer.byteLength(JSON.stringify(delivery));

describe("deliveries as messages", () => {
  test("fill a batch to its last byte of JSON", async () => {
    let both = 0;
    await sent([1_000, 2_000], {
      send: async (deliveries) => void (both = deliveries.reduce((sum, one) => sum + bytesOf(one), 0)),
    });
    const limits = (batchBytes: number) => ({ limits: { messages: 3, batchBytes, messageBytes: 40 * KIB } });
    expect((await sent([1_000, 2_000], limits(both))).batches).toEqual([[1_000, 2_000]]);
    expect((await sent([1_000, 2_000], limits(both - 1))).batches).toEqual([[1_000], [2_000]]);
  });

  test("go in batches of as many as the queue takes, in order", async () => {
    expect((await sent([1, 2, 3, 4, 5, 6, 7])).batches).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  });

  test("go in batches of as many bytes as the queue takes", async () => {
    expect((await sent([18 * KIB, 9 * KIB, 9 * KIB, 1])).batches).toEqual([
      [18 * KIB, 9 * KIB],
      [9 * KIB, 1],
    ]);
  });

  test("that are longer than a batch go alone, for the queue to refuse", async () => {
    expect((await sent([1, 50 * KIB, 2])).batches).toEqual([[1], [50 * KIB], [2]]);
  });

  test("of a batch that is rejected, also in parts, are not stored; those of the next one are", async () => {
    const { results } = await sent([1, 2, 3, 4], {
      send: async (messages) => {
        if (messages.some(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").length < 4))
          throw new Error("throttled");
      },
    });
    expect(results.map((one) => one instanceof Error)).toEqual([true, true, true, false]);
  });

  test("of which one is the cause that its batch is rejected are stored, but for that one", async () => {
    const { results } = await sent([1, 2, 3, 4], {
      send: async (messages) => {
        if (messages.some(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").length === 3)) throw new Error("no");
      },
    });
    expect(results.map((one) => one instanceof Error)).toEqual([false, false, true, false]);
  });

  test("of which the queue refuses one are stored, but for that one", async () => {
    const { results } = await sent([1, 2, 3, 4], {
      send: (messages) =>
        Promise.allSettled(messages.map(async (_, place) => (place === 1 ? Promise.reject(new Error("no")) : "ok"))),
    });
    expect(results.map((one) => one instanceof Error)).toEqual([false, true, false, false]);
  });

  test("of a batch with too few results are not stored for certain, nor are any others", async () => {
    const { results } = await sent([1, 2], { send: async () => [] });
    expect(results).toMatchObject([{ code: "forward-results" }, { code: "forward-results" }]);
  });

  test("go one batch after the other, or as many at once as may", async () => {
    for (const batchesAtOnce of [1, 2]) {
      let [running, most] = [0, 0];
      await sent([1, 2, 3, 4, 5, 6, 7, 8, 9], {
        batchesAtOnce,
        async send() {
          most = Math.max(most, (running += 1));
          await Promise.resolve();
          running -= 1;
        },
      });
      expect(most).toBe(batchesAtOnce);
    }
  });
});

describe("the longest body", () => {
  const inbox = createQueueInbox({
    limits: { messages: 10, batchBytes: 256 * KIB, messageBytes: 256 * KIB },
    send: async (deliveries) => {
      for (const delivery of deliveries) if (bytesOf(delivery) > 256 * KIB) throw new Error("too long");
    },
  });

  test("is what a message holds, unless a receiver says less", async () => {
    const receiver = createReceiver({ secret: SECRET, inbox, log: false });
    onTestFinished(async () => void (await receiver.close()));
    const longest = inbox.maxBodyBytes ?? 0;
    expect(longest).toBeGreaterThan(185 * KIB);
    const answers = [longest, longest + 1].map((length) =>
      receiver.receive(signedRequest("x".repeat(length), { secret: SECRET, at: new Date() })),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 413]);
  });

  test("cannot be more than a message holds: the receiver says so at once", () => {
    expect(() => createReceiver({ secret: SECRET, inbox, maxBodyBytes: 1_048_576, log: false })).toThrow(
      expect.objectContaining({ code: "option-invalid", message: expect.stringContaining("1048576") as string }),
    );
    expect(() => createReceiver({ secret: SECRET, inbox, maxBodyBytes: 1_000, log: false })).not.toThrow();
  });

  test("is the receiver's own where a message has no limit", () => {
    const free = createQueueInbox({
      limits: { messages: 10, batchBytes: Infinity, messageBytes: Infinity },
      send: async () => {},
    });
    expect(free.maxBodyBytes).toBeUndefined();
  });
});

describe("what consumes messages", () => {
  async function forwarded(...ids: readonly string[]): Promise<StoredDelivery[]> {
    const queue: StoredDelivery[] = [];
    const front = createReceiver({
      secret: SECRET,
      inbox: forwardInbox(async (deliveries) => void queue.push(...deliveries)),
      log: false,
    });
    for (const id of ids) {
      const payloads = id.split(" ").map((one) => change(one));
      await front.receive(signedRequest(bodyOf({ payloads }), { secret: SECRET, at: new Date() }));
    }
    await front.close();
    return JSON.parse(JSON.stringify(queue)) as StoredDelivery[];
  }

  function consumer(own: boolean, options?: ConsumerOptions) {
    const inbox = own ? memoryInbox() : forwardInbox(async () => {});
    const receiver = createReceiver({ secret: SECRET, inbox, log: false });
    onTestFinished(async () => void (await receiver.close()));
    const seen: string[] = [];
    receiver.on("email", ({ id }) => {
      if (id === "bad") throw new Error("no");
      seen.push(id);
    });
    return { receiver, seen, consume: createConsume("queueConsumer", receiver, options) };
  }

  test("stores them in a receiver's own inbox, else runs the handlers", async () => {
    const stores = consumer(true);
    expect(await stores.consume(await forwarded("a", "bad"))).toEqual([{ to: "acknowledge" }, { to: "acknowledge" }]);
    expect([stores.receiver.stats().stored, stores.seen]).toEqual([2, []]);
    const handles = consumer(false);
    expect(await handles.consume(await forwarded("a", "bad"))).toMatchObject([
      { to: "acknowledge" },
      { to: "retry", error: { code: "handle-failed" } },
    ]);
    expect(handles.seen).toEqual(["a"]);
  });

  test("runs the handlers of a receiver with an inbox of its own where it is told to", async () => {
    const { seen, consume, receiver } = consumer(true, { by: "handle" });
    expect(await consume(await forwarded("a"))).toEqual([{ to: "acknowledge" }]);
    expect([receiver.stats().stored, seen]).toEqual([0, ["a"]]);
  });

  test("with a store of what was handled, a failed delivery runs only what failed again", async () => {
    const states = new Map<string, "busy" | "done">();
    const store: SeenStore = {
      async claim(key) {
        const known = states.get(key);
        if (known === undefined) states.set(key, "busy");
        return known ?? "mine";
      },
      async settle(key, how) {
        if (how === "done") states.set(key, "done");
        else states.delete(key);
      },
    };
    const { seen, consume } = consumer(false, { seen: store, keepMs: 60_000 });
    const messages = await forwarded("a bad");
    expect(await consume(messages)).toMatchObject([{ to: "retry" }]);
    expect(await consume(messages)).toMatchObject([{ to: "retry" }]);
    expect(seen).toEqual(["a"]);
    expect(() => consumer(true, { seen: store })).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });

  test.each([true, false])("dead-letters what no retry helps, with an inbox of its own: %s", async (own) => {
    const { consume } = consumer(own);
    const [one] = await forwarded("a");
    const forged = { ...one, bodyBase64: Buffer.from("{}").toString("base64") };
    const consumed = await consume([undefined, "text", {}, ...(own ? [forged] : [])]);
    for (const each of consumed) expect(each.to).toBe("dead-letter");
  });

  test("retries all of them once the receiver is closing", async () => {
    const { consume, receiver } = consumer(true);
    const queue = await forwarded("a", "b");
    await receiver.close();
    expect(await consume(queue)).toMatchObject([{ to: "retry" }, { to: "retry" }]);
  });

  test("refuses options that cannot be", () => {
    const fails = (own: boolean, options: object) => () => consumer(own, options);
    expect(fails(true, { by: "both" })).toThrow('got by "both", expected');
    expect(fails(true, { via: "accept" })).toThrow(expect.objectContaining({ code: "option-invalid" }));
    expect(fails(false, { by: "accept" })).toThrow(expect.objectContaining({ code: "accept-forwards" }));
    expect(() => createConsume("queueConsumer", {} as never)).toThrow(
      expect.objectContaining({ code: "receiver-invalid" }),
    );
  });
});

test("the group of a delivery is its account or its subscription; one for all that have none", () => {
  const stored = (body: Uint8Array) => ({ bodyBase64: Buffer.from(body).toString("base64") }) as StoredDelivery;
  const { body } = mail(["a"], { accountId: 7, subscription: 3 }).delivery;
  expect([groupKeyOf(stored(body), "account"), groupKeyOf(stored(body), "subscription")]).toEqual([
    "account-7",
    "subscription-3",
  ]);
  expect(groupKeyOf(stored(Buffer.from("not json")), "account")).toBe("none");
});
