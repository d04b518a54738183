import fc from "fast-check";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { eventsOf, parseDocument } from "../../src/protocol/envelope.ts";
import type { UnknownEvent } from "../../src/protocol/event-types.ts";
import { bodyOf, change, lifecycleBody, tracked } from "../support/make-delivery.ts";

const eventsIn = (body: string) => eventsOf(parseDocument(Buffer.from(body)));

/** What is in it that could be written to, by its path: nothing below the `json` of an unknown event, which is its reader's own. */
function writable(value: unknown, path = "event"): string[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(Object.getOwnPropertyDescriptors(value)).flatMap(([name, { value: own }]) =>
    writable(own, `${path}.${name}`),
  );
  return Object.isFrozen(value) ? inner : [path, ...inner];
}

describe("an event and all objects in it are frozen", () => {
  const nested = { list: [{ deep: {} }], none: null };

  test.each([
    ["a change, with unknown fields", bodyOf({ payloads: [{ ...change("a"), attributes: nested, nested }] })],
    ["a signal", bodyOf({ payloads: [] })],
    ["tracking", bodyOf({ resource: "/email/tracking", payloads: [tracked(7, { nested })] })],
    ["a notice", lifecycleBody("error", { error: "no", nested })],
    ["what is unknown", bodyOf({ payloads: [{ nested }] })],
    ["what is no JSON", "{"],
    ["what has no envelope", JSON.stringify(nested)],
  ])("%s", (_, body) => {
    const events = eventsIn(body);
    expect(events).toHaveLength(1);
    expect(writable(events[0])).toEqual([]);
  });

  test("whatever the body is", () => {
    const anything = fc.jsonValue({ maxDepth: 4 });
    const entry = fc.record({ id: anything, changeType: fc.constant("created"), attributes: anything, more: anything });
    const body = fc.record({
      subscription: fc.constant(1),
      accountId: fc.constant(2),
      resource: fc.constantFrom("/email/messages", "/notes"),
      payloads: fc.oneof(fc.array(fc.oneof(entry, anything)), anything),
      more: anything,
    });
    fc.assert(
      fc.property(body, (json) => {
        expect(eventsIn(JSON.stringify(json)).flatMap((event) => writable(event))).toEqual([]);
      }),
    );
  });
});

describe("the json of an unknown event", () => {
  const entry = JSON.parse('{"id":["x"],"__proto__":{"evil":true}}') as object;
  const made = () => eventsIn(bodyOf({ payloads: [entry] }))[0] as UnknownEvent & { json: { id: string[] } };

  test("is a new copy at each read, which its reader may change", () => {
    const event = made();
    const mine = event.json;
    mine.id.push("mine");
    expect(mine.id).toEqual(["x", "mine"]);
    expect(event.json).toEqual(entry);
    expect(Object.hasOwn(event.json, "__proto__")).toBe(true);
  });

  test("is part of the event as JSON, spread, cloned and printed", () => {
    const event = made();
    expect(JSON.parse(JSON.stringify(event))).toEqual(event);
    expect({ ...event }.json).toEqual(entry);
    expect(structuredClone(event)).toEqual(event);
    expect(Object.keys(event)).toContain("json");
    expect(inspect(event)).toContain("json: { id: [ 'x' ]");
  });

  test("is not there where nothing was parsed", () => {
    expect(Object.keys(eventsIn("{")[0] as object)).not.toContain("json");
  });
});
