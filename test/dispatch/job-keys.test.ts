import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toMergedCall } from "../../src/dispatch/calls/merged-call.ts";
import { mergeEvents } from "../../src/dispatch/calls/merged-event.ts";
import { createHandlers } from "../../src/dispatch/handlers.ts";
import { laneOf } from "../../src/dispatch/lane-key.ts";
import { mergeKeyOf } from "../../src/dispatch/merge-key.ts";
import { eventsOf, parseDocument } from "../../src/protocol/envelope.ts";
import type { SingleEvent } from "../../src/protocol/event-types.ts";
import { claimedJob } from "../support/claimed-job.ts";
import {
  bodyOf,
  bookingBody,
  change,
  lifecycleBody,
  makeDelivery,
  tracked,
  trackingBody,
} from "../support/make-delivery.ts";
import { idOf, rig } from "../support/rig.ts";

const HANDLER = { consumer: "crm", key: "email", merge: true, warnOfLane: () => {} } as const;
const KINDS = (["record", "resource", "account"] as const).flatMap((lane) =>
  [false, true].map((batches) => Object.assign({ lane, batches }, HANDLER)),
);
const RECORD = { ...HANDLER, lane: "record", batches: false } as const;

function eventIn(body: string): SingleEvent {
  const [event] = eventsOf(parseDocument(Buffer.from(body)));
  if (event === undefined) throw new Error("There is no event.");
  return event;
}

const BODIES: Readonly<Record<string, string>> = {
  email: bodyOf(),
  contact: bodyOf({ resource: "/contacts" }),
  calendarEvent: bodyOf({ resource: "/calendars/primary/events" }),
  task: bodyOf({ resource: "/tasklists/default/tasks" }),
  signal: bodyOf({ payloads: [] }),
  tracking: trackingBody(tracked(1)),
  booking: bookingBody("e-1"),
  error: lifecycleBody("error", { error: "invalid_grant" }),
  active: lifecycleBody("active"),
};

/** Fields of other events among them. */
const NAMES = ["id", "changeType", "trackingId", "bookingId", "eventId", "eventType", "calendarId", "taskListId", "error", "changes"]; // prettier-ignore

describe("fields of an entry that its event does not have", () => {
  test.each(Object.entries(BODIES))("of any name change no key and no merging: %s", (_, body) => {
    const plain = eventIn(body);
    const fields = fc.dictionary(fc.oneof(fc.constantFrom(...NAMES), fc.string()), fc.jsonValue());
    fc.assert(
      fc.property(fields, (extra) => {
        const event = Object.assign({ ...extra }, plain);
        for (const kind of KINDS) {
          expect(laneOf(event, kind)).toBe(laneOf(plain, kind));
          expect(mergeKeyOf(event, kind, "s")).toBe(mergeKeyOf(plain, kind, "s"));
          const [merged, expected] = [event, plain].map((one) => mergeEvents([one, one], kind));
          expect(merged?.type).toBe(expected?.type);
          const [ours, theirs] = [merged, expected].map((one) => (one as { readonly changes?: unknown[] }).changes);
          if (kind.batches) expect(ours).toHaveLength(theirs?.length ?? 0);
          if (kind.batches) expect(Object.keys(merged ?? {})).toEqual(Object.keys(expected ?? {}));
        }
      }),
    );
  });

  const calendar = "/calendars/primary/events";
  const twoOf = (extra: object) => ["a", "b"].map((id) => Object.assign(change(id), extra));
  const opens = [1, 2].map((id) => tracked(id, { changeType: "created" }));
  test.each([
    ["e-mails with a trackingId", [bodyOf({ payloads: twoOf({ trackingId: 88 }) })], ["a", "b"]], // prettier-ignore
    ["calendar events with a bookingId", [bodyOf({ resource: calendar, payloads: twoOf({ bookingId: 935 }) })], ["a", "b"]], // prettier-ignore
    ["trackings with a changeType", [trackingBody(...opens)], ["1", "2"]],
    ["notices with a changeType", [lifecycleBody("error", { error: "x", changeType: "updated" }), lifecycleBody("active", { changeType: "updated" })], ["undefined", "undefined"]], // prettier-ignore
  ])("cost no call: %s", async (_, bodies, expected) => {
    const { receiver, send } = rig({ gaps: false });
    const seen: string[] = [];
    receiver.on(["email", "calendarEvent", "tracking", "lifecycle"], (event) => void seen.push(idOf(event)));
    for (const body of bodies) await send(body);
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(expected);
  });
});

interface Parts {
  readonly consumer: string;
  readonly source: string;
  readonly resource: string;
  readonly id: string;
}

describe("keys", () => {
  test("of ordinary events are those that are stored, byte for byte", () => {
    const record = Object.values(BODIES).map((body) => laneOf(eventIn(body), RECORD));
    expect(record).toEqual([
      "crm 2002 /email/messages m-1",
      "crm 2002 /contacts m-1",
      "crm 2002 /calendars/primary/events m-1",
      "crm 2002 /tasklists/default/tasks m-1",
      "crm 2002 /email/messages",
      "crm 2002 /email/tracking 88",
      "crm 2002 /booking/935 935 e-1",
      "crm 2002 /email/messages 1001",
      "crm 2002 /email/messages 1001",
    ]);
    const encoded = eventIn(bodyOf({ resource: "/calendars/a%20b%40c%25_%D8%a7/events" }));
    expect(laneOf(encoded, { ...RECORD, lane: "account" })).toBe("crm 2002 calendarEvent");
    expect(laneOf(eventIn(bodyOf({ resource: "/calendars/a%20b%40c%d8%a7/events" })), RECORD)).toBe(
      "crm 2002 /calendars/a%20b%40c%d8%a7/events m-1",
    );
    expect(laneOf(encoded, { ...RECORD, lane: () => "my own text, 5 %" })).toBe("crm =my own text, 5 %");
    expect(mergeKeyOf(eventIn(bodyOf()), RECORD, "eu")).toBe("email eu 2002 /email/messages m-1");
  });

  test("differ where any part does, whatever is in the parts", () => {
    const text = fc.array(fc.constantFrom(" ", "%", "2", "5", "_", "d800", "\u{d800}", "\u{dc00}", "a"), { maxLength: 6 }).map((parts) => parts.join("")); // prettier-ignore
    const parts: fc.Arbitrary<Parts> = fc.record({ consumer: text, source: text, resource: text, id: text });
    const keysOf = ({ consumer, source, resource, id }: Parts) => {
      const event = { ...eventIn(bodyOf()), resource, id } as SingleEvent;
      return [laneOf(event, { ...RECORD, consumer }), mergeKeyOf(event, RECORD, source)];
    };
    const same = { consumer: "crm", source: "" };
    const examples: [Parts, Parts][] = [
      [
        { ...same, resource: "?a", id: "b c" },
        { ...same, resource: "?a b", id: "c" },
      ],
      [
        { ...same, resource: "", id: "%25d800" },
        { ...same, resource: "", id: "%d800" },
      ],
      [
        { ...same, resource: "", id: "\u{d800}" },
        { ...same, resource: "", id: "%d800" },
      ],
    ];
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const [[lane, key], [otherLane, otherKey]] = [keysOf(one), keysOf(other)];
        const isSame = (...names: (keyof Parts)[]): boolean => names.every((name) => one[name] === other[name]);
        expect(lane === otherLane).toBe(isSame("consumer", "resource", "id"));
        expect(key === otherKey).toBe(isSame("source", "resource", "id"));
        expect(Buffer.from(`${lane}${key}`).toString()).toBe(`${lane}${key}`);
      }),
      { numRuns: 2_000, examples },
    );
  });

  test.each([
    ["consumers", { consumer: "crm =x" }],
    ["sources", { delivery: makeDelivery(bodyOf(), { source: "eu" }) }],
    ["records", { delivery: makeDelivery(bodyOf({ payloads: [change("other")] })) }],
  ])("that an older version wrote the same for two %s make no one call of their jobs", (_, fields) => {
    const handlers = createHandlers({ attempts: 1, retryForMs: 0, timeoutMs: 0 });
    for (const consumer of ["default", "crm =x"]) handlers.add(["email"], () => {}, { consumer });
    const [one, same, other] = [claimedJob(), claimedJob(), claimedJob(fields)];
    expect(toMergedCall({ jobs: [one, same, other] }, handlers).jobs).toEqual([one, same]);
  });

  test("of two consumers never make one call", async () => {
    const { receiver, send } = rig({ gaps: false });
    const seen: string[] = [];
    receiver.on("email", () => void seen.push("crm"), { consumer: "crm", lane: () => "x =y" });
    receiver.on("email", () => void seen.push("crm =x"), { consumer: "crm =x", lane: () => "y" });
    await send();
    await receiver.start();
    await receiver.idle();
    expect(seen.toSorted()).toEqual(["crm", "crm =x"]);
  });
});
