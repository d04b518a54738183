import type { UnknownEvent } from "hookline";
import { describe, expect, test } from "vitest";
import { changes, expectBare, mounted, type Mounted } from "../support/mounted.ts";

/** A working receiver that notes what is unknown, with the bytes as they were stored. */
async function noting(): Promise<Mounted & { readonly unknown: UnknownEvent[]; readonly bytes: Buffer[] }> {
  const unknown: UnknownEvent[] = [];
  const bytes: Buffer[] = [];
  const own = await mounted({
    prepare: (receiver) =>
      void receiver.on("unknown", async (event, ctx) => {
        unknown.push(event);
        bytes.push(Buffer.from((await ctx.delivery()).bodyBase64, "base64"));
      }),
  });
  await own.receiver.start();
  return { ...own, unknown, bytes };
}

describe("a signed body is stored and answered 200 whatever it is, and is one unknown event:", () => {
  test.each<[string, UnknownEvent["reason"], string | Uint8Array]>([
    ["bytes that are not UTF-8", "not-json", Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d])],
    ["JSON with one byte that is not UTF-8", "not-json", Buffer.from(changes().replace("m-1", "m-\xe9"), "latin1")],
    ["half of a JSON text", "not-json", changes().slice(0, -10)],
    ["two JSON texts", "not-json", changes() + changes()],
    ["markup", "not-json", "<script>alert(1)</script>"],
    ["a form", "not-json", "subscription=1001&accountId=2002"],
    ["white space", "not-json", "   \r\n"],
    ["nothing at all", "not-json", ""],
    ["a depth that overflows stacks", "not-json", "[".repeat(200_000)],
    ["an empty object", "shape", "{}"],
    ["null", "shape", "null"],
    ["an empty list", "shape", "[]"],
    ["a list of deliveries", "shape", `[${changes()}]`],
    ["a number", "shape", "5"],
    ["a text", "shape", '"text"'],
    ["a subscription beyond 2^53", "shape", changes().replace("1001", "9007199254740993")],
    ["an account beyond 2^53, as text", "shape", changes().replace("2002", '"9007199254740993"')],
    ["an account of infinite size", "shape", changes().replace("2002", "1e999")],
    ["a subscription that is a list", "shape", changes().replace("1001", "[1001]")],
    ["an unknown resource", "resource", changes({ resource: "/voicemails" })],
    ["a resource of a prototype's name", "resource", changes({ resource: "__proto__" })],
    ["payloads that are no list", "shape", changes({ payloads: { id: "m-1", changeType: "created" } })],
  ])("%s", async (_, reason, body) => {
    const { deliver, receiver, unknown, bytes } = await noting();
    expectBare(await deliver(body), 200);
    await receiver.idle();
    expect(unknown).toMatchObject([{ type: "unknown", reason }]);
    expect(bytes).toEqual([Buffer.from(body)]);
    expect(receiver.stats()).toMatchObject({ stored: 1, refused: {} });
  });

  test("an entry with an id beyond 2^53 is unknown, and its neighbours are not", async () => {
    const opens: number[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.on("tracking.open", (event) => void opens.push(event.id)).on("unknown", () => {}),
    });
    await receiver.start();
    const open = (id: string): string =>
      `{"id":${id},"createdAt":"2026-05-06T07:08:09Z","eventType":"open","trackingId":7}`;
    const payloads = [open("1"), open("9007199254740993"), open("3")].join();
    const body = `{"subscription":1,"accountId":2,"resource":"/email/tracking","payloads":[${payloads}]}`;
    expectBare(await deliver(body), 200);
    await receiver.idle();
    expect(opens).toEqual([1, 3]);
    expect(receiver.stats().succeeded).toBe(3);
  });
});

describe("a body that names parts of a prototype changes none:", () => {
  const hostile = '{"polluted":true,"toString":null,"then":"x"}';
  test.each([
    [
      "beside the envelope",
      `{"subscription":1,"accountId":2,"resource":"/contacts","__proto__":${hostile},"constructor":{"prototype":${hostile}},"payloads":[{"id":"a","changeType":"created"}]}`,
    ],
    [
      "in an entry",
      `{"subscription":1,"accountId":2,"resource":"/contacts","payloads":[{"id":"a","changeType":"created","__proto__":${hostile},"constructor":{"prototype":${hostile}}}]}`,
    ],
    [
      "in the attributes of an entry",
      `{"subscription":1,"accountId":2,"resource":"/contacts","payloads":[{"id":"a","changeType":"created","attributes":{"__proto__":${hostile}}}]}`,
    ],
  ])("%s", async (_, body) => {
    const events: object[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.on("contact", (event) => void events.push(event)),
    });
    await receiver.start();
    expectBare(await deliver(body), 200);
    await receiver.idle();
    expect(events).toMatchObject([{ type: "contact.created", id: "a", subscription: 1 }]);
    expect(events.map((event) => Object.getPrototypeOf(event))).toEqual([Object.prototype]);
    expect(events).not.toMatchObject([{ polluted: true }]);
    expect({}).not.toHaveProperty("polluted");
    expect(Object.prototype.toString.call({})).toBe("[object Object]");
  });

  test("a change of a prototype's name is one unknown event", async () => {
    const { deliver, receiver, unknown } = await noting();
    expectBare(await deliver(changes({ payloads: [{ id: "a", changeType: "constructor" }] })), 200);
    await receiver.idle();
    expect(unknown).toMatchObject([{ reason: "value" }]);
  });
});

describe("content never earns a 4xx once it is signed:", () => {
  test.each(["text/html", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "image/png", ""])(
    "the content type %j is not looked at",
    async (type) => {
      const { deliver } = await mounted();
      expectBare(await deliver(changes(), { headers: { "Content-Type": type } }), 200);
    },
  );

  test("an envelope without entries, and one with a notice of the service", async () => {
    const { deliver } = await mounted();
    expectBare(await deliver(changes({ payloads: null })), 200);
    expectBare(await deliver('{"subscription":1,"accountId":2,"resource":"/x","lifecycleEvent":"unheard-of"}'), 200);
  });
});
