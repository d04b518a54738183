import { describe, expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";

function calendar(calendarId: string, ...changes: readonly (readonly [string, string])[]): string {
  return bodyOf({
    resource: `/calendars/${calendarId}/events`,
    payloads: changes.map(([id, changeType]) => change(id, changeType)),
  });
}

describe("`.changes`", () => {
  test("gets all that waits for one resource of one account in one call, signals too", async () => {
    const { receiver, send } = rig();
    const { calls, handler } = heldHandler();
    receiver.on("calendarEvent.changes", handler);
    await send(calendar("team", ["a", "created"], ["b", "deleted"]));
    await send(calendar("team"));
    await send(calendar("own", ["c", "updated"]));
    await receiver.start();
    await turns();
    expect(calls.map(({ event }) => event)).toEqual([
      expect.objectContaining({
        type: "calendarEvent.changes",
        calendarId: "team",
        changes: [
          { id: "a", changeType: "created" },
          { id: "b", changeType: "deleted" },
        ],
        signalled: true,
      }),
      expect.objectContaining({ calendarId: "own", changes: [{ id: "c", changeType: "updated" }], signalled: false }),
    ]);
    expect(calls.map(({ ctx }) => ctx.merged)).toEqual([3, 1]);
  });

  test("runs one at a time for a resource, plus one more if something came meanwhile", async () => {
    const { receiver, send } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email.changes", handler);
    await receiver.start();
    await send(emails("a"));
    for (const id of ["b", "c", "d"]) await send(emails(id));
    await turns();
    expect(calls).toHaveLength(1);
    last().end();
    await turns();
    expect(last().event).toMatchObject({ changes: [{ id: "b" }, { id: "c" }, { id: "d" }] });
    last().end();
    await receiver.idle();
    expect(calls).toHaveLength(2);
  });

  test("that fails gets all of it again, with what came meanwhile", async () => {
    const { receiver, send, pass } = rig();
    const { calls, handler, last } = heldHandler();
    receiver.on("email.changes", handler);
    await receiver.start();
    await send(emails("a", "b"));
    await turns();
    last().fail();
    await send(emails("c"));
    await pass(1_000);
    expect(last().event).toMatchObject({ changes: [{ id: "a" }, { id: "b" }, { id: "c" }] });
    expect(calls).toHaveLength(2);
  });

  test("has each its own call with merge: false", async () => {
    const { receiver, send } = rig();
    const lists: unknown[] = [];
    receiver.on("email.changes", (event) => lists.push(event.changes.map(({ id }) => id)), { merge: false });
    await send(emails("a", "b"));
    await receiver.start();
    await receiver.idle();
    expect(lists).toEqual([["a"], ["b"]]);
  });
});
