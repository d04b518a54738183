import type { ChangeFamily, ChangeType } from "./change.ts";
import type { EventMap, EventName } from "./event-types.ts";

/** The families of changes, in the order of protocol 6.1. */
export const CHANGE_FAMILIES = ["email", "contact", "calendarEvent", "task"] as const satisfies readonly ChangeFamily[];

/** What happens to a record. @see protocol 6.2 */
export const CHANGE_TYPES = ["created", "updated", "deleted"] as const satisfies readonly ChangeType[];

/** What follows the dot in the name of a family's event. */
const CHANGE_SUFFIXES = [...CHANGE_TYPES, "signal", "changes"] as const;

/** The types of tracking event of protocol 6.2, and `click`, which only the service's machine-readable description has. */
export const TRACKING_TYPES = ["open", "click", "reply", "replyBounce", "initial"] as const;

/** The states that a lifecycle notice announces. @see protocol 3 */
export const LIFECYCLE_STATES = ["error", "active"] as const;

/** Every name of an event, as in {@link EventMap}. */
export const EVENT_NAMES: readonly (keyof EventMap)[] = [
  ...CHANGE_FAMILIES.flatMap((family) => CHANGE_SUFFIXES.map((suffix) => `${family}.${suffix}` as const)),
  ...TRACKING_TYPES.map((type) => `tracking.${type}` as const),
  "booking",
  ...LIFECYCLE_STATES.map((state) => `lifecycle.${state}` as const),
  "unknown",
];

/** Every name that `receiver.on` takes: the events, the families, and `*`. */
export const HANDLER_NAMES: readonly EventName[] = [...EVENT_NAMES, ...CHANGE_FAMILIES, "tracking", "lifecycle", "*"];

/** The part before the dot: `email` of `email.created`. */
export function familyOf(name: string): string {
  const dot = name.indexOf(".");
  return dot === -1 ? name : name.slice(0, dot);
}

/** True for `email`, `contact`, `calendarEvent` and `task`. */
export function isChangeFamily(family: string): family is ChangeFamily {
  return (CHANGE_FAMILIES as readonly string[]).includes(family);
}
