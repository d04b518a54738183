import { createReceiver, forwardInbox, type AnyEvent, type RawRequest, type StoredDelivery } from "hookline";
import { nodeReceiver } from "hookline/node";
import { sample, signedDelivery, type SignedDelivery } from "hookline/testing";
import { createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import { serve } from "../support/http.ts";

const SECRET = "a signing secret";
const AT = new Date("2026-05-06T07:08:09.987Z");

function textOf({ body }: SignedDelivery): string {
  return Buffer.from(body).toString();
}

function wireOf(event: Parameters<typeof signedDelivery>[0]): unknown {
  return JSON.parse(textOf(signedDelivery(event, { secret: SECRET })));
}

describe("a signed delivery", () => {
  test("is a request as a mount hands it in", () => {
    const delivery = signedDelivery(sample("email.created"), { secret: SECRET, at: AT });
    expectTypeOf(delivery).toExtend<RawRequest>();
    expect(delivery).toMatchObject({ method: "POST", url: "http://localhost/webhooks" });
    expect(delivery.body).toBeInstanceOf(Uint8Array);
    expect(JSON.parse(textOf(delivery))).toStrictEqual({
      subscription: 1001,
      accountId: 2002,
      resource: "/email/messages",
      payloads: [{ id: "m-1", changeType: "created", attributes: { threadId: "t-1" } }],
    });
  });

  test("is signed as the service signs", () => {
    const delivery = signedDelivery(sample("email.created"), { secret: SECRET, at: AT });
    const timestamp = "1778051289";
    expect(delivery.headers).toStrictEqual({
      "Content-Type": "application/json",
      "X-Aurinko-Request-Timestamp": timestamp,
      "X-Aurinko-Signature": createHmac("sha256", SECRET)
        .update(`v0:${timestamp}:${textOf(delivery)}`)
        .digest("hex"),
    });
  });

  test("is signed with the present time where none is given", () => {
    const before = Math.floor(Date.now() / 1_000);
    const { headers } = signedDelivery(sample("booking"), { secret: SECRET });
    const timestamp = Number(headers["X-Aurinko-Request-Timestamp"]);
    expect(timestamp).toBeGreaterThanOrEqual(before);
    expect(timestamp).toBeLessThanOrEqual(Math.floor(Date.now() / 1_000));
  });

  test("without a secret, or of no time, throws", () => {
    expect(() => signedDelivery(sample("booking"), { secret: "" })).toThrow(
      expect.objectContaining({ code: "secret-missing" }),
    );
    expect(() => signedDelivery(sample("booking"), { secret: SECRET, at: new Date(Number.NaN) })).toThrow(
      expect.objectContaining({ code: "time-invalid" }),
    );
  });

  test.each([
    [undefined, "http://localhost/webhooks"],
    ["/hooks/shop?v=2", "http://localhost/hooks/shop?v=2"],
    ["https://example.com/hooks?v=2&to=a%20b", "https://example.com/hooks?v=2&to=a%20b"],
  ])("goes to the given URL: %s", (url, expected) => {
    const delivery = signedDelivery(sample("booking"), { secret: SECRET, url });
    expect(delivery.url).toBe(expected);
    expect(delivery.toRequest().url).toBe(expected);
  });
});

describe("a handshake", () => {
  test("has its token in the query, and an empty body, which is signed", () => {
    const delivery = signedDelivery({ validationToken: "a b&c" }, { secret: SECRET, at: AT });
    expect(delivery.url).toBe("http://localhost/webhooks?validationToken=a+b%26c");
    expect(delivery.body).toHaveLength(0);
    expect(delivery.headers).toStrictEqual({
      "Content-Type": "text/plain; charset=utf-8",
      "X-Aurinko-Request-Timestamp": "1778051289",
      "X-Aurinko-Signature": createHmac("sha256", SECRET).update("v0:1778051289:").digest("hex"),
    });
  });

  test("leaves the query of the URL as it is", () => {
    const { url } = signedDelivery({ validationToken: "abc" }, { secret: SECRET, url: "/hooks?v=2&v=3" });
    expect(url).toBe("http://localhost/hooks?v=2&v=3&validationToken=abc");
  });
});

describe("the body", () => {
  test("of several events is one delivery of them all, in order", () => {
    const events = [sample("email.created", { id: "m-1" }), sample("email.deleted", { id: "m-2" })] as const;
    expect(wireOf(events)).toStrictEqual({
      subscription: 1001,
      accountId: 2002,
      resource: "/email/messages",
      payloads: [
        { id: "m-1", changeType: "created", attributes: { threadId: "t-1" } },
        { id: "m-2", changeType: "deleted" },
      ],
    });
  });

  test("of a batch of changes beside others is one list", () => {
    const events = [sample("contact.changes"), sample("contact.deleted", { id: "c-9" })];
    expect(wireOf(events)).toHaveProperty("payloads", [
      { id: "c-1", changeType: "created" },
      { id: "c-2", changeType: "updated" },
      { id: "c-9", changeType: "deleted" },
    ]);
  });

  test("says what the path says there alone, and what an entry says in the entry", () => {
    expect(wireOf(sample("calendarEvent.updated"))).toHaveProperty("payloads", [{ id: "e-1", changeType: "updated" }]);
    expect(wireOf(sample("booking"))).toHaveProperty("payloads", [
      { bookingId: 935, calendarId: "primary", eventId: "e-9" },
    ]);
  });

  test("has fields that the types do not list yet", () => {
    const event = { ...sample("email.created"), folder: "inbox" };
    expect(wireOf(event)).toHaveProperty(["payloads", 0, "folder"], "inbox");
  });

  test.each([
    ["an object, as JSON", { hello: [1] }, '{"hello":[1]}'],
    ["null, as JSON", null, "null"],
    ["a text, as it is", '{ "a" :1}', '{ "a" :1}'],
    ["bytes, as they are", Buffer.from([0xff, 0x00]), Buffer.from([0xff, 0x00]).toString()],
    ["nothing", undefined, ""],
  ])("may be given: %s", (_, wire, body) => {
    const delivery = signedDelivery({ wire }, { secret: SECRET, at: AT });
    const mac = createHmac("sha256", SECRET).update("v0:1778051289:");
    expect(textOf(delivery)).toBe(body);
    expect(delivery.headers["X-Aurinko-Signature"]).toBe(mac.update(delivery.body).digest("hex"));
  });

  test("is a copy of the bytes that were given", () => {
    const wire = Buffer.from("{}");
    const delivery = signedDelivery({ wire }, { secret: SECRET });
    wire.fill("x");
    expect(textOf(delivery)).toBe("{}");
  });

  test.each<[string, readonly AnyEvent[]]>([
    ["no event", []],
    ["two resources", [sample("email.created"), sample("contact.created")]],
    ["two calendars", [sample("calendarEvent.created"), sample("calendarEvent.created", { calendarId: "work" })]],
    ["two subscriptions", [sample("email.created"), sample("email.created", { subscription: 1 })]],
    ["two accounts", [sample("email.created"), sample("email.created", { accountId: 1 })]],
    ["a signal before a change", [sample("email.signal"), sample("email.created")]],
    ["a signal after a change", [sample("email.created"), sample("email.signal")]],
    ["a batch that was signalled and has changes", [sample("email.changes", { signalled: true })]],
    ["an error beside a change", [sample("lifecycle.error"), sample("email.created")]],
    ["a change beside an error", [sample("email.created"), sample("lifecycle.error")]],
    ["two notices", [sample("lifecycle.active"), sample("lifecycle.active")]],
    ["what is unknown beside a change", [sample("unknown"), sample("email.created")]],
    ["a change beside what is unknown", [sample("email.created"), sample("unknown", { resource: "/email/messages" })]],
  ])("cannot be made of %s", (_, events) => {
    expect(() => signedDelivery(events, { secret: SECRET })).toThrow(
      expect.objectContaining({
        name: "UsageError",
        code: "events-not-combinable",
        fix: expect.stringContaining("{ wire: "),
      }),
    );
  });
});

describe("over a socket", () => {
  async function receiving() {
    const stored: StoredDelivery[] = [];
    const receiver = createReceiver({
      secret: SECRET,
      inbox: forwardInbox(async (deliveries) => void stored.push(...deliveries)),
      log: false,
    });
    onTestFinished(() => void receiver.close());
    const arrived: IncomingMessage[] = [];
    const mount = nodeReceiver(receiver, { path: "/webhooks" });
    const { url } = await serve((req, res) => {
      arrived.push(req);
      mount(req, res);
    });
    return { stored, arrived, options: { secret: SECRET, url: `${url}/webhooks` } };
  }

  test("fetch sends it unchanged", async () => {
    const { stored, arrived, options } = await receiving();
    const delivery = signedDelivery(sample("email.created", { id: "müll" }), options);
    const response = await fetch(delivery.toRequest());
    expect(response.status).toBe(200);
    expect(stored.map(({ bodyBase64 }) => bodyBase64)).toEqual([Buffer.from(textOf(delivery)).toString("base64")]);
    expect(arrived[0]?.headers).toMatchObject({
      "content-type": "application/json",
      "content-length": String(delivery.body.length),
    });
  });

  test("the same one can be sent again", async () => {
    const { stored, options } = await receiving();
    const delivery = signedDelivery(sample("email.created"), options);
    for (let times = 0; times < 2; times += 1) expect((await fetch(delivery.toRequest())).status).toBe(200);
    expect(stored).toHaveLength(2);
  });

  test("the handshake is answered with its token", async () => {
    const { stored, arrived, options } = await receiving();
    const response = await fetch(signedDelivery({ validationToken: "a b/ü" }, options).toRequest());
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("a b/ü");
    expect(arrived[0]?.headers["content-length"]).toBe("0");
    expect(stored).toEqual([]);
  });

  test("one that another secret signed is refused", async () => {
    const { stored, options } = await receiving();
    const response = await fetch(
      signedDelivery(sample("email.created"), { ...options, secret: "another" }).toRequest(),
    );
    expect(response.status).toBe(401);
    expect(stored).toEqual([]);
  });
});
