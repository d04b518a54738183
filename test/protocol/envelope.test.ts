import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { entryCount, eventsOf, parseDocument } from "../../src/protocol/envelope.ts";

const envelope = { subscription: 1001, accountId: 2002 };

function eventsFor(body: unknown, ...part: number[]) {
  return eventsOf(parseDocument(Buffer.from(JSON.stringify(body))), ...part);
}

function delivery(resource: string, ...payloads: unknown[]) {
  return { ...envelope, resource, payloads };
}

/** The events of a delivery whose one entry is written out. */
function hostile(entry: string) {
  const text = `{"subscription":1,"accountId":2,"resource":"/email/messages","payloads":[${entry}]}`;
  return eventsOf(parseDocument(Buffer.from(text)));
}

function nested(depth: number) {
  return hostile(`{"id":"a","changeType":"x","deep":${"[".repeat(depth)}${"]".repeat(depth)}}`);
}

function holds(body: Uint8Array): void {
  const read = parseDocument(body);
  const events = eventsOf(read);
  expect(events.length).toBeGreaterThan(0);
  expect(events).toHaveLength(entryCount(read));
  for (const event of events) expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
}

describe("changes", () => {
  test.each([
    ["/email/messages", "email", {}],
    ["/contacts", "contact", {}],
    ["/calendars/primary/events", "calendarEvent", { calendarId: "primary" }],
    ["/tasklists/default/tasks", "task", { taskListId: "default" }],
  ])("of %s become events of the family %s", (resource, family, ids) => {
    const payloads = ["created", "updated", "deleted"].map((changeType, at) => ({ id: `r-${at}`, changeType }));
    expect(eventsFor(delivery(resource, ...payloads))).toEqual(
      payloads.map((entry) => Object.assign({ type: `${family}.${entry.changeType}`, resource }, entry, ids, envelope)),
    );
  });

  test("keep the thread that the service adds to an e-mail", () => {
    const entry = { id: "m-1", changeType: "created", attributes: { threadId: "t-1", folder: "inbox" } };
    expect(eventsFor(delivery("/email/messages", entry))).toMatchObject([entry]);
  });

  test.each([
    ["null", null, undefined],
    ["a text", "t-1", undefined],
    ["a list", ["t-1"], undefined],
    ["an object with a thread of another kind", { threadId: true, folder: "inbox" }, { folder: "inbox" }],
    ["an object with a thread of null", { threadId: null }, {}],
  ])("with attributes of %s are known, without what does not fit the type", (_, attributes, stored) => {
    const [event] = eventsFor(delivery("/email/messages", { id: "m-1", changeType: "created", attributes }));
    expect(event).toStrictEqual({
      id: "m-1",
      changeType: "created",
      ...(stored && { attributes: stored }),
      ...envelope,
      resource: "/email/messages",
      type: "email.created",
    });
  });

  test("keep unknown fields, whatever is in them", () => {
    const entry = { id: "m-1", changeType: "updated", later: { deep: [1, null] }, nothing: null };
    expect(eventsFor(delivery("/contacts", entry))).toMatchObject([entry]);
  });

  test("byte-identical ones are all there: the second may be a new edit", () => {
    const entry = { id: "m-1", changeType: "updated" };
    expect(eventsFor(delivery("/contacts", entry, entry))).toHaveLength(2);
  });

  test("the path's ids, the envelope and the type win over an entry's fields of the same name", () => {
    const entry = {
      id: "e",
      changeType: "created",
      calendarId: "x",
      subscription: 9,
      accountId: 9,
      resource: 9,
      type: 9,
    };
    const resource = "/calendars/primary/events";
    expect(eventsFor(delivery(resource, entry))).toEqual([
      { id: "e", changeType: "created", calendarId: "primary", ...envelope, resource, type: "calendarEvent.created" },
    ]);
  });
});

describe("signals", () => {
  test.each([
    ["/email/messages", "email.signal", {}],
    ["/contacts", "contact.signal", {}],
    ["/calendars/c%201/events", "calendarEvent.signal", { calendarId: "c 1" }],
    ["/tasklists/l/tasks", "task.signal", { taskListId: "l" }],
  ])("a delivery for %s without entries is %s", (resource, type, ids) => {
    const signal = [{ ...ids, ...envelope, resource, type }];
    expect(eventsFor({ ...envelope, resource })).toEqual(signal);
    expect(eventsFor({ ...envelope, resource, payloads: null })).toEqual(signal);
    expect(eventsFor({ ...envelope, resource, payloads: [] })).toEqual(signal);
  });

  test.each(["/email/tracking", "/booking/935"])("%s has none: without entries it is unknown", (resource) => {
    for (const body of [{ ...envelope, resource }, { ...envelope, resource, payloads: null }, delivery(resource)]) {
      expect(eventsFor(body)).toEqual([
        { ...envelope, resource, type: "unknown", reason: "shape", field: "payloads", json: body },
      ]);
    }
  });

  test.each([{}, "text", 5, false])("entries that are %j and no list are unknown, not a signal", (payloads) => {
    const body = { ...envelope, resource: "/contacts", payloads };
    expect(eventsFor(body)).toMatchObject([{ type: "unknown", reason: "shape", json: body }]);
  });
});

describe("tracking", () => {
  const resource = "/email/tracking";
  const common = { id: 77, createdAt: "2026-01-02T03:04:05Z", trackingId: 88 };

  test.each([
    { ...common, eventType: "open", location: "Bern", userAgent: "a", remoteAddr: "::1", referrer: "r", openNumber: 2 },
    { ...common, eventType: "click", context: "deal-9", trackingCode: "0c5c", trackingThreadId: "t" },
    { ...common, eventType: "reply", threadId: "t", messageId: "m", internetMessageId: "<m@x>" },
    { ...common, eventType: "replyBounce", threadId: "t" },
    { ...common, eventType: "initial", trackingMessageId: "m", trackingInternetMessageId: "<m@x>" },
  ])("$eventType becomes an event with all its fields", (entry) => {
    const event = { ...entry, ...envelope, resource, type: `tracking.${entry.eventType}` };
    expect(eventsFor(delivery(resource, entry))).toEqual([event]);
  });

  test("ids of numeric text become numbers", () => {
    const entry = { ...common, id: "77", trackingId: "88", eventType: "open" };
    expect(eventsFor(delivery(resource, entry))).toMatchObject([{ id: 77, trackingId: 88 }]);
  });

  test("an optional field of null or of another kind is left out", () => {
    const entry = { ...common, eventType: "open", location: null, userAgent: 5, openNumber: "2", context: {} };
    expect(eventsFor(delivery(resource, entry))).toStrictEqual([
      { ...common, eventType: "open", ...envelope, resource, type: "tracking.open" },
    ]);
  });
});

describe("bookings", () => {
  const entry = { bookingId: 935, calendarId: "c-1", eventId: "e-1" };

  test("become events", () => {
    const resource = "/booking/935";
    expect(eventsFor(delivery(resource, entry))).toEqual([{ ...entry, ...envelope, resource, type: "booking" }]);
  });

  test("have the number of their page from the entry, whatever the path says", () => {
    for (const resource of ["/booking/936", "/booking/935", "/booking/team"]) {
      const event = { ...entry, ...envelope, resource, type: "booking" };
      expect(eventsFor(delivery(resource, entry, { ...entry, bookingId: "935" }))).toEqual([event, event]);
    }
  });
});

describe("lifecycle notices", () => {
  const resource = "/calendars/primary/events";

  test("become events with their text and all that is beside it", () => {
    const notice = { ...envelope, resource, lifecycleEvent: "error", error: "Active token is missing", since: "today" };
    expect(eventsFor(notice)).toEqual([{ ...notice, type: "lifecycle.error" }]);
    const active = { ...envelope, resource, lifecycleEvent: "active" };
    expect(eventsFor(active)).toEqual([{ ...active, type: "lifecycle.active" }]);
  });

  test("an error without its text is still an event", () => {
    for (const error of [undefined, null, { code: 5 }]) {
      expect(eventsFor({ ...envelope, resource, lifecycleEvent: "error", error })).toMatchObject([
        { type: "lifecycle.error", error: "" },
      ]);
    }
  });

  test("are understood for a resource that is not known", () => {
    expect(eventsFor({ ...envelope, resource: "/notes", lifecycleEvent: "active" })).toMatchObject([
      { type: "lifecycle.active" },
    ]);
  });

  test("of an unknown state are one unknown event", () => {
    const notice = { ...envelope, resource: "/contacts", lifecycleEvent: "paused" };
    expect(eventsFor(notice)).toEqual([
      { ...envelope, resource: "/contacts", type: "unknown", reason: "value", field: "lifecycleEvent", json: notice },
    ]);
    expect(eventsFor({ ...notice, lifecycleEvent: 5 })).toMatchObject([{ type: "unknown", reason: "shape" }]);
  });

  test("a lifecycle of null is none", () => {
    const body = { ...delivery("/contacts", { id: "c", changeType: "created" }), lifecycleEvent: null, error: null };
    expect(eventsFor(body)).toMatchObject([{ type: "contact.created" }]);
  });
});

describe("what is not understood", () => {
  test("is decided per entry: its neighbours are known", () => {
    const good = { id: "m", changeType: "created" };
    const events = eventsFor(delivery("/contacts", good, { ...good, changeType: "moved" }, good, { id: "m" }));
    expect(events.map(({ type }) => type)).toEqual(["contact.created", "unknown", "contact.created", "unknown"]);
    expect(events[1]).toEqual({
      ...envelope,
      resource: "/contacts",
      type: "unknown",
      reason: "value",
      field: "changeType",
      json: { id: "m", changeType: "moved" },
    });
  });

  test.each([
    ["value", "/email/messages", { id: "m", changeType: "Created" }],
    ["value", "/email/messages", { id: "m", changeType: "constructor" }],
    ["value", "/email/messages", { id: "m", changeType: "__proto__" }],
    ["value", "/email/tracking", { id: 1, createdAt: "", trackingId: 2, eventType: "bounce" }],
    ["shape", "/email/messages", { changeType: "created" }],
    ["shape", "/email/messages", { id: "", changeType: "created" }],
    ["shape", "/email/messages", { id: true, changeType: "created" }],
    ["shape", "/email/messages", { id: "m" }],
    ["shape", "/email/messages", { id: "m", changeType: null }],
    ["value", "/email/messages", { id: 5, changeType: "moved" }],
    ["shape", "/email/messages", "m"],
    ["shape", "/email/messages", null],
    ["shape", "/email/messages", [{ id: "m", changeType: "created" }]],
    ["shape", "/email/tracking", { createdAt: "", trackingId: 2, eventType: "open" }],
    ["shape", "/email/tracking", { id: 1, trackingId: 2, eventType: "open" }],
    ["shape", "/email/tracking", { id: 1, createdAt: "", trackingId: 1.5, eventType: "open" }],
    ["shape", "/booking/1", { bookingId: "one", calendarId: "c", eventId: "e" }],
    ["shape", "/booking/1", { bookingId: 1, calendarId: "c" }],
  ])("is unknown for its %s: of %s, %j", (reason, resource, entry) => {
    const [event, ...others] = eventsFor(delivery(resource, entry));
    expect(others).toEqual([]);
    expect({ ...event, field: undefined }).toEqual({ ...envelope, resource, type: "unknown", reason, json: entry });
  });

  test("a resource that is not known makes the delivery one unknown event", () => {
    const body = delivery("/notes", { id: "n", changeType: "created" }, { id: "o", changeType: "created" });
    expect(eventsFor(body)).toEqual([
      { ...envelope, resource: "/notes", type: "unknown", reason: "resource", field: "resource", json: body },
    ]);
  });

  test.each([
    {},
    [],
    null,
    5,
    "text",
    true,
    { ...envelope },
    { ...envelope, resource: 5, payloads: [] },
    { subscription: 1, resource: "/contacts" },
    { subscription: 1.5, accountId: 2, resource: "/contacts" },
    { subscription: "9007199254740993", accountId: 2, resource: "/contacts" },
    { subscription: true, accountId: 2, resource: "/contacts" },
    [{ ...envelope, resource: "/contacts" }],
  ])("an envelope that cannot be read makes it one unknown event: %j", (body) => {
    expect(parseDocument(Buffer.from(JSON.stringify(body)))).toMatchObject({ parsed: true, envelope: undefined });
    const [event, ...others] = eventsFor(body);
    expect(others).toEqual([]);
    expect({ ...event, field: undefined }).toEqual({
      type: "unknown",
      reason: "shape",
      accountId: Object(body).accountId,
      json: body,
    });
  });

  test.each([
    ["nothing", Buffer.of()],
    ["half a document", Buffer.from('{"subscription":1')],
    ["two documents", Buffer.from("{}{}")],
    ["bytes that are no UTF-8", Buffer.from('{"a":"\u{e9}"}', "latin1")],
    ["half a surrogate pair as bytes", Buffer.from('{"a":"\xed\xa0\x80"}', "latin1")],
    ["UTF-16", Buffer.from('{"a":1}', "utf16le")],
    ["NaN", Buffer.from("NaN")],
    ["a long text without its end", Buffer.from(`["${"a".repeat(2000)}`)],
    ["a long text whose end is escaped", Buffer.from(`["${"a".repeat(2000)}\\"]`)],
  ])("%s is not JSON, and one unknown event", (_, body) => {
    const document = parseDocument(body);
    expect(document).toMatchObject({ json: undefined, parsed: false, envelope: undefined });
    expect(eventsOf(document)).toEqual([{ type: "unknown", reason: "not-json" }]);
    expect(entryCount(document)).toBe(1);
  });
});

describe("the envelope", () => {
  test("has numbers for ids of numeric text, and nothing but its fields", () => {
    const body = { subscription: "87665448354", accountId: "2002", resource: "/contacts", attempt: 3 };
    const document = parseDocument(Buffer.from(JSON.stringify(body)));
    expect(document.envelope).toEqual({ subscription: 87_665_448_354, accountId: 2002, resource: "/contacts" });
    expect(eventsOf(document)).toMatchObject([{ type: "contact.signal", subscription: 87_665_448_354 }]);
  });

  test("may follow a byte order mark", () => {
    const body = Buffer.from(`\u{feff}${JSON.stringify(delivery("/contacts"))}`);
    expect(eventsOf(parseDocument(body))).toMatchObject([{ type: "contact.signal" }]);
  });
});

describe("a hostile body", () => {
  test("cannot change a prototype: __proto__ is left out, constructor is a field like any other", () => {
    const [event] = hostile(
      `{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"id":"a","changeType":"created",
        "attributes":{"__proto__":{"polluted":1},"threadId":"t"}}`,
    );
    expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
    expect(Object.keys(event ?? {})).not.toContain("__proto__");
    expect(event).toMatchObject({ type: "email.created", constructor: { prototype: { polluted: 1 } } });
    expect(event).toHaveProperty("attributes", { threadId: "t" });
    expect(event).not.toHaveProperty("polluted");
    expect({}).not.toHaveProperty("polluted");
  });

  test("cannot bring a required field in by way of __proto__", () => {
    expect(hostile(`{"__proto__":{"id":"a","changeType":"created"}}`)).toMatchObject([
      { type: "unknown", reason: "shape" },
    ]);
    const body = Buffer.from(`{"__proto__":{"subscription":1,"accountId":2,"resource":"/contacts"}}`);
    expect(parseDocument(body).envelope).toBeUndefined();
  });

  test("may escape the names of its keys", () => {
    const [event] = hostile(String.raw`{"\u005f_proto__":{"polluted":1},"\u0069d":"a","changeType":"created"}`);
    expect(event).toMatchObject({ type: "email.created", id: "a" });
    expect(event).not.toHaveProperty("polluted");
  });

  test("may repeat a key: the last one counts", () => {
    expect(hostile(`{"id":"a","changeType":"created","id":"b"}`)).toMatchObject([{ id: "b" }]);
  });

  test("may hold half a surrogate pair in an escape: the id is stored as it is", () => {
    expect(hostile(String.raw`{"id":"\ud800","changeType":"created"}`)).toMatchObject([{ id: "\u{d800}" }]);
  });

  test("of 100,000 brackets is not JSON, closed or not", () => {
    for (const text of ["[".repeat(100_000), "[".repeat(100_000) + "]".repeat(100_000)]) {
      expect(eventsOf(parseDocument(Buffer.from(text)))).toEqual([{ type: "unknown", reason: "not-json" }]);
    }
  });

  test("gives events that can be stored, or it is not read: no nesting gets through that JSON.stringify cannot write", () => {
    expect(nested(509)).toMatchObject([{ type: "unknown", reason: "value" }]);
    expect(JSON.stringify(nested(509))).toContain("[[[");
    expect(nested(510)).toMatchObject([{ type: "unknown", reason: "not-json" }]);
  });

  test("may have brackets and quotes in its texts: they nest nothing", () => {
    const text = JSON.stringify(`${"[{".repeat(2000)}"\\"`);
    expect(hostile(`{"id":${text},"changeType":"created"}`)).toMatchObject([{ type: "email.created" }]);
  });
});

describe("a long delivery", () => {
  const payloads = Array.from({ length: 30_000 }, (_, at) => ({ id: `m-${at}`, changeType: "updated" }));
  const document = parseDocument(Buffer.from(JSON.stringify(delivery("/email/messages", ...payloads))));

  test("can be taken in parts, which are the whole", () => {
    expect(entryCount(document)).toBe(30_000);
    const parts = Array.from({ length: 30 }, (_, part) => eventsOf(document, part * 1000, 1000));
    expect(parts.map((part) => part.length)).toEqual(Array.from({ length: 30 }, () => 1000));
    expect(parts.flat()).toEqual(eventsOf(document));
  });

  test("has a short last part and nothing beyond its end", () => {
    expect(eventsOf(document, 29_999, 1000)).toHaveLength(1);
    expect(eventsOf(document, 30_000, 1000)).toEqual([]);
  });

  test("a delivery of one event has it in the first part only", () => {
    const signal = delivery("/contacts");
    expect(eventsFor(signal, 0, 1)).toHaveLength(1);
    expect(eventsFor(signal, 1, 1)).toEqual([]);
    expect(eventsFor(signal, 0, 0)).toEqual([]);
  });
});

describe("for any body", () => {
  const known = fc.constantFrom("/email/messages", "/email/tracking", "/calendars/%/events", "/contacts", "/booking/1");
  const entry = fc.record(
    {
      id: fc.oneof(fc.string(), fc.integer()),
      changeType: fc.oneof(fc.constantFrom("created", "deleted"), fc.jsonValue()),
      eventType: fc.oneof(fc.constantFrom("open", "reply"), fc.jsonValue()),
      trackingId: fc.integer(),
      createdAt: fc.string(),
      attributes: fc.jsonValue(),
      eventId: fc.string(),
    },
    { requiredKeys: [] },
  );
  const document = fc.record(
    {
      subscription: fc.oneof(fc.integer(), fc.string()),
      accountId: fc.integer(),
      resource: fc.oneof(known, fc.string()),
      payloads: fc.oneof(fc.array(fc.oneof(entry, fc.jsonValue())), fc.jsonValue()),
      lifecycleEvent: fc.oneof(fc.constantFrom("error", "active", null), fc.jsonValue()),
    },
    { requiredKeys: ["subscription", "accountId", "resource"] },
  );

  test("of any bytes there is at least one event, and nothing throws", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), holds));
  });

  test("of any JSON there is at least one event, and nothing throws", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 5 }), (json) => holds(Buffer.from(json))));
  });

  test("of anything like a delivery there is at least one event, and nothing throws", () => {
    fc.assert(fc.property(document, (json) => holds(Buffer.from(JSON.stringify(json)))));
  });
});
