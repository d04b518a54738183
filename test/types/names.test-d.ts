// Which names there are, and which events each of them brings.
import type { AnyEvent, ChangeFamily, ChangeType, EventMap, EventName, EventOf } from "hookline";
import type { Equal, Expect, Fits } from "./support.ts";

type Suffix = "created" | "updated" | "deleted" | "signal" | "changes";
type TrackingName = `tracking.${"open" | "click" | "reply" | "replyBounce" | "initial"}`;
type LifecycleName = `lifecycle.${"error" | "active"}`;
type TypeOf<N extends EventName> = EventOf<N>["type"];

export type Names = [
  Expect<Equal<ChangeFamily, "email" | "contact" | "calendarEvent" | "task">>,
  Expect<Equal<keyof EventMap, `${ChangeFamily}.${Suffix}` | TrackingName | LifecycleName | "booking" | "unknown">>,
  Expect<Equal<EventName, keyof EventMap | ChangeFamily | "tracking" | "lifecycle" | "*">>,
];

// A family is its single records: no signals, no batches.
export type Families = [
  Expect<Equal<TypeOf<"email">, "email.created" | "email.updated" | "email.deleted">>,
  Expect<Equal<TypeOf<"contact">, "contact.created" | "contact.updated" | "contact.deleted">>,
  Expect<Equal<TypeOf<"calendarEvent">, "calendarEvent.created" | "calendarEvent.updated" | "calendarEvent.deleted">>,
  Expect<Equal<TypeOf<"task">, "task.created" | "task.updated" | "task.deleted">>,
  Expect<Equal<TypeOf<"tracking">, TrackingName>>,
  Expect<Equal<TypeOf<"lifecycle">, LifecycleName>>,
  Expect<Equal<EventOf<"email">, EventMap[`email.${ChangeType}`]>>,
  Expect<Equal<EventOf<ChangeFamily>, EventMap[`${ChangeFamily}.${ChangeType}`]>>,
];

// `*` is everything known, one at a time: signals too, but no batches, and nothing unknown.
type Known = Exclude<keyof EventMap, "unknown" | `${ChangeFamily}.changes`>;
export type Star = [
  Expect<Equal<TypeOf<"*">, Known>>,
  Expect<Equal<EventOf<"*">, EventMap[Known]>>,
  Expect<Fits<EventMap["email.signal"], EventOf<"*">>>,
  Expect<Equal<Fits<EventMap["email.changes"], EventOf<"*">>, false>>,
  Expect<Equal<Fits<EventMap["unknown"], EventOf<"*">>, false>>,
];

export type SeveralNames = [
  Expect<Equal<EventOf<"email.created" | "booking">, EventMap["email.created"] | EventMap["booking"]>>,
  Expect<Equal<TypeOf<"tracking" | "task.changes">, TrackingName | "task.changes">>,
  Expect<Equal<EventOf<"*" | "unknown" | `${ChangeFamily}.changes`>, AnyEvent>>,
];

// Each type tells its event apart, and every event has one.
export type Tags = [
  Expect<Equal<AnyEvent["type"], keyof EventMap>>,
  Expect<Equal<{ [T in keyof EventMap]: EventMap[T]["type"] }, { [T in keyof EventMap]: T }>>,
];

// @ts-expect-error -- a typing mistake in a name
export type Mistyped = EventOf<"email.create">;
// @ts-expect-error -- the wire's name for a family
export type OfTheWire = EventOf<"messages">;
// @ts-expect-error -- a family has no wildcard of its own: it is called "email"
export type Wildcard = EventOf<"email.*">;
// @ts-expect-error -- a booking comes as one event, it has no kinds
export type Kind = EventOf<"booking.created">;
// @ts-expect-error -- any text is no name
export type AnyText = EventOf<string>;
