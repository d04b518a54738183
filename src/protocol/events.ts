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

/** The events of one family of records: one record, a signal without a record, and all that waits at once. */
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
      /** Of this event; the same one is handled once. */
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

/** Who looked: personal data, never logged. @see protocol 6.2 */
export interface View {
  readonly location?: string;
  readonly userAgent?: string;
  readonly remoteAddr?: string;
  readonly referrer?: string;
  readonly openNumber?: number;
}

/** The message that a tracking event is about. @see protocol 6.2 */
export interface Mail {
  readonly threadId?: string;
  readonly messageId?: string;
  readonly internetMessageId?: string;
}

/**
 * Every event by its name. A handler's argument follows from the name it is registered under. Events are frozen, as deep as they go,
 * because consumers and attempts share them: writing to one throws a TypeError. `structuredClone(event)` is a copy to change.
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

/** Every event but the `.changes` batches, which a handler must ask for. */
export type OneAtATime = Exclude<keyof EventMap, `${string}.changes`>;

/** What a handler of this name gets. `"email"` is created, updated and deleted; `"*"` is everything known, one at a time. */
export type EventOf<N extends EventName> = N extends keyof EventMap
  ? EventMap[N]
  : N extends "*"
    ? EventMap[Exclude<OneAtATime, "unknown">]
    : EventMap[Extract<Exclude<OneAtATime, `${string}.signal`>, `${N}.${string}`>];

/** Signed and stored, but not understood. The bytes are at `ctx.delivery()`. */
export interface UnknownEvent extends Partial<Envelope> {
  readonly type: "unknown";
  /** `not-json`: the body is no JSON; `shape`: a field is missing or of another kind; `resource`: of no known resource; `value`: a known field has an unknown value. */
  readonly reason: "not-json" | "shape" | "resource" | "value";
  /** Which field that is; absent where the whole of it is no JSON, or no object. */
  readonly field?: string;
  /**
   * What was parsed, if anything was: a copy of one's own, each time that it is read. An integer beyond 2^53, which no number holds, is
   * the text of its digits.
   */
  readonly json?: unknown;
}

/** Any event. */
export type AnyEvent = EventMap[keyof EventMap];

/** Any event that stands for itself in a delivery: all but the `.changes` batches, which are made of several. */
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
