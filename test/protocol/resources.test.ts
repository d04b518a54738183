import { describe, expect, test } from "vitest";
import { resourceOf, RESOURCES } from "../../src/protocol/resources.ts";

describe("the resource of a path", () => {
  test.each([
    ["/email/messages", "email", {}],
    ["/email/tracking", "tracking", {}],
    ["/contacts", "contact", {}],
    ["/calendars/primary/events", "calendarEvent", { calendarId: "primary" }],
    ["/tasklists/default/tasks", "task", { taskListId: "default" }],
    ["/booking/935", "booking", { bookingId: 935 }],
  ])("%s is one of protocol 6.1", (path, family, ids) => {
    expect(resourceOf(path)).toMatchObject({ resource: { family }, ids });
    expect(resourceOf(path)?.ids).toEqual(ids);
  });

  test("ids are decoded once, and may hold anything", () => {
    expect(idOf("a%40b.example")).toBe("a@b.example");
    expect(idOf("a%2Fb")).toBe("a/b");
    expect(idOf("a%252Fb")).toBe("a%2Fb");
    expect(idOf("a+b=")).toBe("a+b=");
    expect(idOf("en.usa#holiday@group.v.calendar.example")).toBe("en.usa#holiday@group.v.calendar.example");
    expect(idOf("constructor")).toBe("constructor");
    expect(idOf("%F0%9F%93%85")).toBe("\u{1f4c5}");
  });

  test("slashes at the end and a query are tolerated", () => {
    for (const end of ["/", "//", "?a=b", "/?a=/b"]) {
      expect(resourceOf(`/contacts${end}`)?.resource.family).toBe("contact");
      expect(resourceOf(`/calendars/c/events${end}`)?.ids).toEqual({ calendarId: "c" });
    }
  });

  test("a page of bookings that is no number leaves the number to the entry", () => {
    expect(resourceOf("/booking/team-a")?.ids).toEqual({});
  });

  test.each([
    "",
    "/",
    "contacts",
    "/Contacts",
    "/contacts/5",
    "/contactss",
    "/email",
    "/email/messages/5",
    "/v1/email/messages",
    "/calendars/events",
    "/calendars//events",
    "/calendars/a/b/events",
    "/calendars/a/acl",
    "/calendars/%/events",
    "/calendars/%ff/events",
    "/tasklists/%E0%A4%A/tasks",
    "/booking",
    "/booking/",
    "/booking/%zz",
    "/email/messages\n",
    "constructor",
    "__proto__",
  ])("%j is of no known resource", (path) => {
    expect(resourceOf(path)).toBeUndefined();
  });

  test("a long run of slashes costs no more than its length", () => {
    const path = `/contacts${"/".repeat(1_000_000)}x`;
    expect(resourceOf(path)).toBeUndefined(); // at the square of it, this would not end
  });
});

test("every family of protocol 6.1 is there once", () => {
  expect(RESOURCES.map(({ family }) => family).toSorted()).toEqual([
    "booking",
    "calendarEvent",
    "contact",
    "email",
    "task",
    "tracking",
  ]);
});

function idOf(id: string): string | undefined {
  return resourceOf(`/calendars/${id}/events`)?.ids.calendarId;
}
