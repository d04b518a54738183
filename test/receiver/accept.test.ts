import { createReceiver, forwardInbox, memoryInbox, type Receiver, type StoredDelivery } from "hookline";
import { StorageError, type WorkingInbox } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { emails, rig } from "../support/rig.ts";

const SECRET = "a signing secret";
const DAY_MS = 86_400_000;

/** What a receiver in front hands to its queue. */
async function forwarded(clock: FakeClock, bodies: readonly string[], source?: string): Promise<StoredDelivery[]> {
  const queue: StoredDelivery[] = [];
  const inbox = forwardInbox(async (deliveries) => void queue.push(...deliveries));
  const front = createReceiver({ secret: SECRET, inbox, clock, log: false });
  for (const body of bodies) {
    const request = signedRequest(body, { secret: SECRET, at: clock.date(), source });
    expect(await front.receive(request)).toMatchObject({ status: 200 });
  }
  await front.close();
  return queue;
}

/** As a queue gives it back. */
function throughJson(deliveries: readonly StoredDelivery[]): StoredDelivery[] {
  return JSON.parse(JSON.stringify(deliveries)) as StoredDelivery[];
}

async function handled(receiver: Receiver, run: () => Promise<unknown>): Promise<string[]> {
  const ids: string[] = [];
  receiver.on("email", ({ id }) => void ids.push(id), { merge: false });
  await receiver.start();
  await run();
  await receiver.idle();
  return ids;
}

test("a delivery from a queue is stored and handled, in the order of the call, received when the front received it", async () => {
  const { receiver, clock } = rig();
  const queue = throughJson(await forwarded(clock, [emails("a"), emails("b", "c"), emails("d")], "tenant-a"));
  const receivedAt = clock.date().toISOString();
  await clock.advance(1_000);
  const seen: unknown[] = [];
  receiver.observe({ stored: ({ delivery }) => void seen.push([delivery.source, delivery.receivedAt]) });

  const ids = await handled(receiver, async () => {
    expect(await receiver.accept(queue)).toEqual(queue.map(() => ({ status: "fulfilled", value: undefined })));
  });

  expect(ids).toEqual(["a", "b", "c", "d"]);
  expect(seen).toEqual([1, 2, 3].map(() => ["tenant-a", receivedAt]));
  expect(receiver.stats()).toMatchObject({ stored: 3, answered: {} });
});

test("the age of a delivery is not checked: it was when the front received it", async () => {
  const { receiver, clock } = rig({ maxAgeSeconds: 60 });
  const queue = await forwarded(clock, [emails("a")]);
  await clock.advance(3 * DAY_MS);
  expect(await receiver.accept(queue)).toMatchObject([{ status: "fulfilled" }]);
});

test("what the queue brings again is stored once within the window, and fulfilled each time", async () => {
  const { receiver, clock } = rig();
  const queue = await forwarded(clock, [emails("a"), emails("b")]);
  const ids = await handled(receiver, async () => {
    for (const part of [queue, queue, [...queue, ...queue]])
      for (const result of await receiver.accept(part)) expect(result.status).toBe("fulfilled");
  });
  expect(ids).toEqual(["a", "b"]);
  expect(receiver.stats().stored).toBe(2);
});

test("two deliveries to which the queue gave one id are both stored", async () => {
  const { receiver, clock } = rig();
  const [first, second] = (await forwarded(clock, [emails("a"), emails("b")])) as [StoredDelivery, StoredDelivery];
  await receiver.accept([first, { ...second, id: first.id }]);
  expect(receiver.stats().stored).toBe(2);
});

test.each<[what: string, code: string, spoil: (delivery: StoredDelivery) => unknown]>([
  [
    "with another body",
    "signature-invalid",
    (it) => ({ ...it, bodyBase64: Buffer.from(emails("x")).toString("base64") }),
  ],
  ["with another time", "signature-invalid", (it) => withHeader(it, "x-aurinko-request-timestamp", "1")],
  ["without its time", "signature-invalid", (it) => withHeader(it, "x-aurinko-request-timestamp", "")],
  ["with half a signature", "signature-invalid", (it) => withHeader(it, "x-aurinko-signature", "ab")],
  ["without headers", "delivery-invalid", (it) => ({ ...it, headers: {} })],
  ["whose signature is no text", "delivery-invalid", (it) => withHeader(it, "x-aurinko-signature", {} as never)],
  ["that is none", "delivery-invalid", () => null],
  ["that is a text", "delivery-invalid", () => "delivery"],
  ["whose source is a number", "delivery-invalid", (it) => ({ ...it, source: 5 })],
  ["whose source is a list", "delivery-invalid", (it) => ({ ...it, source: ["crm"] })],
])("a delivery %s is rejected for good as %s, and those beside it are stored", async (_what, code, spoil) => {
  const { receiver, clock, log } = rig();
  const [a, b, c] = (await forwarded(clock, [emails("a"), emails("b"), emails("c")])) as [
    StoredDelivery,
    StoredDelivery,
    StoredDelivery,
  ];
  const results = await receiver.accept([a, spoil(b) as StoredDelivery, c]);
  expect(results).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { code } },
    { status: "fulfilled" },
  ]);
  expect(receiver.stats()).toMatchObject({ stored: 2, refused: { [code]: 1 }, answered: {} });
  expect(log.of(code)).toHaveLength(1);
});

function withHeader(delivery: StoredDelivery, name: string, value: string): StoredDelivery {
  return { ...delivery, headers: { ...delivery.headers, [name]: value } };
}

test("what the queue says of sender and time is not believed: the signature says it", async () => {
  const { receiver, inbox, clock } = rig();
  const [delivery] = (await forwarded(clock, [emails("a")])) as [StoredDelivery];
  const sentAt = clock.now();
  await receiver.accept([{ ...delivery, signedBy: "another", sentAt: new Date(1).toISOString() }]);
  const [stored] = await inbox.unexpanded(1);
  expect(stored?.delivery).toMatchObject({ signedBy: "default", sentAt });
});

test("a source that the queue gives back as null is none", async () => {
  const { receiver, inbox, clock } = rig();
  const [delivery] = (await forwarded(clock, [emails("a")])) as [StoredDelivery];
  await receiver.accept([{ ...delivery, source: null as unknown as string }]);
  const [stored] = await inbox.unexpanded(1);
  expect(stored?.delivery.source).toBeUndefined();
});

test("during a rotation both secrets are accepted, and counted", async () => {
  const clock = fakeClock();
  const queue = await forwarded(clock, [emails("a")]);
  const secret = [
    { name: "new", value: "another secret" },
    { name: "old", value: SECRET },
  ];
  const { receiver } = rig({ secret, clock });
  expect(await receiver.accept(queue)).toMatchObject([{ status: "fulfilled" }]);
  expect(receiver.stats().secrets).toMatchObject([{ name: "old", uses: 1 }]);
});

test("a look-up of secrets gets the source and the stored headers; one that fails is tried again by the queue", async () => {
  const clock = fakeClock();
  const queue = await forwarded(clock, [emails("a")], "tenant-a");
  let isDown = true;
  const { receiver } = rig({
    clock,
    secret: ({ source, path, header }) => {
      if (isDown) throw new Error("down");
      return source === "tenant-a" && path === "" && header("X-Aurinko-Signature") !== undefined ? SECRET : undefined;
    },
  });
  expect(await receiver.accept(queue)).toMatchObject([
    { status: "rejected", reason: { code: "secret-lookup-failed" } },
  ]);
  isDown = false;
  expect(await receiver.accept(queue)).toMatchObject([{ status: "fulfilled" }]);
});

test("an unwanted subscription is fulfilled, counted, and not stored; the gate is not asked", async () => {
  const { receiver, clock, log } = rig();
  receiver.unsubscribeWhen(() => {
    throw new Error("asked");
  });
  const queue = await forwarded(clock, [
    bodyOf({ subscription: 7, payloads: [change("a")] }),
    bodyOf({ subscription: 8, payloads: [change("b")] }),
  ]);
  await receiver.unsubscribe(7, "gone");
  expect(await receiver.accept(queue)).toMatchObject([{ status: "fulfilled" }, { status: "fulfilled" }]);
  expect(receiver.stats()).toMatchObject({ stored: 1, refused: { unwanted: 1 }, answered: {} });
  expect(log.of("unwanted")).toHaveLength(1);
});

test("of two applications with the same number, only the unsubscribed one's is unwanted", async () => {
  const { receiver, clock } = rig();
  const body = bodyOf({ subscription: 7, payloads: [change("a")] });
  const queue = [...(await forwarded(clock, [body])), ...(await forwarded(clock, [body], "crm"))];
  await receiver.unsubscribe(7, "gone", { source: "" });
  await receiver.accept(queue);
  expect(receiver.stats()).toMatchObject({ stored: 1, refused: { unwanted: 1 } });
});

test("what the inbox cannot store is rejected, so that the queue delivers it again", async () => {
  const { receiver, clock } = rig({ inbox: memoryInbox({ maxJobs: 1 }) });
  const queue = await forwarded(clock, [emails("a"), emails("b")]);
  expect(await receiver.accept(queue)).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { name: "StorageError", code: "inbox-full" } },
  ]);
});

test("an inbox that does not open rejects all of them", async () => {
  const inbox = memoryInbox() as WorkingInbox<"memory">;
  inbox.open = async () => {
    throw new StorageError("storage-failed", "The disk is away.");
  };
  const { receiver, clock } = rig({ inbox });
  const queue = await forwarded(clock, [emails("a"), emails("b")]);
  const rejected = { status: "rejected", reason: { code: "storage-failed" } };
  expect(await receiver.accept(queue)).toMatchObject([rejected, rejected]);
});

test("a receiver that closes accepts no more", async () => {
  const { receiver, clock } = rig();
  const queue = await forwarded(clock, [emails("a")]);
  await receiver.close();
  expect(await receiver.accept(queue)).toMatchObject([
    { status: "rejected", reason: { name: "ClosedError", code: "closed" } },
  ]);
});

test("nothing is accepted at once: an empty call has no results", async () => {
  const { receiver } = rig();
  expect(await receiver.accept([])).toEqual([]);
});

test("2,000 at once are stored in order, in parts", async () => {
  const { receiver, inbox, clock } = rig();
  const sizes: number[] = [];
  const { store } = inbox;
  inbox.store = (deliveries) => {
    sizes.push(deliveries.length);
    return store(deliveries);
  };
  const numbers = Array.from({ length: 2_000 }, (_, index) => `m-${index}`);
  const queue = await forwarded(
    clock,
    numbers.map((id) => emails(id)),
  );
  const ids = await handled(receiver, () => receiver.accept(queue));
  expect(ids).toEqual(numbers);
  expect(sizes).toEqual([500, 500, 500, 500]);
});

test("a receiver with forwardInbox accepts nothing: behind it is another queue", async () => {
  const clock = fakeClock();
  const receiver = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}), clock, log: false });
  await expect(receiver.accept(await forwarded(clock, [emails("a")]))).rejects.toMatchObject({
    code: "accept-forwards",
  });
});

test.each([{}, "a body", undefined])("accept() of %o, which is no list, says what it expects", async (given) => {
  const { receiver } = rig();
  await expect(receiver.accept(given as never)).rejects.toMatchObject({
    name: "UsageError",
    code: "delivery-invalid",
    message: expect.stringMatching(/^accept\(\) got .*, expected a list of deliveries/),
  });
});

describe("health shows that a queue brings nothing that can be accepted:", () => {
  async function problemsAfter(secret: Parameters<typeof rig>[0] & object, count: number) {
    const { receiver, clock } = rig(secret);
    const queue = await forwarded(clock, Array(count).fill(emails("a")));
    await receiver.accept(queue);
    return { receiver, queue, codes: async () => (await receiver.health()).problems.map(({ code }) => code) };
  }

  test("its secret cannot be looked up", async () => {
    const vault = {
      secret: () => {
        throw new Error("the vault is down");
      },
    };
    const { codes } = await problemsAfter(vault, 1);
    expect(await codes()).toContain("secret-lookup-failing");
  });

  test("none of its signatures holds; one that does ends it", async () => {
    let secret = "another";
    const { receiver, queue, codes } = await problemsAfter({ secret: () => secret }, 5);
    expect(await codes()).toContain("all-signatures-invalid");
    secret = SECRET;
    await receiver.accept(queue.slice(0, 1));
    expect(await codes()).not.toContain("all-signatures-invalid");
  });

  test("its deliveries cannot be stored; one that can ends it", async () => {
    const inbox = memoryInbox() as WorkingInbox<"memory">;
    let isBroken = true;
    const broken: WorkingInbox<"memory"> = {
      ...inbox,
      store: (given) => (isBroken ? Promise.reject(new StorageError("storage-failed", "no")) : inbox.store(given)),
    };
    const { receiver, queue, codes } = await problemsAfter({ inbox: broken }, 1);
    expect(await codes()).toContain("storage-failing");
    isBroken = false;
    await receiver.accept(queue);
    expect(await codes()).not.toContain("storage-failing");
  });
});
