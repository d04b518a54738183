import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { fromStored, toStored, type StoredDelivery, type StoreResult } from "../../src/inbox/port/delivery.ts";
import { asWorking, asWriting } from "../../src/inbox/port/inbox.ts";
import { mail } from "../suites/inbox/deliveries.ts";
import { bodyOf, makeDelivery, signedRequest } from "../support/make-delivery.ts";

const SECRET = "a signing secret";

describe("an inbox by its halves:", () => {
  test("memoryInbox has both, forwardInbox the writing one alone", () => {
    expect(asWorking(asWriting(memoryInbox()))).toBeDefined();
    expect(asWorking(asWriting(forwardInbox(async () => {})))).toBeUndefined();
  });

  test.each([undefined, null, {}, { storage: "memory" }, { store: () => {} }])(
    "%o is none, and createReceiver says so",
    (inbox) => {
      const make = () => createReceiver({ secret: "s", inbox: inbox as never, log: false });
      expect(make).toThrow(expect.objectContaining({ name: "UsageError", code: "inbox-invalid" }) as Error);
    },
  );
});

describe("forwardInbox", () => {
  test("refuses what is no function", () => {
    expect(() => forwardInbox("queue" as never)).toThrow(/expected a function/);
  });

  test("hands all deliveries of a commit to the queue in one call, in order, each with an id of its own", async () => {
    const calls: (readonly { readonly id: string; readonly bodyBase64: string }[])[] = [];
    const inbox = asWriting(forwardInbox(async (deliveries) => void calls.push(deliveries)));
    const [one, other] = [mail(["a"]), { delivery: makeDelivery("not json"), events: undefined }];
    const stored = await inbox.store([one, other]);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.map(({ id }) => id)).toEqual(stored.map((each) => (each as StoreResult).id));
    expect(calls[0]?.map(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").toString())).toEqual([
      Buffer.from(one.delivery.body).toString(),
      "not json",
    ]);
    expect(stored).toMatchObject([{ expanded: false }, { expanded: false }]);
  });

  test("whose function takes the deliveries out of its list answers each of them all the same", async () => {
    const queued: string[] = [];
    const inbox = asWriting(
      forwardInbox(async (deliveries) => {
        const list = deliveries as StoredDelivery[];
        while (list.length > 0) {
          const [first] = list.splice(0, 2);
          if (first?.bodyBase64 === Buffer.from("bad").toString("base64")) throw new Error("throttled");
          queued.push(first?.bodyBase64 ?? "");
        }
      }),
    );
    const given = (...texts: string[]) => texts.map((text) => ({ delivery: makeDelivery(text), events: undefined }));
    const isStored = (results: Awaited<ReturnType<typeof inbox.store>>) => results.map((one) => "id" in one);
    expect(isStored(await inbox.store(given("a", "b", "c")))).toEqual([true, true, true]);
    expect(isStored(await inbox.store(given("a", "b", "bad")))).toEqual([true, true, false]);
  });

  test.each([
    ["rejects", () => Promise.reject(new Error("throttled"))],
    [
      "throws",
      () => {
        throw new Error("throttled");
      },
    ],
  ])("whose queue %s keeps none of them for certain", async (_, store) => {
    const inbox = asWriting(forwardInbox(store as () => Promise<void>));
    const stored = await inbox.store([mail(["a"]), mail(["b"])]);
    expect(stored).toHaveLength(2);
    for (const one of stored) expect(one).toMatchObject({ code: "storage-failed", cause: { message: "throttled" } });
  });

  test("answers each delivery as its queue does, where that gives a settled result for each", async () => {
    const inbox = asWriting(
      forwardInbox((deliveries) =>
        Promise.allSettled(
          deliveries.map(async (_, place) => (place === 1 ? Promise.reject(new Error("full")) : place)),
        ),
      ),
    );
    expect(await inbox.store([mail(["a"]), mail(["b"]), mail(["c"])])).toMatchObject([
      { expanded: false },
      { name: "StorageError", code: "storage-failed", cause: { message: "full" } },
      { expanded: false },
    ]);
  });

  /** A queue that takes no call in which one of these is, and the sizes of its calls. */
  function refusing(...bodies: readonly string[]) {
    const calls: number[] = [];
    const taken: string[] = [];
    const inbox = asWriting(
      forwardInbox(async (deliveries) => {
        calls.push(deliveries.length);
        const texts = deliveries.map(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").toString());
        if (texts.some((text) => bodies.includes(text))) throw new Error("one of them is refused");
        taken.push(...texts);
      }),
    );
    const store = (...texts: readonly string[]) =>
      inbox.store(texts.map((text) => ({ delivery: makeDelivery(text), events: undefined })));
    return { store, calls, taken };
  }

  test("one delivery that the queue refuses keeps none of its neighbours out", async () => {
    const texts = Array.from({ length: 500 }, (_, place) => `delivery ${place}`);
    const { store, calls, taken } = refusing("delivery 1", "delivery 321");
    const results = await store(...texts);
    const refused = results.flatMap((one, place) => (one instanceof Error ? place : []));
    expect(refused).toEqual([1, 321]);
    expect(taken).toEqual(texts.filter((_, place) => !refused.includes(place)));
    expect(calls.length).toBeLessThan(30);
  });

  test("two that it refuses for one reason keep those out that it refused for another", async () => {
    const reasons = [new Error("too long"), new Error("busy")];
    const store = async (given: readonly StoredDelivery[]) =>
      given.map(({ bodyBase64 }, place): PromiseSettledResult<unknown> => {
        const isLong = Buffer.from(bodyBase64, "base64").toString().startsWith("long");
        if (!isLong && given.length === 1) return { status: "fulfilled", value: undefined };
        return { status: "rejected", reason: reasons[isLong ? 0 : 1] ?? place };
      });
    const inbox = asWriting(forwardInbox(store));
    const texts = ["long 1", "long 2", "a", "b"];
    const results = await inbox.store(texts.map((text) => ({ delivery: makeDelivery(text), events: undefined })));
    expect(results.map((one) => one instanceof Error)).toEqual([true, true, false, false]);
  });

  test("a queue that refuses all is asked for three parts at most", async () => {
    const texts = Array.from({ length: 500 }, (_, place) => `delivery ${place}`);
    const { store, calls } = refusing(...texts);
    const results = await store(...texts);
    expect(results.every((one) => one instanceof Error)).toBe(true);
    expect(calls).toEqual([500, 1, 1]);
  });

  const done = { status: "fulfilled", value: undefined };
  test.each<[string, unknown, string]>([
    ["fewer results than deliveries", [done], "1 results for 2 deliveries"],
    ["more results than deliveries", [done, done, done], "3 results for 2 deliveries"],
    ["no results", [], "0 results for 2 deliveries"],
    ["a result that is not settled", [done, "ok"], "a text as result 1 for 2 deliveries"],
    ["a result that is nothing", [null, done], "null as result 0 for 2 deliveries"],
    ["something else", { Successful: [] }, "an object for 2 deliveries"],
  ])("with %s is certain of none", async (_, results, got) => {
    const inbox = asWriting(forwardInbox((async () => results) as never));
    const stored = await inbox.store([mail(["a"]), mail(["b"])]);
    const error = {
      code: "forward-results",
      message: expect.stringContaining(got),
      fix: expect.stringContaining("allSettled"),
    };
    expect(stored).toMatchObject([error, error]);
  });

  test("whose answer is certain of nothing gets 503 for all, and a problem", async () => {
    const inbox = forwardInbox(async () => []);
    const receiver = createReceiver({ secret: SECRET, inbox, log: false });
    const answer = await receiver.receive(signedRequest(bodyOf(), { secret: SECRET, at: new Date() }));
    expect(answer.status).toBe(503);
    expect(await receiver.health()).toMatchObject({
      problems: [{ code: "forward-results", fix: expect.stringContaining("allSettled") }],
    });
    await receiver.close();
  });

  test("keeps no tombstones: unsubscribing on it rejects, and names `unsubscribeWhen`", async () => {
    const { tombstones } = asWriting(forwardInbox(async () => {}));
    expect([tombstones.isEmpty, tombstones.find(1, undefined), await tombstones.list()]).toEqual([true, undefined, []]);
    const refusal = { code: "no-tombstones", fix: expect.stringContaining("unsubscribeWhen") };
    await expect(tombstones.put({ subscription: 1, source: undefined, reason: "gone" })).rejects.toMatchObject(refusal);
    await expect(tombstones.lift(1, undefined)).rejects.toMatchObject(refusal);
  });

  test("outlives what its queue does: network unless it is told otherwise", () => {
    expect([forwardInbox(async () => {}).storage, forwardInbox(async () => {}, { storage: "disk" }).storage]).toEqual([
      "network",
      "disk",
    ]);
  });
});

describe("a stored delivery", () => {
  const HEADER = "x-aurinko-signature";

  test("of a source with NUL is refused, as a mount refuses it", () => {
    const stored = { ...toStored("d-1", makeDelivery("")), source: "a\0b" };
    expect(() => fromStored(stored, HEADER, "accept")).toThrow(/with NUL or half of a surrogate pair as its `source`/u);
  });

  test("of the source null, as some queues have it, is of none", () => {
    const stored = { ...toStored("d-1", makeDelivery("")), source: null as unknown as string };
    expect(fromStored(stored, HEADER, "accept").source).toBeUndefined();
  });

  test.each([undefined, "tenant-a"])("as JSON is the same delivery again, of the source %s", (source) => {
    const body = Buffer.from([0, 0xff, 0x7b, 0x0d]);
    // In the middle of a buffer, as a body in a pool is.
    const delivery = makeDelivery("", { source, body: Buffer.concat([Buffer.from("--"), body]).subarray(2) });
    const stored = JSON.parse(JSON.stringify(toStored("d-1", delivery))) as StoredDelivery;
    expect("source" in stored).toBe(source !== undefined);
    expect(fromStored(stored, HEADER, "handle")).toEqual({ ...delivery, id: "d-1", body });
  });

  test("shares no headers with the delivery", () => {
    const delivery = makeDelivery();
    expect(toStored("d-1", delivery).headers).toEqual(delivery.headers);
    expect(toStored("d-1", delivery).headers).not.toBe(delivery.headers);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["an empty object", {}],
    ["one without an id", { ...toStored("d-1", makeDelivery()), id: undefined }],
    ["one without its body", { ...toStored("d-1", makeDelivery()), bodyBase64: undefined }],
    ["one without headers", { ...toStored("d-1", makeDelivery()), headers: undefined }],
    ["one without its signature", { ...toStored("d-1", makeDelivery()), headers: {} }],
    ["one without a time", { ...toStored("d-1", makeDelivery()), receivedAt: undefined }],
    ["one with a time that is none", { ...toStored("d-1", makeDelivery()), sentAt: "soon" }],
  ])("is refused, with what to pass, where it is %s", (_, stored) => {
    expect(() => fromStored(stored as StoredDelivery, HEADER, "handle")).toThrow(
      expect.objectContaining({
        name: "UsageError",
        code: "delivery-invalid",
        fix: expect.stringContaining("forwardInbox") as string,
      }),
    );
  });
});
