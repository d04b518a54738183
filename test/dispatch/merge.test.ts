import fc from "fast-check";
import type { AnyEvent, ChangeType } from "hookline";
import { describe, expect, test } from "vitest";
import { mergeEvents } from "../../src/dispatch/calls/merged-event.ts";
import type { SingleEvent } from "../../src/protocol/event-types.ts";
import { calendarChange, calendarSignal, emailEvent, signalOf, trackingOpen } from "../support/events.ts";

type Events = readonly [SingleEvent, ...SingleEvent[]];

const merged = (...events: Events) => mergeEvents(events, { batches: false });
const batch = (...events: Events) => mergeEvents(events, { batches: true });

describe("merged changes of one record", () => {
  test.each([
    ["updated", ["updated"]],
    ["updated", ["updated", "updated"]],
    ["created", ["created", "updated", "updated"]],
    ["created", ["updated", "created", "updated"]],
    ["created", ["deleted", "created"]],
    ["created", ["created", "deleted", "updated"]],
    ["deleted", ["created", "deleted"]],
    ["deleted", ["updated", "updated", "deleted"]],
    ["updated", ["deleted", "updated"]],
  ] satisfies [ChangeType, ChangeType[]][])("come to %s: %j", (changeType, given) => {
    const events = given.map((one) => emailEvent(one)) as [SingleEvent, ...SingleEvent[]];
    expect(merged(...events)).toMatchObject({ type: `email.${changeType}`, changeType, id: "m-1" });
  });

  test("are deleted if the last one is, else created if any is, else updated", () => {
    const change = fc.constantFrom<ChangeType>("created", "updated", "deleted");
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        const [first, ...rest] = changes.map((one) => emailEvent(one));
        const expected = changes.at(-1) === "deleted" ? "deleted" : changes.includes("created") ? "created" : "updated";
        expect(merged(first as SingleEvent, ...rest)).toMatchObject({ changeType: expected });
      }),
    );
  });

  test("are the newest one but for that: its subscription, its fields", () => {
    const old = emailEvent("created", "m-1", { subscription: 1, attributes: { threadId: "t-1" } });
    const newest = emailEvent("updated", "m-1", { subscription: 2, extra: true });
    expect(merged(old, newest)).toEqual({ ...newest, type: "email.created", changeType: "created" });
    expect(merged(old, emailEvent("updated"), newest)).toMatchObject({ subscription: 2, extra: true });
    expect(newest).toMatchObject({ changeType: "updated" });
  });

  test("one alone is as it is", () => {
    const one = emailEvent("updated");
    expect(merged(one)).toBe(one);
    const other = trackingOpen();
    expect(merged(other)).toBe(other);
  });
});

describe("what a `.changes` handler gets", () => {
  test("is all that waits as a list, without an id of its own", () => {
    const got = batch(emailEvent("created", "a"), emailEvent("deleted", "b"), emailEvent("updated", "a"));
    expect(got).toEqual({
      type: "email.changes",
      subscription: 1001,
      accountId: 2002,
      resource: "/email/messages",
      changes: [
        { id: "a", changeType: "created" },
        { id: "b", changeType: "deleted" },
        { id: "a", changeType: "updated" },
      ],
      signalled: false,
    });
  });

  test("keeps what the wire says of each change", () => {
    const got = batch(emailEvent("created", "a", { attributes: { threadId: "t-1" }, extra: 1 }));
    expect(got).toMatchObject({
      changes: [{ id: "a", changeType: "created", attributes: { threadId: "t-1" }, extra: 1 }],
    });
  });

  test("says the calendar once for all, and not in each change", () => {
    const got = batch(calendarChange("created", "a", "team"), calendarSignal("team"));
    expect(got).toMatchObject({ type: "calendarEvent.changes", calendarId: "team", signalled: true });
    expect(got).toMatchObject({ changes: [{ id: "a", changeType: "created" }] });
    expect(changesOf(got)[0]).not.toHaveProperty("calendarId");
    for (const name of ["calendarId", "taskListId"]) expect(batch(emailEvent("updated"))).not.toHaveProperty(name);
  });

  test("says the task list once for all", () => {
    const task = {
      ...emailEvent("created", "t"),
      resource: "/tasklists/l/tasks",
      taskListId: "l",
      type: "task.created",
    } as SingleEvent;
    const got = batch(task);
    expect(got).toMatchObject({ type: "task.changes", taskListId: "l" });
    expect(changesOf(got)).toEqual([{ id: "t", changeType: "created" }]);
  });

  test("says whether a signal was among them, and has no change for it", () => {
    expect(batch(signalOf("email"))).toMatchObject({ type: "email.changes", changes: [], signalled: true });
    expect(batch(signalOf("email"), emailEvent("created"))).toMatchObject({
      changes: [{ id: "m-1" }],
      signalled: true,
    });
    expect(batch(emailEvent("created"))).toMatchObject({ signalled: false });
  });

  test("is a list for one alone too", () => {
    expect(batch(emailEvent("created"))).toMatchObject({ type: "email.changes", changes: [{ id: "m-1" }] });
  });
});

function changesOf(event: AnyEvent): readonly object[] {
  return "changes" in event ? event.changes : [];
}
