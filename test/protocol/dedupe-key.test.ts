import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dedupeKeyOf } from "../../src/protocol/dedupe-key.ts";
import type { AnyEvent, EventMap } from "../../src/protocol/event-types.ts";

const envelope = { subscription: 1, accountId: 2002, resource: "/booking/935" };

function booking(fields: Partial<EventMap["booking"]>): AnyEvent {
  return { ...envelope, type: "booking", bookingId: 935, calendarId: "c-1", eventId: "e-1", ...fields };
}

function opened(fields: Partial<EventMap["tracking.open"]>): AnyEvent {
  const tracked = { eventType: "open", id: 77, trackingId: 88, createdAt: "2026-01-02T03:04:05Z" } as const;
  return { ...envelope, type: "tracking.open", ...tracked, ...fields };
}

describe("the dedupe key", () => {
  test("of a tracking event is its id, per account", () => {
    expect(dedupeKeyOf(opened({}))).toBe("tracking:2002:77");
    expect(dedupeKeyOf(opened({ accountId: 2003 }))).toBe("tracking:2003:77");
  });

  test("of a booking is its page and its event, per account", () => {
    expect(dedupeKeyOf(booking({}))).toBe("booking:2002:935:e-1");
    expect(dedupeKeyOf(booking({ calendarId: "c-2" }))).toBe("booking:2002:935:e-1");
  });

  test("does not exist for a change, a signal, a lifecycle notice or an unknown event", () => {
    const none: AnyEvent[] = [
      { ...envelope, type: "email.updated", id: "m", changeType: "updated" },
      { ...envelope, type: "contact.signal" },
      { ...envelope, type: "lifecycle.error", error: "gone" },
      { ...envelope, type: "unknown", reason: "value" },
    ];
    expect(none.map(dedupeKeyOf)).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("has its separator escaped in its parts, so that it can be part of a longer key", () => {
    expect(dedupeKeyOf(booking({ eventId: "a:b%3a" }))).toBe("booking:2002:935:a%3ab%253a");
  });

  test("distinguishes halves of surrogate pairs, which are the same character as UTF-8", () => {
    const keys = ["\u{d800}", "\u{dfff}", "%d800", "\u{fffd}"].map((eventId) => dedupeKeyOf(booking({ eventId })));
    expect(new Set(keys.map((key) => Buffer.from(key ?? "").toString("utf8"))).size).toBe(4);
  });

  test("of two bookings is the same only if they are, stored as UTF-8 as well", () => {
    const part = fc.string({ unit: fc.constantFrom(":", "%", "a", "3", "e-1", "\u{d800}", "\u{dfff}", "\u{1f4c5}") });
    fc.assert(
      fc.property(part, part, (one, other) => {
        const keys = [one, other].map((eventId) => Buffer.from(dedupeKeyOf(booking({ eventId })) ?? ""));
        expect(keys[0]?.equals(keys[1] ?? Buffer.of())).toBe(one === other);
      }),
    );
  });
});
