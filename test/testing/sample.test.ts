import { createReceiver, memoryInbox, type AnyEvent, type EventMap } from "hookline";
import { deliver, sample, testClock } from "hookline/testing";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";

const SECRET = "a signing secret";

const NAMES = Object.keys({
  "email.created": true,
  "email.updated": true,
  "email.deleted": true,
  "email.signal": true,
  "email.changes": true,
  "contact.created": true,
  "contact.updated": true,
  "contact.deleted": true,
  "contact.signal": true,
  "contact.changes": true,
  "calendarEvent.created": true,
  "calendarEvent.updated": true,
  "calendarEvent.deleted": true,
  "calendarEvent.signal": true,
  "calendarEvent.changes": true,
  "task.created": true,
  "task.updated": true,
  "task.deleted": true,
  "task.signal": true,
  "task.changes": true,
  "tracking.open": true,
  "tracking.click": true,
  "tracking.reply": true,
  "tracking.replyBounce": true,
  "tracking.initial": true,
  booking: true,
  "lifecycle.error": true,
  "lifecycle.active": true,
  unknown: true,
} satisfies Record<keyof EventMap, true>) as (keyof EventMap)[];

/** What a handler of the event's own name is called with, once the event has been through a receiver. */
async function handled(event: AnyEvent): Promise<readonly AnyEvent[]> {
  const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), clock: testClock(), log: false });
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  const seen: AnyEvent[] = [];
  receiver.on(event.type, (got) => seen.push(got));
  const delivery = await deliver(receiver, event, { secret: SECRET });
  expect(delivery.status).toBe(200);
  await delivery.settled();
  return seen;
}

describe("a sample", () => {
  test.each(NAMES)("of %s is the event that a handler gets once it was delivered", async (name) => {
    expect(sample(name).type).toBe(name);
    expect(await handled(sample(name))).toStrictEqual([sample(name)]);
  });

  test("has the type of its name", () => {
    expectTypeOf(sample("email.created")).toEqualTypeOf<EventMap["email.created"]>();
    expectTypeOf(sample("calendarEvent.changes").changes[0]?.id).toEqualTypeOf<string | undefined>();
    expectTypeOf(sample("lifecycle.error").error).toBeString();
    // @ts-expect-error -- a family is no event
    expect(() => sample("email")).toThrow();
    // @ts-expect-error -- a signal names no record
    expect(sample("email.signal", { id: "m-1" })).toHaveProperty("id");
  });

  test("has the fields that are given", async () => {
    const opened = sample("tracking.open", { id: 9, context: "deal-7", location: "Basel" });
    expect(opened).toStrictEqual({ ...sample("tracking.open"), id: 9, context: "deal-7", location: "Basel" });
    expect(await handled(opened)).toStrictEqual([opened]);
  });

  test.each([
    [sample("calendarEvent.updated", { calendarId: "ann@example.com" }), "/calendars/ann%40example.com/events"],
    [sample("calendarEvent.signal", { calendarId: "team/home" }), "/calendars/team%2Fhome/events"],
    [sample("calendarEvent.changes", { calendarId: "team" }), "/calendars/team/events"],
    [sample("task.deleted", { taskListId: "a b" }), "/tasklists/a%20b/tasks"],
    [sample("booking", { bookingId: 7, calendarId: "team" }), "/booking/7"],
  ])("of $type names in its resource what it is given: $resource", async (event, resource) => {
    expect(event.resource).toBe(resource);
    expect(await handled(event)).toStrictEqual([event]);
  });

  test.each([
    [sample("calendarEvent.created", { resource: "/calendars/team/events" }), { calendarId: "team" }],
    [sample("task.created", { resource: "/tasklists/a%20b/tasks" }), { taskListId: "a b" }],
    [sample("booking", { resource: "/booking/7" }), { bookingId: 7 }],
  ])("of $type says what its resource names: $resource", async (event, fields) => {
    expect(event).toMatchObject(fields);
    expect(await handled(event)).toStrictEqual([event]);
  });

  test.each(["not-json", "shape", "resource", "value"] as const)("of an unknown event: %s", async (reason) => {
    const event = sample("unknown", { reason });
    expect(event.reason).toBe(reason);
    expect(await handled(event)).toStrictEqual([event]);
  });

  test("is frozen like an event of a delivery, with all that was given for it, which stays as it was", () => {
    const changes = [{ id: "m-1", changeType: "created" as const }];
    const batch = sample("email.changes", { changes });
    for (const part of [sample("email.created").attributes, batch, batch.changes, batch.changes[0]])
      expect(part).toSatisfy(Object.isFrozen);
    expect(Object.isFrozen(changes)).toBe(false);
  });

  test("of an unknown event gives a new json each time that it is read", () => {
    const event = sample("unknown", { reason: "shape", json: { list: [1] } });
    (event.json as { list: number[] }).list.push(2);
    expect(event.json).toEqual({ list: [1] });
    expect(Object.isFrozen(event)).toBe(true);
  });

  test("of no event's name throws, and lists the names", () => {
    expect(() => sample("email.craeted" as "email.created")).toThrow(
      expect.objectContaining({ code: "option-invalid", fix: expect.stringContaining("email.created, ") }),
    );
    expect(() => sample("toString" as "email.created")).toThrow('sample got "toString"');
  });
});
