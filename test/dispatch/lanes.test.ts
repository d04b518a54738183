import type { AnyEvent, EventName } from "hookline";
import { describe, expect, test } from "vitest";
import { createHandlers, type HandlerOptions, type Registration } from "../../src/dispatch/handlers.ts";
import { laneOf } from "../../src/dispatch/lane-key.ts";
import { mergeKeyOf } from "../../src/dispatch/merge-key.ts";
import type { SingleEvent } from "../../src/protocol/event-types.ts";
import {
  bookingMade,
  calendarChange,
  calendarSignal,
  emailEvent,
  lifecycleOf,
  signalOf,
  trackingOpen,
  unknownEvent,
} from "../support/events.ts";
import { rig } from "../support/rig.ts";

function handler(name: EventName | readonly EventName[], options: HandlerOptions<never> = {}): Registration {
  const handlers = createHandlers({ attempts: 1, retryForMs: 0, timeoutMs: 0 });
  handlers.add(typeof name === "string" ? [name] : name, () => {}, options);
  const names = typeof name === "string" ? name : (name[0] ?? "");
  const type = names.endsWith(".changes")
    ? names.replace(".changes", ".created")
    : names === "email"
      ? "email.created"
      : names;
  return handlers.find(options.consumer ?? "default", type === "*" ? "email.created" : type) as Registration;
}

const all = (lane?: HandlerOptions<never>["lane"], consumer = "default") => handler("*", { lane, consumer });

/** Two events share a lane under this option. */
function together(one: SingleEvent, other: SingleEvent, lane: HandlerOptions<never>["lane"]): boolean {
  const [first, second] = [laneOf(one, all(lane)), laneOf(other, all(lane))];
  return first !== undefined && first === second;
}

describe("the lane `record`", () => {
  test("of a change is its account, resource and id", () => {
    expect(together(emailEvent("created", "a"), emailEvent("deleted", "a"), "record")).toBe(true);
    expect(together(emailEvent("created", "a"), emailEvent("created", "b"), "record")).toBe(false);
    expect(together(emailEvent("created"), emailEvent("created", "m-1", { accountId: 9 }), "record")).toBe(false);
    expect(together(calendarChange("created", "e", "one"), calendarChange("created", "e", "two"), "record")).toBe(
      false,
    );
  });

  test("does not depend on the subscription: two of them tell of one record", () => {
    expect(together(emailEvent("created"), emailEvent("created", "m-1", { subscription: 9 }), "record")).toBe(true);
  });

  test("of tracking is its trackingId", () => {
    expect(together(trackingOpen({ id: 1 }), trackingOpen({ id: 2 }), "record")).toBe(true);
    expect(together(trackingOpen(), trackingOpen({ trackingId: 89 }), "record")).toBe(false);
  });

  test("of a booking is its two ids", () => {
    expect(together(bookingMade("e-1"), bookingMade("e-1", { calendarId: "c-2" }), "record")).toBe(true);
    expect(together(bookingMade("e-1"), bookingMade("e-2"), "record")).toBe(false);
    expect(together(bookingMade("e-1"), bookingMade("e-1", { bookingId: 936 }), "record")).toBe(false);
  });

  test("of a lifecycle notice is its subscription", () => {
    expect(together(lifecycleOf("error"), lifecycleOf("active"), "record")).toBe(true);
    expect(together(lifecycleOf("error"), lifecycleOf("error", { subscription: 9 }), "record")).toBe(false);
  });

  test("of a signal is its account and resource", () => {
    expect(together(signalOf("email"), signalOf("email", { subscription: 9 }), "record")).toBe(true);
    expect(together(signalOf("email"), signalOf("contact"), "record")).toBe(false);
    expect(together(signalOf("email"), emailEvent("created"), "record")).toBe(false);
  });
});

describe("the other kinds of lane:", () => {
  test("`resource` is account and resource", () => {
    expect(together(emailEvent("created", "a"), emailEvent("created", "b"), "resource")).toBe(true);
    expect(together(emailEvent("created"), signalOf("email"), "resource")).toBe(true);
    expect(together(calendarChange("created", "e", "one"), calendarChange("created", "e", "two"), "resource")).toBe(
      false,
    );
  });

  test("`account` is account and family", () => {
    expect(together(calendarChange("created", "a", "one"), calendarChange("created", "b", "two"), "account")).toBe(
      true,
    );
    expect(together(emailEvent("created"), signalOf("contact"), "account")).toBe(false);
    expect(together(emailEvent("created"), emailEvent("created", "m-1", { accountId: 9 }), "account")).toBe(false);
  });

  test("`none` is none", () => {
    expect(laneOf(emailEvent("created"), all("none"))).toBeUndefined();
  });

  test("an event that names no account and resource has none", () => {
    for (const lane of ["record", "resource", "account"] as const)
      expect(laneOf(unknownEvent, { ...all(lane), consumer: "default" })).toBeUndefined();
  });

  test("consumers never share one", () => {
    for (const lane of ["record", "resource", "account", () => "same"] as const)
      expect(laneOf(emailEvent("created"), all(lane))).not.toBe(laneOf(emailEvent("created"), all(lane, "search")));
  });
});

test("lanes and merge keys are the same text again when a file has kept them as UTF-8, also of records with halves of surrogate pairs", () => {
  const merging = handler("email.created", { merge: true });
  const keys = ["\ud83d", "\ude00", "\ud83d\ude00"].flatMap((id) => {
    const event = emailEvent("created", id);
    return [
      laneOf(event, all("record")),
      laneOf(
        event,
        all(() => id),
      ),
      mergeKeyOf(event, merging, undefined),
    ];
  });
  expect(new Set(keys.map((key) => Buffer.from(key ?? "").toString())).size).toBe(9);
  expect(keys.map((key) => Buffer.from(key ?? "").toString())).toEqual(keys);
});

describe("a lane given by a function of the event", () => {
  const byAccount = (event: AnyEvent) => `account ${String(event.accountId)}`;

  test("is shared by all that give it, whatever the handler", () => {
    expect(laneOf(emailEvent("created"), all(byAccount))).toBe(
      laneOf(signalOf("contact"), handler("contact.signal", { lane: byAccount })),
    );
  });

  test("is another one than any lane by kind", () => {
    const record = laneOf(emailEvent("created"), all("record")) ?? "";
    const pretended = record.slice("default ".length);
    expect(
      laneOf(
        emailEvent("created"),
        all(() => pretended),
      ),
    ).not.toBe(record);
  });

  test("gets the event as the handler gets it: a batch of one for `.changes`", () => {
    const seen: AnyEvent[] = [];
    const lane = (event: AnyEvent): string => (seen.push(event), "");
    laneOf(calendarChange("updated"), handler("calendarEvent.changes", { lane }));
    expect(seen).toMatchObject([{ type: "calendarEvent.changes", calendarId: "primary", changes: [{ id: "e-1" }] }]);
  });

  test("that throws counts as `record`", () => {
    const broken = all(() => {
      throw new Error("no");
    });
    expect(laneOf(emailEvent("created"), broken)).toBe(laneOf(emailEvent("created"), all("record")));
  });

  test.each([Number.NaN, Infinity, -Infinity, undefined, null, {}, Promise.resolve("x"), 1n, Symbol("x")])(
    "that gives %s instead of a text counts as `record`: else all jobs would share one lane",
    (given) => {
      expect(laneOf(emailEvent("created"), all((() => given) as never))).toBe(
        laneOf(emailEvent("created"), all("record")),
      );
    },
  );

  test("that gives no text, or throws, is warned of, with what to do", async () => {
    const { receiver, send, log } = rig();
    receiver.on("email", () => {}, { lane: () => Number.NaN as never });
    receiver.on("email", () => {}, {
      consumer: "search",
      lane: () => {
        throw new Error("no");
      },
    });
    await receiver.start();
    await send();
    expect(log.of("lane-invalid")).toMatchObject([
      {
        level: "warn",
        facts: {
          consumer: "default",
          err: { message: "The lane function gave NaN, expected a text or a number at once." },
          fix: expect.any(String),
        },
        message: expect.stringContaining('on("email")'),
      },
    ]);
  });

  test("that gives a number gives its text", () => {
    expect(laneOf(emailEvent("created"), all((() => 5) as never))).toBe(
      laneOf(
        emailEvent("updated"),
        all(() => "5"),
      ),
    );
  });
});

describe("what merges", () => {
  const keyOf = (event: SingleEvent, registration: Registration, source?: string) =>
    mergeKeyOf(event, registration, source);

  test("is changes of one record for one handler", () => {
    const email = handler("email");
    expect(keyOf(emailEvent("created"), email)).toBeDefined();
    expect(keyOf(emailEvent("created"), email)).toBe(keyOf(emailEvent("deleted"), email));
    expect(keyOf(emailEvent("created"), email)).not.toBe(keyOf(emailEvent("created", "m-2"), email));
    expect(keyOf(emailEvent("created"), email)).not.toBe(keyOf(emailEvent("created", "m-1", { accountId: 9 }), email));
    expect(keyOf(emailEvent("created"), email)).not.toBe(keyOf(emailEvent("created"), handler("email.created")));
  });

  test("is never of two sources: a merged call has one", () => {
    const email = handler("email");
    expect(keyOf(emailEvent("created"), email, "crm")).not.toBe(keyOf(emailEvent("created"), email, "shop"));
  });

  test("is never of two sources for `.changes` either, nor of one and none", () => {
    const batch = handler("calendarEvent.changes");
    for (const event of [calendarChange("created"), calendarSignal()]) {
      const keys = ["crm", "shop", undefined].map((source) => keyOf(event, batch, source));
      expect(keys).not.toContain(undefined);
      expect(new Set(keys).size).toBe(3);
      expect(keyOf(event, batch, "crm")).toBe(keys[0]);
    }
  });

  test("is all of one resource and account for `.changes`, signals too", () => {
    const batch = handler("calendarEvent.changes");
    expect(keyOf(calendarChange("created", "a"), batch)).toBe(keyOf(calendarChange("deleted", "b"), batch));
    expect(keyOf(calendarChange("created", "a"), batch)).toBe(keyOf(calendarSignal(), batch));
    expect(keyOf(calendarChange("created", "a", "one"), batch)).not.toBe(
      keyOf(calendarChange("created", "a", "two"), batch),
    );
  });

  test("is no signal elsewhere, no tracking, booking, lifecycle or unknown", () => {
    for (const event of [signalOf("email"), trackingOpen(), bookingMade(), lifecycleOf("error"), unknownEvent])
      expect(keyOf(event, all())).toBeUndefined();
  });

  test("is nothing with merge: false", () => {
    expect(keyOf(emailEvent("created"), handler("email", { merge: false }))).toBeUndefined();
    expect(keyOf(emailEvent("created"), handler("email.changes", { merge: false }))).toBeUndefined();
  });

  test("does not depend on the lane", () => {
    for (const lane of ["account", "none", () => "x"] as const)
      expect(keyOf(emailEvent("created"), handler("email", { lane }))).toBe(
        keyOf(emailEvent("created"), handler("email")),
      );
  });
});
