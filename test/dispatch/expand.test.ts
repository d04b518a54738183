import { createReceiver, memoryInbox, type EventName } from "hookline";
import { describe, expect, test } from "vitest";
import { expandEvents, jobsOf } from "../../src/dispatch/expand.ts";
import { createHandlers, type HandlerOptions } from "../../src/dispatch/handlers.ts";
import { laneOf } from "../../src/dispatch/lane-key.ts";
import { mergeKeyOf } from "../../src/dispatch/merge-key.ts";
import { bookingMade, emailEvent, lifecycleOf, signalOf, trackingOpen, unknownEvent } from "../support/events.ts";

function handlers(...registered: readonly (readonly [EventName, HandlerOptions<never>?])[]) {
  const made = createHandlers({ attempts: 1, retryForMs: 0, timeoutMs: 0 });
  for (const [name, options = {}] of registered) made.add([name], () => {}, options);
  return made;
}

const origin = { source: undefined, first: 0 };

describe("an event becomes", () => {
  test("a job for each consumer that handles it, with that consumer's lane and merge key", () => {
    const made = handlers(["email"], ["email.created", { consumer: "search", lane: "account" }]);
    const event = emailEvent("created");
    expect(jobsOf(event, made, "crm")).toEqual(
      made.routes("email.created").map((route) => ({
        state: "waiting",
        consumer: route.consumer,
        lane: laneOf(event, route),
        mergeKey: mergeKeyOf(event, route, "crm"),
      })),
    );
  });

  test("no job for a consumer without a handler for it", () => {
    const made = handlers(["email.created"], ["contact", { consumer: "search" }]);
    expect(jobsOf(emailEvent("created"), made, undefined).map(({ consumer }) => consumer)).toEqual(["default"]);
  });

  const nobody = { consumer: undefined, lane: undefined, mergeKey: undefined };

  test("one skipped job of no consumer when it is a change and some consumer handles its family", () => {
    const made = handlers(["email.created", { consumer: "search" }]);
    expect(jobsOf(emailEvent("deleted"), made, undefined)).toEqual([{ state: "skipped", ...nobody }]);
  });

  test.each([
    ["a change of a family that nobody handles", emailEvent("created"), "contact"],
    ["a signal, its family handled or not", signalOf("email"), "email"],
    ["tracking of another kind", trackingOpen(), "tracking.click"],
    ["a booking", bookingMade(), "email"],
    ["a lifecycle notice of another kind", lifecycleOf("error"), "lifecycle.active"],
    ["an unknown event", unknownEvent, "*"],
  ] as const)("else one unhandled job of no consumer: %s", (_, event, name) => {
    expect(jobsOf(event, handlers([name]), undefined)).toEqual([{ state: "unhandled", ...nobody }]);
  });

  test("entries in array order, counted from the first of this part", () => {
    const made = handlers(["email"]);
    const events = [emailEvent("created", "a"), emailEvent("created", "b")];
    const expanded = expandEvents(events, made, { source: undefined, first: 1_000 });
    expect(expanded.map(({ entry, event }) => [entry, event])).toEqual([
      [1_000, events[0]],
      [1_001, events[1]],
    ]);
  });
});

describe("the unique key", () => {
  const made = handlers(["*"]);
  const uniqueOf = (event: Parameters<typeof jobsOf>[0], source?: string) =>
    expandEvents([event], made, { ...origin, source })[0]?.unique;

  test("of tracking is its id, of a booking its two ids, per source and account", () => {
    expect(uniqueOf(trackingOpen())?.key).toBe(uniqueOf(trackingOpen({ eventType: "open", createdAt: "later" }))?.key);
    expect(uniqueOf(trackingOpen())?.key).not.toBe(uniqueOf(trackingOpen({ id: 8 }))?.key);
    expect(uniqueOf(trackingOpen())?.key).not.toBe(uniqueOf(trackingOpen({ accountId: 9 }))?.key);
    expect(uniqueOf(trackingOpen())?.key).not.toBe(uniqueOf(trackingOpen(), "crm")?.key);
    expect(uniqueOf(trackingOpen(), "shop")?.key).not.toBe(uniqueOf(trackingOpen(), "crm")?.key);
    expect(uniqueOf(bookingMade("e-1"))?.key).not.toBe(uniqueOf(bookingMade("e-2"))?.key);
  });

  test("does not exist for what may come twice: changes, signals, lifecycle, unknown", () => {
    for (const event of [emailEvent("created"), signalOf("email"), lifecycleOf("error"), unknownEvent])
      expect(uniqueOf(event)).toBeUndefined();
  });

  test("comes with the content, which another field changes", () => {
    expect(uniqueOf(trackingOpen())?.content).toBe(uniqueOf(trackingOpen())?.content);
    expect(uniqueOf(trackingOpen())?.content).not.toBe(uniqueOf(trackingOpen({ location: "Basel" }))?.content);
  });

  test("and the content does not depend on the subscription: two of them tell of one event", () => {
    expect(uniqueOf(trackingOpen())).toEqual(uniqueOf(trackingOpen({ subscription: 9 })));
  });
});

test("handlers are sealed by start", async () => {
  const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: false });
  await receiver.start();
  expect(() => receiver.on("email", () => {})).toThrow(/after the start/);
  expect(() => receiver.use(async (_event, _ctx, next) => next())).toThrow(/after the start/);
  await receiver.close();
});
