import type { Dice } from "./random.ts";

/** One event of a delivery as somebody reads it who knows the service's document, and nothing of the code under test. */
export interface Wire {
  readonly type: string;
  readonly family: string;
  /** Undefined where the envelope cannot be read. */
  readonly account: number | undefined;
  readonly subscription: number | undefined;
  readonly resource: string | undefined;
  /** What names the record within its resource; undefined where nothing does. */
  readonly record: string | undefined;
  /** The event's own `id`. */
  readonly id: string | undefined;
  /** Told once: by its key, unless the content differs. */
  readonly natural: { readonly key: string; readonly content: string } | undefined;
}

/** A delivery that the service sends. */
export interface Arrival {
  readonly body: string;
  readonly source: string | undefined;
  readonly events: readonly Wire[];
}

export type ArrivalKind = "changes" | "signal" | "tracking" | "booking" | "lifecycle" | "unknown" | "many" | "big";

/** Few accounts, resources and records: what comes is to meet what came before. */
export const ACCOUNTS = [2002, 3003, 4004, 5005] as const;
const SUBSCRIPTIONS = [1001, 1002] as const;
const SOURCES = [undefined, undefined, undefined, "a", "b"] as const;
const FAMILIES = {
  email: "/email/messages",
  calendarEvent: "/calendars/primary/events",
  contact: "/contacts",
} as const;
const CHANGE_TYPES = ["created", "updated", "updated", "deleted"] as const;
const TRACKING_TYPES = ["open", "click", "reply", "replyBounce", "initial"] as const;

/** A delivery of this kind. */
export function makeArrival(dice: Dice, kind: ArrivalKind): Arrival {
  const source = dice.pick(SOURCES);
  const envelope = { subscription: dice.pick(SUBSCRIPTIONS), accountId: dice.pick(ACCOUNTS), resource: "" };
  switch (kind) {
    case "changes":
      return { source, ...changes(dice, envelope, { count: dice.int(1, 4), records: 3 }) };
    case "many":
      return { source, ...changes(dice, envelope, { count: dice.int(10, 30), records: 60 }) };
    case "big":
      return {
        source,
        ...changes(dice, envelope, {
          count: dice.int(1_001, dice.chance(0.2) ? 2_300 : 1_100),
          records: dice.pick([2, 40]),
        }),
      };
    case "signal":
      return { source, ...signal(dice, envelope) };
    case "tracking":
      return { source, ...tracking(dice, envelope, source) };
    case "booking":
      return { source, ...booking(dice, envelope, source) };
    case "lifecycle":
      return { source, ...lifecycle(dice, envelope) };
    case "unknown":
      return { source, ...unknown(dice, envelope) };
  }
}

/** The same for the same delivery again. */
export function nameOf({ body, source }: Pick<Arrival, "body" | "source">): string {
  return `${source ?? ""} ${body}`;
}

interface Envelope {
  readonly subscription: number;
  readonly accountId: number;
  readonly resource: string;
}

type Content = Omit<Arrival, "source">;

function changes(dice: Dice, from: Envelope, size: { readonly count: number; readonly records: number }): Content {
  const family = dice.pick(["email", "email", "calendarEvent", "contact"] as const);
  const envelope = { ...from, resource: FAMILIES[family] };
  const payloads = Array.from({ length: size.count }, () => ({
    id: `r${dice.int(1, size.records)}`,
    changeType: dice.chance(0.02) ? "moved" : dice.pick(CHANGE_TYPES),
  }));
  const events = payloads.map(({ id, changeType }) =>
    changeType === "moved"
      ? wire("unknown", envelope)
      : { ...wire(`${family}.${changeType}`, envelope), record: id, id },
  );
  return { body: JSON.stringify({ ...envelope, payloads }), events };
}

function signal(dice: Dice, from: Envelope): Content {
  const family = dice.pick(["email", "calendarEvent", "contact"] as const);
  const envelope = { ...from, resource: FAMILIES[family] };
  const payloads = dice.pick([undefined, null, []]);
  return { body: JSON.stringify({ ...envelope, payloads }), events: [wire(`${family}.signal`, envelope)] };
}

function tracking(dice: Dice, from: Envelope, source: string | undefined): Content {
  const envelope = { ...from, resource: "/email/tracking" };
  const payloads = Array.from({ length: dice.int(1, 3) }, () => {
    const id = dice.int(1, 8);
    const eventType = TRACKING_TYPES[id % TRACKING_TYPES.length] ?? "open";
    const entry = { id, eventType, createdAt: "2026-05-06T07:08:09Z", trackingId: id % 2 };
    return dice.chance(0.2) ? { ...entry, context: dice.pick(["one", "two"]) } : entry;
  });
  const events = payloads.map((entry) => ({
    ...wire(`tracking.${entry.eventType}`, envelope),
    record: String(entry.trackingId),
    id: String(entry.id),
    natural: {
      key: JSON.stringify([source ?? null, envelope.accountId, "tracking", entry.id]),
      content: JSON.stringify(entry),
    },
  }));
  return { body: JSON.stringify({ ...envelope, payloads }), events };
}

function booking(dice: Dice, from: Envelope, source: string | undefined): Content {
  const envelope = { ...from, resource: "/booking/935" };
  const payloads = Array.from({ length: dice.int(1, 2) }, () => ({
    bookingId: 935,
    calendarId: dice.chance(0.1) ? "c-2" : "c-1",
    eventId: `e${dice.int(1, 4)}`,
  }));
  const events = payloads.map((entry) => ({
    ...wire("booking", envelope),
    record: `935 ${entry.eventId}`,
    natural: {
      key: JSON.stringify([source ?? null, envelope.accountId, "booking", 935, entry.eventId]),
      content: JSON.stringify(entry),
    },
  }));
  return { body: JSON.stringify({ ...envelope, payloads }), events };
}

function lifecycle(dice: Dice, from: Envelope): Content {
  const envelope = { ...from, resource: FAMILIES.email };
  const lifecycleEvent = dice.pick(["error", "active"]);
  return {
    body: JSON.stringify({ ...envelope, lifecycleEvent }),
    events: [{ ...wire(`lifecycle.${lifecycleEvent}`, envelope), record: String(envelope.subscription) }],
  };
}

function unknown(dice: Dice, from: Envelope): Content {
  const nobody = { ...wire("unknown", from), account: undefined, subscription: undefined, resource: undefined };
  if (dice.chance(0.3)) return { body: `no JSON ${dice.int(1, 9)}`, events: [nobody] };
  if (dice.chance(0.3)) return { body: JSON.stringify({ resource: "/contacts", n: dice.int(1, 9) }), events: [nobody] };
  const envelope = { ...from, resource: "/files" };
  return { body: JSON.stringify({ ...envelope, payloads: [{ id: "f" }] }), events: [wire("unknown", envelope)] };
}

function wire(type: string, { subscription, accountId, resource }: Envelope): Wire {
  return {
    type,
    family: type.split(".")[0] ?? type,
    account: accountId,
    subscription,
    resource,
    record: undefined,
    id: undefined,
    natural: undefined,
  };
}
