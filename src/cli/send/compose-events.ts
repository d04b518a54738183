import type { EventMap } from "../../index.ts";
import { sample, type Sendable } from "../../testing.ts";
import { CommandError, EXIT } from "../command.ts";

/** What can be sent: any event, and the verification handshake. */
export type SendName = keyof EventMap | "handshake";

/** The fields given by `--data`. */
export type Data = Readonly<Record<string, unknown>>;

/** All events but the one that has no fields of its own. */
type KnownName = Exclude<keyof EventMap, "unknown">;

const CHANGES = ["created", "updated", "deleted", "signal", "changes"] as const;

const NAMES = [
  ...(["email", "contact", "calendarEvent", "task"] as const).flatMap((family) =>
    CHANGES.map((change) => `${family}.${change}` as const),
  ),
  "tracking.open",
  "tracking.click",
  "tracking.reply",
  "tracking.replyBounce",
  "tracking.initial",
  "booking",
  "lifecycle.error",
  "lifecycle.active",
  "unknown",
  "handshake",
] as const;

/** Every name, in the order of the help. A missing event does not compile. */
export const SEND_NAMES: AllNames<(typeof NAMES)[number]> = NAMES;

type AllNames<N> = SendName extends N ? readonly SendName[] : never;

/** Fields that not every sample has, and the events that have them. A missing or an invented field does not compile; `cause` is never sent. */
const OPTIONAL_FIELDS: Readonly<Record<Exclude<OptionalFieldOf<EventMap[KnownName]>, "cause">, RegExp>> = {
  attributes: /\.(?:created|updated|deleted)$/,
  context: /^tracking/,
  trackingCode: /^tracking/,
  trackingThreadId: /^tracking/,
  trackingMessageId: /^tracking/,
  trackingInternetMessageId: /^tracking/,
  location: /^tracking\.(?:open|click)$/,
  userAgent: /^tracking\.(?:open|click)$/,
  remoteAddr: /^tracking\.(?:open|click)$/,
  referrer: /^tracking\.(?:open|click)$/,
  openNumber: /^tracking\.(?:open|click)$/,
  threadId: /^tracking\.(?:reply|initial)/,
  messageId: /^tracking\.(?:reply|initial)/,
  internetMessageId: /^tracking\.(?:reply|initial)/,
};

type OptionalFieldOf<E> = E extends unknown
  ? { [K in keyof E]-?: object extends Pick<E, K> ? K : never }[keyof E]
  : never;

/** Fields that follow from the event's name. */
const DERIVED_FIELDS = new Set(["type", "changeType", "eventType", "lifecycleEvent", "signalled"]);

/** The fields of an event that `--data` may set. */
function fieldsOf(name: KnownName): readonly string[] {
  const optional = Object.entries(OPTIONAL_FIELDS).filter(([, events]) => events.test(name));
  const fields = new Set([...Object.keys(sample(name)), ...optional.map(([field]) => field)]);
  return [...fields].filter((field) => !DERIVED_FIELDS.has(field));
}

/**
 * Makes the events of a run.
 *
 * @returns gives the nth event, from 1 on; each is about another record
 * @throws CommandError for a field that the event does not have
 */
export function eventComposer(name: keyof EventMap, data: Data): (nth: number) => Sendable {
  if (name === "unknown") {
    // An unknown event has no fields: the data goes into the body.
    const body = { ...(sample("unknown").json as object), ...data };
    return (nth) => ({ wire: numbered(body, nth) });
  }
  const allowed = fieldsOf(name);
  for (const field of Object.keys(data))
    if (!allowed.includes(field))
      throw new CommandError(
        EXIT.usage,
        `--data got the field "${field}", which ${name} does not take. Allowed: ${allowed.join(", ")}.`,
      );
  const event = sample(name, data as Partial<EventMap[typeof name]>);
  return (nth) => numbered(event, nth);
}

/** The fields that identify a record, or one event of it. */
const IDS = new Set(["id", "trackingId", "eventId"]);

function numbered<T extends object>(thing: T, nth: number): T {
  if (nth === 1) return thing;
  const fields = Object.entries(thing).map(([name, value]) => [
    name,
    IDS.has(name) ? otherId(value, nth) : numberedEntries(value, nth),
  ]);
  return Object.fromEntries(fields) as T;
}

function numberedEntries(value: unknown, nth: number): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((entry: unknown) => (typeof entry === "object" && entry !== null ? numbered(entry, nth) : entry));
}

/** In steps of a thousand, because the ids of the samples are neighbours: a click must not get the id of an open. */
function otherId(id: unknown, nth: number): unknown {
  const step = (nth - 1) * 1_000;
  if (typeof id === "number") return id + step;
  if (typeof id !== "string") return id;
  return /^\d+$/.test(id) ? String(BigInt(id) + BigInt(step)) : `${id}-${nth}`;
}
