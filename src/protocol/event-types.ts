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

/** What happened to a record. @see protocol 6.2 */
export type ChangeType = "created" | "updated" | "deleted";

/** One changed record. It is a hint: fetch the record to learn what it is now. @see protocol 6.2 */
export interface Change<C extends ChangeType = ChangeType> {
  /** The record's id, opaque. */
  readonly id: string;
  /** Of several merged changes: `deleted` if the last one is, else `created` if any is, else `updated`. */
  readonly changeType: C;
  /** Sent by the service for e-mail, beyond protocol 6.2. */
  readonly attributes?: { readonly threadId?: string };
}

/** The events of one family of records: a change of one record, a signal without a record, and all pending changes as one batch. */
export type Family<F extends string, X = unknown> = {
  [C in ChangeType as `${F}.${C}`]: Envelope & X & Change<C> & { readonly type: `${F}.${C}` };
} & {
  // "Something changed": it names no record, so it has no id.
  [T in `${F}.signal`]: Envelope & X & { readonly type: T };
} & {
  [T in `${F}.changes`]: Envelope &
    X & { readonly type: T; readonly changes: readonly Change[]; readonly signalled: boolean };
};

/** The events of e-mail tracking. @see protocol 6.2 */
export type Tracking<T extends string, X = unknown> = {
  [N in T as `tracking.${N}`]: Envelope &
    X & {
      readonly type: `tracking.${N}`;
      readonly eventType: N;
      /** Of this event; a duplicate is handled once. */
      readonly id: Id;
      /** RFC 3339. */
      readonly createdAt: string;
      readonly trackingId: Id;
      readonly context?: string;
      readonly trackingCode?: string;
      readonly trackingThreadId?: string;
      readonly trackingMessageId?: string;
      readonly trackingInternetMessageId?: string;
    };
};

/** The person who opened or clicked: personal data, never logged. @see protocol 6.2 */
export interface View {
  readonly location?: string;
  readonly userAgent?: string;
  readonly remoteAddr?: string;
  readonly referrer?: string;
  readonly openNumber?: number;
}

/** The message of a tracking event. @see protocol 6.2 */
export interface Mail {
  readonly threadId?: string;
  readonly messageId?: string;
  readonly internetMessageId?: string;
}

/**
 * Every event by its name, which decides the type of a handler's argument. Events are frozen, all objects in them too,
 * because consumers and attempts share them: writing to one throws a TypeError. `structuredClone(event)` gives a copy to change.
 */
export interface EventMap
  extends
    Family<"email">,
    Family<"contact">,
    Family<"calendarEvent", { readonly calendarId: string }>,
    Family<"task", { readonly taskListId: string }>,
    Tracking<"open" | "click", View>,
    Tracking<"reply" | "replyBounce" | "initial", Mail> {
  booking: Envelope & {
    readonly type: "booking";
    readonly bookingId: Id;
    readonly calendarId: string;
    readonly eventId: string;
  };
  "lifecycle.error": Envelope & { readonly type: "lifecycle.error"; readonly error: string };
  "lifecycle.active": Envelope & { readonly type: "lifecycle.active" };
  unknown: UnknownEvent;
}

/** The families whose events are changes of records. */
export type ChangeFamily = "email" | "contact" | "calendarEvent" | "task";

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

/** An event that is signed and stored, but of no known type. `ctx.delivery()` has its bytes. */
export interface UnknownEvent extends Partial<Envelope> {
  readonly type: "unknown";
  /** `not-json`: the body is not JSON; `shape`: a field is missing or has another type; `resource`: the resource is not known; `value`: a known field has an unknown value. */
  readonly reason: "not-json" | "shape" | "resource" | "value";
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
