import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { eventsOf, parseDocument } from "../../src/protocol/envelope.ts";
import { parseExactly } from "../../src/protocol/json.ts";

const envelope = { subscription: 1001, accountId: 2002 };

/** The events of a body that is written out, because JSON.stringify has no number beyond 2^53. */
function written(payloads: string, resource = "/email/messages") {
  return eventsOf(parseDocument(Buffer.from(`{"subscription":1,"accountId":2,"resource":"${resource}",${payloads}}`)));
}

/** Digits beyond what a number holds. */
const huge = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String);
const beyond = huge.filter((digits) => !Number.isSafeInteger(Number(digits)));

describe("integers beyond 2^53", () => {
  test("are texts of their digits in unknown events, wherever they are, and all else is unchanged", () => {
    fc.assert(
      fc.property(beyond, fc.jsonValue(), (digits, other) => {
        const text = JSON.stringify(other);
        const [event] = written(
          `"payloads":[{"changeType":"moved","list":[${digits},{"deep":${digits}}],"it":${text}}]`,
        );
        const json = { changeType: "moved", list: [digits, { deep: digits }], it: JSON.parse(text) as unknown };
        expect(event).toMatchObject({ type: "unknown", json: without(json) });
      }),
    );

    // Such a number among the other values would be a text, rightly.
    function without(json: object): unknown {
      return JSON.parse(JSON.stringify(json), (_key, value: unknown) =>
        typeof value === "number" &&
        Number.isInteger(value) &&
        !Number.isSafeInteger(value) &&
        /^-?\d+$/.test(String(value))
          ? String(value)
          : value,
      );
    }
  });

  test.each([
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
    ["9007199254740992", "9007199254740992"],
    ["-9007199254740993", "-9007199254740993"],
    ["1e21", 1e21],
    ["12345678901234567.5", 12_345_678_901_234_568],
    ["0.12345678901234567", Number("0.12345678901234567")],
    ['"9007199254740993"', "9007199254740993"],
    ['"say \\"12345678901234567890\\", 1"', 'say "12345678901234567890", 1'],
  ])("%s is %j", (text, value) => {
    expect(written(`"payloads":[{"it":${text}}]`)).toMatchObject([{ type: "unknown", json: { it: value } }]);
  });

  test("cost nothing in texts: the value is not read once more", () => {
    const text = '["1234567890123456789", " -1234567890123456789", {"1234567890123456789": "x", "b": 1234}]';
    const json: unknown = JSON.parse(text);
    expect(parseExactly(Buffer.from(text), json)).toBe(json);
    expect(parseExactly(Buffer.from("[1,\n 9007199254740993]"), json)).toEqual([1, "9007199254740993"]);
    expect(parseExactly(Buffer.from(" 9007199254740993"), json)).toEqual("9007199254740993");
  });

  test("keep their digits whatever makes the delivery unknown, and in the envelope too", () => {
    const stored = { resource: "/notes", more: "9007199254740993" };
    expect(written('"more":9007199254740993', "/notes")).toMatchObject([{ reason: "resource", json: stored }]);
    const body = '{"subscription":9007199254740993,"accountId":2,"resource":"/contacts"}';
    const json = { subscription: "9007199254740993", accountId: 2, resource: "/contacts" };
    expect(eventsOf(parseDocument(Buffer.from(body)))).toEqual([
      { type: "unknown", reason: "shape", field: "subscription", accountId: 2, json },
    ]);
  });

  test("do not make what is known unknown, nor bring a prototype in", () => {
    const [known, unknown] = written(
      '"payloads":[{"id":"a","changeType":"created","n":9007199254740993},{"__proto__":{"id":"a"},"n":9007199254740993}]',
    );
    expect(known).toMatchObject({ type: "email.created", id: "a" });
    expect(unknown).toMatchObject({ type: "unknown", json: { n: "9007199254740993" } });
    expect(Object.getPrototypeOf((unknown as { readonly json: object }).json)).toBe(Object.prototype);
  });
});

describe("the id of a record", () => {
  const id = (text: string, changeType = '"created"') =>
    written(`"payloads":[{"id":${text},"changeType":${changeType}}]`);

  test("that is a whole number is its digits, however many they are", () => {
    fc.assert(
      fc.property(fc.oneof(huge, fc.maxSafeInteger().map(String)), (digits) => {
        expect(id(digits)).toMatchObject([{ type: "email.created", id: digits, changeType: "created" }]);
      }),
    );
  });

  test("is one id, as a number or as its text", () => {
    expect(id("5")).toEqual(id('"5"'));
    expect(id("9007199254740993")).toEqual(id('"9007199254740993"'));
  });

  test.each(["1.5", "1e21", "true", "[5]", "{}", "null", '""'])("is none in %s", (text) => {
    expect(id(text)).toMatchObject([{ type: "unknown", reason: "shape", field: "id" }]);
  });

  test("does not become known by its digits alone", () => {
    expect(id("9007199254740993", '"moved"')).toMatchObject([
      { type: "unknown", reason: "value", field: "changeType", json: { id: "9007199254740993" } },
    ]);
    expect(id("9007199254740993", "9007199254740993")).toMatchObject([
      { type: "unknown", reason: "shape", field: "changeType" },
    ]);
  });

  test("may be a number in a booking, in what is attached to a message and in tracking", () => {
    const booking = '"payloads":[{"bookingId":935,"calendarId":7,"eventId":9007199254740993}]';
    expect(written(booking, "/booking/935")).toMatchObject([
      { type: "booking", bookingId: 935, calendarId: "7", eventId: "9007199254740993" },
    ]);
    const entry = '"payloads":[{"id":"a","changeType":"created","attributes":{"threadId":8}}]';
    expect(written(entry)).toMatchObject([{ attributes: { threadId: "8" } }]);
    const reply = '"payloads":[{"id":1,"createdAt":"t","trackingId":2,"eventType":"reply","threadId":3,"messageId":4}]';
    expect(written(reply, "/email/tracking")).toMatchObject([{ threadId: "3", messageId: "4" }]);
  });

  test("that is a number of the protocol is none beyond 2^53: no two become one", () => {
    const open = '"payloads":[{"id":9007199254740993,"createdAt":"","trackingId":2,"eventType":"open"}]';
    expect(written(open, "/email/tracking")).toMatchObject([
      { type: "unknown", reason: "shape", field: "id", json: { id: "9007199254740993" } },
    ]);
  });
});

describe("an unknown event says which field it is:", () => {
  const bare = { ...envelope, resource: "/contacts" };
  const tracked = { id: 1, createdAt: "", trackingId: 2, eventType: "open" };
  const booked = { bookingId: 1, calendarId: "c", eventId: "e" };
  const inTracking = (entry: object) => ({ ...envelope, resource: "/email/tracking", payloads: [entry] });
  const inBooking = (entry: object) => ({ ...envelope, resource: "/booking/1", payloads: [entry] });

  test.each([
    ["subscription", { ...bare, subscription: 1.5 }],
    ["accountId", { ...bare, accountId: undefined }],
    ["resource", { ...envelope }],
    ["resource", { ...bare, resource: "/notes" }],
    ["payloads", { ...bare, payloads: {} }],
    ["payloads", { ...bare, resource: "/email/tracking" }],
    ["id", { ...bare, payloads: [{ changeType: "created" }] }],
    ["changeType", { ...bare, payloads: [{ id: "a" }] }],
    ["changeType", { ...bare, payloads: [{ id: "a", changeType: "moved" }] }],
    ["lifecycleEvent", { ...bare, lifecycleEvent: "paused" }],
    ["lifecycleEvent", { ...bare, lifecycleEvent: 5 }],
    ["createdAt", inTracking({ ...tracked, createdAt: undefined })],
    ["trackingId", inTracking({ ...tracked, trackingId: "x" })],
    ["eventType", inTracking({ ...tracked, eventType: "bounce" })],
    ["calendarId", inBooking({ ...booked, calendarId: undefined })],
    ["bookingId", inBooking({ ...booked, bookingId: undefined })],
  ])("%s", (field, body) => {
    expect(eventsOf(parseDocument(Buffer.from(JSON.stringify(body))))).toMatchObject([{ type: "unknown", field }]);
  });

  test.each(["5", "[]", "null", '"text"'])("none where all of it is %s", (text) => {
    const [whole] = eventsOf(parseDocument(Buffer.from(text)));
    const [entry] = text === "[]" ? [] : written(`"payloads":[${text}]`);
    for (const event of entry === undefined ? [whole] : [whole, entry]) {
      expect(event).toMatchObject({ type: "unknown", reason: "shape" });
      expect(event).not.toHaveProperty("field");
    }
  });
});
