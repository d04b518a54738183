import type { EventMap } from "../../index.ts";
import { sample, type Sendable } from "../../testing.ts";
import { CommandError } from "../command-error.ts";
import { EXIT } from "../exit-codes.ts";
import { FIELDS } from "./fields.ts";

/** What `--data` says. */
export type Data = Readonly<Record<string, unknown>>;

/**
 * Makes the events of a run.
 *
 * @returns gives the nth event, from 1 on; each is about another record
 * @throws CommandError for a field that the event does not have
 */
export function composer(name: keyof EventMap, data: Data): (nth: number) => Sendable {
  if (name === "unknown") {
    // Nothing is known of it, so what is given is the body's own.
    const body = { ...(sample("unknown").json as object), ...data };
    return (nth) => ({ wire: numbered(body, nth) });
  }
  for (const field of Object.keys(data)) if (!Object.hasOwn(FIELDS[name], field)) throw noField(field, name);
  const event = sample(name, data as Partial<EventMap[typeof name]>);
  return (nth) => numbered(event, nth);
}

/** What tells one record, or one event of it, from another. */
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

/** In steps of a thousand, as the numbers of the samples are neighbours: a click must not get the id of an open. */
function otherId(id: unknown, nth: number): unknown {
  const step = (nth - 1) * 1_000;
  if (typeof id === "number") return id + step;
  if (typeof id !== "string") return id;
  return /^\d+$/.test(id) ? String(BigInt(id) + BigInt(step)) : `${id}-${nth}`;
}

function noField(field: string, name: keyof typeof FIELDS): CommandError {
  const allowed = Object.keys(FIELDS[name]).join(", ");
  const message = `--data got the field "${field}", which ${name} does not take. Allowed: ${allowed}.`;
  return new CommandError(EXIT.usage, message);
}
