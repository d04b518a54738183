import type { Booking } from "./booking.ts";
import type { ChangeFamily, Family } from "./change.ts";
import type { Mail, Tracking, View } from "./tracking.ts";

/** A safe integer. The wire may send a number or a numeric text; anything else makes the entry `unknown`. */
export type Id = number;

/** What every delivery carries. @see protocol 6.2 */
export interface Envelope {
  /** The subscription that this came from. */
  readonly subscription: Id;
  /** The connected account. */
  readonly accountId: Id;
  /** The subscribed resource, as the wire writes it, such as `/email/messages`. */
  readonly resource: string;
}

/**
 * Every event by its name, which decides the type of a handler's argument. Events are frozen, all objects in them too,
 * because consumers and attempts share them: writing to one throws a TypeError. `structuredClone(event)` gives a copy to change.
 */
export interface EventMap
  extends
    Family<"email">,
    Family<"contact">,
    Family<
      "calendarEvent",
      {
        /** The calendar, as the subscribed resource names it: its id, or `primary`. */
        readonly calendarId: string;
      }
    >,
    Family<
      "task",
      {
        /** The task list, as the subscribed resource names it: its id, or `default`. */
        readonly taskListId: string;
      }
    >,
    Tracking<"open" | "click", View>,
    Tracking<"reply" | "replyBounce" | "initial", Mail> {
  booking: Booking;
  "lifecycle.error": Envelope & {
    readonly type: "lifecycle.error";
    /** The service's text of what is wrong; empty where it sent none. */
    readonly error: string;
  };
  "lifecycle.active": Envelope & { readonly type: "lifecycle.active" };
  unknown: UnknownEvent;
}

/** What `receiver.on` takes: an event, a family, or `*`. */
export type EventName = keyof EventMap | ChangeFamily | "tracking" | "lifecycle" | "*";

/** Every event but the `.changes` batches, which are only for handlers of that name. */
export type OneAtATime = Exclude<keyof EventMap, `${string}.changes`>;

/** What a handler of this name gets. `"email"` is created, updated and deleted; `"*"` is everything known, one at a time. */
export type EventOf<N extends EventName> = N extends keyof EventMap
  ? EventMap[N]
  : N extends "*"
    ? EventMap[Exclude<OneAtATime, "unknown">]
    : EventMap[Extract<Exclude<OneAtATime, `${string}.signal`>, `${N}.${string}`>];

/**
 * An event that is signed and stored, but of no known type. `ctx.delivery()` has its bytes. Where a field of the envelope is not readable,
 * the account is all that is given of it.
 */
export interface UnknownEvent extends Partial<Envelope> {
  readonly type: "unknown";
  /** `not-json`: the body is not JSON; `shape`: a field is missing or has another type; `resource`: the resource is not known; `value`: a known field has an unknown value; `body-deleted`: of a job that is done, where `keepBodies` has deleted the body: no handler gets it. */
  readonly reason: "not-json" | "shape" | "resource" | "value" | "body-deleted";
  /** That field; absent where the body is not JSON, or the entry is no object. */
  readonly field?: string;
  /**
   * The parsed JSON, if any; each read gives a new copy. An integer beyond 2^53, which a number cannot hold, is the text of its
   * digits.
   */
  readonly json?: unknown;
}

/** Any event. */
export type AnyEvent = EventMap[keyof EventMap];

/** Any event of a delivery: all but the `.changes` batches, which are made of several. */
export type SingleEvent = EventMap[OneAtATime];

/** Freezes an object made from JSON and all objects in it, so that consumers can share it. */
export function freezeDeep<T extends object>(value: T): T {
  // Not Object.values: its list costs as much as all the rest. JSON inherits nothing.
  for (const key in value) {
    const inner = value[key];
    if (typeof inner === "object" && inner !== null) freezeDeep(inner);
  }
  return Object.freeze(value);
}

/**
 * A frozen unknown event. Its `json` may have any size and depth, so it is not frozen: each read gives a new copy.
 *
 * @param json what was parsed; `undefined` where nothing was
 */
export function unknownEvent(fields: Omit<UnknownEvent, "type" | "json">, json?: unknown): UnknownEvent {
  if (json === undefined) return Object.freeze({ ...fields, type: "unknown" });
  const event: UnknownEvent = {
    ...fields,
    type: "unknown",
    get json() {
      return structuredClone(json);
    },
  };
  // So that console.log shows the value, not a getter.
  return Object.freeze(Object.defineProperty(event, INSPECT, { value: () => ({ ...event }) }));
}

const INSPECT = Symbol.for("nodejs.util.inspect.custom");
