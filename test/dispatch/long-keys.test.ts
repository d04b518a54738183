import { Hash } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventIn } from "../../src/dispatch/calls/job-view.ts";
import { laneOf } from "../../src/dispatch/lane-key.ts";
import { mergeKeyOf } from "../../src/dispatch/merge-key.ts";
import { EXPAND_AT_ONCE, expandEvents } from "../../src/dispatch/expand.ts";
import { createHandlers } from "../../src/dispatch/handlers.ts";
import { eventsOf, parseDocument } from "../../src/protocol/envelope.ts";
import { resolveOptions } from "../../src/receiver/options.ts";
import { memoryInbox } from "../../src/index.ts";

const KEY = { consumer: "default", lane: "record", batches: false, key: "default", merge: true, warnOfLane: () => {} } as const; // prettier-ignore

/** An event of a calendar whose id is so long. */
function eventOf(calendar: string, id = "e-1") {
  const content = { subscription: 1, accountId: 2, resource: `/calendars/${calendar}/events`, payloads: [{ id, changeType: "updated" }] }; // prettier-ignore
  const [event] = eventsOf(parseDocument(Buffer.from(JSON.stringify(content))));
  if (event === undefined) throw new Error("There is no event.");
  return event;
}

const keysOf = (...given: Parameters<typeof eventOf>) => {
  const event = eventOf(...given);
  return [laneOf(event, KEY), mergeKeyOf(event, KEY, undefined)];
};

describe("keys of jobs", () => {
  test("of up to a thousand characters hold the path as it is", () => {
    const calendar = "c".repeat(1_000 - "/calendars//events".length);
    const resource = `/calendars/${calendar}/events`;
    expect(keysOf(calendar)).toEqual([`default 2 ${resource} e-1`, `default  2 ${resource} e-1`]);
    expect(keysOf(`${calendar}c`)[0]).toHaveLength("default 2  e-1".length + 100 + 3 + 43);
  });

  test("hash only the part that is longer", () => {
    const calendar = "c".repeat(1_000 - "/calendars//events".length);
    expect(keysOf(calendar, "e".repeat(1_001))[0]).toContain(`default 2 /calendars/${calendar}/events eee`);
    expect(keysOf(calendar, "e".repeat(1_001))[0]).not.toContain("e".repeat(1_001));
  });

  test("of a longer one differ as the paths do, and stay the same", () => {
    const [one, other] = ["a", "b"].map((end) => `${"c".repeat(5_000)}${end}`) as [string, string];
    const all = [keysOf(one), keysOf(other), keysOf(one, "e-2"), keysOf(`${one}\u{d800}`), keysOf(`${one}\u{dc00}`)];
    expect(new Set(all.flat()).size).toBe(10);
    expect(keysOf(one)).toEqual(all[0]);
    expect(keysOf(other)).toEqual(all[1]);
  });

  test("that a lane function gives are short too", () => {
    const lane = laneOf(eventOf("c"), { ...KEY, lane: () => "x".repeat(100_000) });
    expect(lane?.length).toBeLessThan(200);
    expect(laneOf(eventOf("c"), { ...KEY, lane: () => `${"x".repeat(100_000)}y` })).not.toBe(lane);
  });
});

test("a thousand entries of a path of half a mebibyte make no more text of keys than as many of a short one", () => {
  const handlers = createHandlers(resolveOptions({ secret: "s", inbox: memoryInbox() }).limits, console);
  handlers.add(["calendarEvent"], () => {}, {});
  const payloads = Array.from({ length: EXPAND_AT_ONCE }, (_, index) => ({ id: `e-${index}`, changeType: "updated" }));
  const resource = `/calendars/${"c".repeat(512 * 1024)}/events`;
  const document = parseDocument(Buffer.from(JSON.stringify({ subscription: 1, accountId: 2, resource, payloads })));
  const jobs = expandEvents(eventsOf(document), handlers, { source: undefined, first: 0 }).flatMap((one) => one.jobs);
  const length = jobs.reduce((sum, { lane = "", mergeKey = "" }) => sum + lane.length + mergeKey.length, 0);
  expect(jobs).toHaveLength(EXPAND_AT_ONCE);
  expect(length).toBeLessThan(EXPAND_AT_ONCE * 500);
});

test("a thousand entries of tracking with a path of half a mebibyte hash that path once", () => {
  const handlers = createHandlers(resolveOptions({ secret: "s", inbox: memoryInbox() }).limits, console);
  handlers.add(["tracking"], () => {}, {});
  const resource = `/email/tracking?${"x".repeat(512 * 1024)}`;
  const payloads = Array.from({ length: EXPAND_AT_ONCE }, (_, id) => ({ id, eventType: "open", createdAt: "2026-05-06T07:08:09Z", trackingId: 8 })); // prettier-ignore
  const document = parseDocument(Buffer.from(JSON.stringify({ subscription: 1, accountId: 2, resource, payloads })));
  const hash = vi.spyOn(Hash.prototype, "update");
  onTestFinished(() => hash.mockRestore());
  const found = expandEvents(eventsOf(document), handlers, { source: undefined, first: 0 });
  const hashed = hash.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
  expect(new Set(found.map(({ unique }) => unique?.content)).size).toBe(EXPAND_AT_ONCE);
  expect(hashed).toBeLessThan(2 * resource.length);
});

test("a path of half a mebibyte is decoded once for all entries of a delivery", () => {
  const payloads = Array.from({ length: 100 }, (_, index) => ({ id: `e-${index}`, changeType: "updated" }));
  const resource = `/calendars/${"c".repeat(512 * 1024)}/events`;
  const document = parseDocument(Buffer.from(JSON.stringify({ subscription: 1, accountId: 2, resource, payloads })));
  const decode = vi.spyOn(globalThis, "decodeURIComponent");
  onTestFinished(() => decode.mockRestore());
  const found = payloads.map((_, entry) => eventIn(document, entry));
  expect(found).toMatchObject(payloads.map(({ id }) => ({ type: "calendarEvent.updated", id })));
  expect(decode).toHaveBeenCalledTimes(1);
});
