import { createHash } from "node:crypto";
import { bodyOf } from "../../support/make-delivery.ts";

/** A delivery that a row sends, with its expected outcome. */
export interface TestDelivery {
  readonly name: string;
  readonly body: string;
  readonly sha: string;
  readonly entries: readonly TestEntry[];
}

interface TestEntry {
  /** Unique. */
  readonly name: string;
  /** Entries with the same lane must not overlap; undefined if any may. */
  readonly lane: string | undefined;
  /** Sent twice, it is one job. */
  readonly unique: boolean;
  /** Number of consumers. */
  readonly consumers: number;
}

export type Kind = "email" | "contact" | "calendar" | "task" | "tracking" | "booking";

export interface MakeOptions {
  /** @default 1 */
  readonly lane?: number;
  /** @default 1 */
  readonly entries?: number;
  /** The handler's behaviour, see `receiver-program.ts`. @default it waits a few milliseconds, or not */
  readonly does?: string;
  /** Additional bytes. @default 0 */
  readonly filler?: number;
  /** The key of a unique event, to make a second one. @default an unused number */
  readonly number?: number;
}

interface Shape {
  readonly resource: (lane: number) => string;
  readonly entry: (lane: number, number: number) => object;
  readonly lane: ((lane: number, number: number) => string) | undefined;
  readonly unique: boolean;
  readonly consumers: number;
}

const CHANGES = ["created", "updated", "updated", "deleted"] as const;

function change(id: string, number: number): object {
  return { id, changeType: CHANGES[number % CHANGES.length] };
}

/** Record lanes: merged, unless they are unique. Resource lanes: contacts as a list, calendars one at a time. */
const SHAPES: Readonly<Record<Kind, Shape>> = {
  email: {
    resource: () => "/email/messages",
    entry: (lane, number) => change(`m-${lane}`, number),
    lane: (lane) => `email ${lane}`,
    unique: false,
    consumers: 1,
  },
  contact: {
    resource: () => "/contacts",
    entry: (lane, number) => change(`k-${number}`, number),
    lane: (lane) => `contact ${lane}`,
    unique: false,
    consumers: 1,
  },
  calendar: {
    resource: (lane) => `/calendars/c-${lane}/events`,
    entry: (lane, number) => change(`e-${number}`, number),
    lane: (lane) => `calendar ${lane}`,
    unique: false,
    consumers: 1,
  },
  task: {
    resource: () => "/tasklists/default/tasks",
    entry: (lane, number) => change(`t-${lane}`, number),
    lane: undefined,
    unique: false,
    consumers: 1,
  },
  tracking: {
    resource: () => "/email/tracking",
    entry: (lane, number) => ({
      id: number,
      eventType: "open",
      createdAt: "2026-05-06T07:08:09Z",
      trackingId: lane,
    }),
    lane: (lane) => `tracking ${lane}`,
    unique: true,
    consumers: 1,
  },
  booking: {
    resource: () => "/booking/935",
    entry: (_, number) => ({ bookingId: 935, calendarId: "c-1", eventId: `b-${number}` }),
    lane: undefined,
    unique: true,
    consumers: 2,
  },
};

/** Contacts of different accounts have different lanes. */
const ACCOUNT = 2_000;

let made = 0;

export function makeDelivery(kind: Kind, options: MakeOptions = {}): TestDelivery {
  const { lane = 1, entries = 1, does, filler = 0, number: first = (made + 1) * 10_000 } = options;
  const { resource, entry, lane: laneOf, unique, consumers } = SHAPES[kind];
  const name = `d${(made += 1)}`;
  const numbers = Array.from({ length: entries }, (_, index) => first + index);
  const names = numbers.map((_, index) => `${name}.${index}`);
  const body = bodyOf({
    resource: resource(lane),
    accountId: ACCOUNT + (kind === "contact" ? lane : 0),
    payloads: numbers.map((number, index) => ({ ...entry(lane, number), name: names[index], does })),
    filler: "ä".repeat(filler / 2),
  });
  return {
    name,
    body,
    sha: createHash("sha256").update(body).digest("hex"),
    entries: numbers.map((number, index) => ({
      name: names[index] ?? "",
      lane: laneOf?.(lane, number),
      unique,
      consumers,
    })),
  };
}

/** A random delivery for load: all kinds, a few lanes, some fail at first. */
export function anyDelivery(): TestDelivery {
  const kinds = Object.keys(SHAPES) as Kind[];
  const kind = kinds[below(kinds.length)] ?? "email";
  const does = below(40) === 0 ? "fail 1" : undefined;
  return makeDelivery(kind, {
    lane: 1 + below(5),
    entries: below(6) === 0 ? 3 : 1,
    filler: below(10) === 0 ? 20_000 : below(300),
    ...(does === undefined ? {} : { does }),
  });
}

function below(count: number): number {
  return Math.floor(Math.random() * count);
}
