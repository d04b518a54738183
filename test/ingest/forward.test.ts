import { createReceiver, forwardInbox, GiveUp, memoryInbox, RetryLater, type StoredDelivery } from "hookline";
import { verify, type SignatureScheme } from "hookline/signature";
import { createHmac } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { changes, expectBare, mounted, SECRET, type Setup } from "../support/mounted.ts";
import { signedHeaders } from "../support/sign.ts";

/** Forwards into a list. */
async function forwarding(setup: Setup = {}) {
  const calls: (readonly StoredDelivery[])[] = [];
  const inbox = forwardInbox(async (deliveries) => void calls.push(deliveries));
  const own = await mounted({ inbox, ...setup });
  return { ...own, calls, stored: () => calls.flat() };
}

describe("forwardInbox", () => {
  test("stores a delivery as plain JSON that verifies again", async () => {
    const clock = fakeClock();
    const { deliver, stored } = await forwarding({ clock, mount: { source: "tenant-a" } });
    const body = Buffer.from([0, 0xff, 0x7b, 0x0d, 0x0a]);
    expectBare(await deliver(body, { headers: { "Content-Type": "application/json" } }), 200);
    const [one] = stored() as [StoredDelivery];
    expect(JSON.parse(JSON.stringify(one))).toEqual(one);
    expect(one).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      receivedAt: clock.date().toISOString(),
      sentAt: clock.date().toISOString(),
      source: "tenant-a",
      signedBy: "default",
      headers: {
        ...lowerCased(signedHeaders(body, { secret: SECRET, at: clock.date() })),
        "content-type": "application/json",
      },
      bodyBase64: body.toString("base64"),
    });
    const again = { headers: one.headers, body: Buffer.from(one.bodyBase64, "base64") };
    expect(verify(again, { secret: SECRET, now: clock.date() })).toMatchObject({
      signedBy: "default",
      sentAt: clock.date(),
    });
    expect(() => verify(again, { secret: "another", now: clock.date() })).toThrow(
      expect.objectContaining({ code: "signature-wrong" }),
    );
  });

  test("stores no other headers: those that a proxy or a client adds may be private", async () => {
    const { deliver, stored } = await forwarding();
    expectBare(
      await deliver(changes(), {
        headers: { Cookie: "session=abc", Authorization: "Bearer abc", "X-Forwarded-For": "192.0.2.1" },
      }),
      200,
    );
    expect(Object.keys(stored()[0]?.headers ?? {}).toSorted()).toEqual([
      "x-aurinko-request-timestamp",
      "x-aurinko-signature",
    ]);
  });

  test("stores the signature alone where the scheme signs no time", async () => {
    const scheme: SignatureScheme = {
      algorithm: "sha256",
      signed: ["body"],
      signature: { header: "X-Hub-Signature-256", encoding: "hex" },
    };
    const { receiver, stored } = await forwarding({ scheme });
    const body = Buffer.from(changes());
    const signature = createHmac("sha256", SECRET).update(body).digest("hex");
    const request = { method: "POST", url: "/", headers: { "X-Hub-Signature-256": signature }, body };
    expect(await receiver.receive(request)).toMatchObject({ status: 200 });
    expect(stored()[0]?.headers).toEqual({ "x-hub-signature-256": signature });
  });

  test("gets all deliveries of one turn of the loop in one call, each once", async () => {
    const { receiver, calls, signed } = await forwarding();
    const bodies = Array.from({ length: 50 }, (_, at) => changes({ subscription: at }));
    const replies = await Promise.all(
      bodies.map((body) =>
        receiver.receive({ method: "POST", url: "/", headers: signed(body), body: Buffer.from(body) }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expect(calls).toHaveLength(1);
    expect(calls[0]?.map(({ bodyBase64 }) => Buffer.from(bodyBase64, "base64").toString())).toEqual(bodies);
    expect(new Set(calls[0]?.map(({ id }) => id)).size).toBe(50);
  });

  test("gets at most 500 at once, and the next only when those are stored", async () => {
    const sizes: number[] = [];
    let running = 0;
    const inbox = forwardInbox(async (deliveries) => {
      running += 1;
      expect(running).toBe(1);
      sizes.push(deliveries.length);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    });
    const { receiver, signed } = await mounted({ inbox });
    const headers = signed("x");
    const request = { method: "POST", url: "/", headers, body: Buffer.from("x") };
    const replies = await Promise.all(Array.from({ length: 1_100 }, () => receiver.receive(request)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(sizes).toEqual([500, 500, 100]);
  });

  test.each<[string, () => Promise<void>]>([
    ["rejects", () => Promise.reject(new Error("the queue is away"))],
    [
      "throws",
      () => {
        throw new Error("the queue is away");
      },
    ],
    ["rejects with a status of 422", () => Promise.reject(Object.assign(new Error("no"), { status: 422 }))],
  ])("whose queue %s answers 503, and tries again", async (_, fail) => {
    const store = vi.fn(async () => {}).mockImplementationOnce(fail);
    const { deliver, receiver, log } = await mounted({ inbox: forwardInbox(store) });
    expectBare(await deliver(), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { "storage-failed": 1 } });
    expect(log.of("storage-failed")).toMatchObject([{ level: "error" }]);
    expectBare(await deliver(), 200);
  });

  test("answers handshakes and the gate itself, and forwards neither", async () => {
    const { deliver, stored } = await forwarding({
      prepare: (own) => void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("gone")),
    });
    expect(await deliver("", { target: "/?validationToken=t" })).toMatchObject({ status: 200, body: "t" });
    expectBare(await deliver(), 422);
    expect(stored()).toEqual([]);
  });

  test("has no tombstones: unsubscribing rejects, and names unsubscribeWhen", async () => {
    const { receiver } = await forwarding();
    const said = { code: "no-tombstones", fix: expect.stringContaining("unsubscribeWhen") };
    await expect(receiver.unsubscribe(1001, "gone")).rejects.toMatchObject(said);
    await expect(receiver.resubscribe(1001)).rejects.toMatchObject(said);
  });

  test("cannot be worked on: start() rejects, and names handle", async () => {
    const { receiver } = await forwarding();
    await expect(receiver.start()).rejects.toMatchObject({ fix: expect.stringContaining("handle") });
  });

  test("is a network inbox unless it is said to be less", () => {
    expect(forwardInbox(async () => {}).storage).toBe("network");
    expect(forwardInbox(async () => {}, { storage: "memory" }).storage).toBe("memory");
    expect(() => forwardInbox(undefined as never)).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });
});

describe("receiver.handle", () => {
  const entries = ["a", "b", "c"].map((id) => ({ id, changeType: "created" }));

  async function storedDelivery(body = changes({ payloads: entries })): Promise<StoredDelivery> {
    const { deliver, stored } = await forwarding();
    expectBare(await deliver(body), 200);
    return JSON.parse(JSON.stringify(stored()[0])) as StoredDelivery;
  }

  function consumer(handle: (id: string) => unknown) {
    const receiver = createReceiver({ secret: undefined, inbox: forwardInbox(async () => {}), log: false });
    return receiver.on("email", (event) => handle(event.id));
  }

  test("runs each event once, one after another, in the order of the entries, and needs no secret", async () => {
    const seen: string[] = [];
    const receiver = consumer(async (id) => {
      seen.push(`${id} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${id} ends`);
    });
    await receiver.handle(await storedDelivery());
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    expect(receiver.stats()).toMatchObject({ succeeded: 3, merged: 0, role: "receiving" });
  });

  test("throws handle-failed with the cause when a handler failed, after the others ran", async () => {
    const seen: string[] = [];
    const cause = new Error("b is broken");
    const receiver = consumer((id) => {
      seen.push(id);
      if (id === "b") throw cause;
    });
    const failure = receiver.handle(await storedDelivery());
    await expect(failure).rejects.toMatchObject({ code: "handle-failed", cause });
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test("counts a GiveUp as done, and a RetryLater as failed", async () => {
    const delivery = await storedDelivery();
    await consumer(() => {
      throw new GiveUp("not for us");
    }).handle(delivery);
    const later = consumer(() => {
      throw new RetryLater({ afterMs: 1 });
    });
    await expect(later.handle(delivery)).rejects.toMatchObject({ code: "handle-failed" });
  });

  test("remembers nothing: the same delivery runs again, its tracking events too", async () => {
    const open = { id: 5, createdAt: "2026-05-06T07:08:09Z", eventType: "open", trackingId: 7 };
    const delivery = await storedDelivery(changes({ resource: "/email/tracking", payloads: [open] }));
    const seen: number[] = [];
    const receiver = createReceiver({ secret: undefined, inbox: forwardInbox(async () => {}), log: false });
    receiver.on("tracking.open", (event) => void seen.push(event.id));
    await receiver.handle(delivery);
    await receiver.handle(delivery);
    expect(seen).toEqual([5, 5]);
  });

  test.each([
    ["forwards", () => forwardInbox(async () => {})],
    // It ends with the process, and the front that answers does not read it.
    ["is in memory", memoryInbox],
  ])("has no tombstones for its handlers where its inbox %s", async (_is, inbox) => {
    const errors: unknown[] = [];
    const log = logRecorder();
    const receiver = createReceiver({ secret: undefined, inbox: inbox(), log: log.logger });
    receiver.on(
      "email",
      async (_, ctx) => void errors.push(await ctx.unsubscribe("gone").catch((error: unknown) => error)),
    );
    await receiver.handle(await storedDelivery(changes()));
    expect(errors).toMatchObject([{ code: "no-tombstones", fix: expect.stringContaining("unsubscribeWhen") }]);
    expect(log.of("unsubscribed")).toEqual([]);
  });

  test("refuses what is no stored delivery", async () => {
    const delivery = await storedDelivery();
    for (const wrong of [
      undefined,
      {},
      "text",
      { ...delivery, receivedAt: "soon" },
      { ...delivery, bodyBase64: undefined },
    ])
      await expect(consumer(() => {}).handle(wrong as never)).rejects.toMatchObject({ code: "delivery-invalid" });
  });
});

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
