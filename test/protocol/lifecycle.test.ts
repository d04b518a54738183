import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { entryCount, eventsOf, parseDocument } from "../../src/protocol/envelope.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { rig } from "../support/rig.ts";

const envelope = { subscription: 1001, accountId: 2002 };

function documentOf(body: object) {
  return parseDocument(Buffer.from(JSON.stringify({ ...envelope, resource: "/contacts", ...body })));
}

function typesOf(body: object): readonly string[] {
  return eventsOf(documentOf(body)).map(({ type }) => type);
}

describe("a lifecycle notice with entries", () => {
  const payloads = [
    { id: "a", changeType: "created" },
    { id: "b", changeType: "moved" },
    { id: "c", changeType: "deleted" },
  ];

  test("gives the notice first, then its entries in order, each as it comes without a notice", () => {
    const [notice, ...entries] = eventsOf(documentOf({ lifecycleEvent: "active", payloads }));
    expect(notice).toEqual({ ...envelope, resource: "/contacts", lifecycleEvent: "active", type: "lifecycle.active" });
    expect(entries).toEqual(eventsOf(documentOf({ payloads })));
    expect(entries.map(({ type }) => type)).toEqual(["contact.created", "unknown", "contact.deleted"]);
  });

  test.each(["paused", 5])("of the unknown state %j gives them all the same", (lifecycleEvent) => {
    const expected = ["unknown", "contact.created", "unknown", "contact.deleted"];
    expect(typesOf({ lifecycleEvent, payloads })).toEqual(expected);
  });

  test("that cannot be read gives one unknown event for all of them", () => {
    expect(typesOf({ lifecycleEvent: "active", payloads: { id: "a" } })).toEqual(["lifecycle.active", "unknown"]);
    expect(typesOf({ lifecycleEvent: "active", resource: "/notes", payloads })).toEqual([
      "lifecycle.active",
      "unknown",
    ]);
  });

  test.each([{}, { payloads: null }, { payloads: [] }])("has none of them in %j: it is no signal", (body) => {
    for (const resource of ["/contacts", "/email/tracking", "/notes"]) {
      expect(typesOf({ ...body, resource, lifecycleEvent: "error" })).toEqual(["lifecycle.error"]);
    }
  });

  test("can be taken in parts of any size, which are the whole", () => {
    const entry = fc.record({ id: fc.string(), changeType: fc.constantFrom("created", "moved") });
    const body = fc.record({
      resource: fc.constantFrom("/contacts", "/notes", "/booking/1"),
      lifecycleEvent: fc.constantFrom("error", "active", "paused", null),
      payloads: fc.oneof(fc.array(entry), fc.constantFrom(null, "none")),
    });
    fc.assert(
      fc.property(body, fc.integer({ min: 1, max: 5 }), (fields, size) => {
        const document = documentOf(fields);
        const whole = eventsOf(document);
        const parts: unknown[] = [];
        for (let from = 0; from < entryCount(document); from += size) parts.push(...eventsOf(document, from, size));
        expect(parts).toEqual(whole);
        expect(whole).toHaveLength(entryCount(document));
        expect(eventsOf(document, whole.length, size)).toEqual([]);
      }),
    );
  });
});

describe("a receiver that gets one", () => {
  test("gives all of its events to its handlers, with the keys that a redelivery has too", async () => {
    const { receiver, send, clock } = rig();
    const keys = new Map<string, string[]>();
    receiver.on(["lifecycle", "email"], ({ type }, { idempotencyKey }) => {
      keys.set(type, [...(keys.get(type) ?? []), idempotencyKey]);
    });
    await receiver.start();
    const body = bodyOf({ lifecycleEvent: "error", error: "Token is missing", payloads: [change("a", "created")] });
    const at = clock.date();
    for (let time = 0; time < 2; time++) await send(body, { at });
    await receiver.idle();
    expect([...keys.keys()]).toEqual(["lifecycle.error", "email.created"]);
    const [notices, created] = [...keys.values()];
    expect(notices?.[0]).not.toBe(created?.[0]);
    for (const same of [notices, created]) expect(same).toEqual([same?.[0], same?.[0]]);
    expect((await receiver.health()).problems).toMatchObject([{ code: "subscription-errored" }]);
  });

  test("of more entries than one commit takes loses none, whether it works at once or later", async () => {
    const { receiver, send } = rig();
    const seen: string[] = [];
    receiver.on(["lifecycle", "email"], (event) => void seen.push("id" in event ? event.id : event.type), {
      merge: false,
      lane: "account",
    });
    const ids = Array.from({ length: 2_000 }, (_, at) => `m-${at}`);
    await send(bodyOf({ lifecycleEvent: "active", payloads: ids.map((id) => change(id)) }));
    await receiver.start();
    await receiver.idle();
    expect(seen).toHaveLength(2_001);
    expect(new Set(seen)).toEqual(new Set(["lifecycle.active", ...ids]));
  });
});
