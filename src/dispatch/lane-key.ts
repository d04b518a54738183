import { createHash } from "node:crypto";
import { familyOf } from "../protocol/event-names.ts";
import type { Envelope, SingleEvent } from "../protocol/event-types.ts";
import { catchRejection } from "../thrown.ts";
import type { Registration } from "./handlers.ts";
import { mergeEvents } from "./calls/merged-event.ts";

/**
 * The lane of a job: jobs with the same lane run one at a time, in order. Computed when the job is made, and stored with it. Two
 * lanes that happen to have the same text only wait for each other.
 */
export function laneOf(
  event: SingleEvent,
  { consumer, lane, batches, warnOfLane }: Pick<Registration, "consumer" | "lane" | "batches" | "warnOfLane">,
): string | undefined {
  if (typeof lane !== "function") return laneByKind(event, consumer, lane);
  const given = laneFrom(() => lane(mergeEvents([event], { batches })), warnOfLane);
  return given === undefined ? laneByKind(event, consumer, "record") : textOf(consumer, `=${given}`);
}

/** The lane of handlers that name none: a `.changes` handler is called for a whole resource. */
export function defaultLane(batches: boolean): "resource" | "record" {
  return batches ? "resource" : "record";
}

/** Undefined where the function throws or gives no text: all jobs would share the lane "[object Promise]", or "NaN". */
function laneFrom(call: () => unknown, warn: Registration["warnOfLane"]): string | undefined {
  try {
    const given = call();
    if (typeof given === "string" || Number.isFinite(given)) return String(given);
    catchRejection(given);
    warn(new TypeError(`The lane function gave ${typeof given === "number" ? given : typeof given}.`));
  } catch (error) {
    catchRejection(error);
    warn(error);
  }
  return undefined;
}

function laneByKind(
  event: SingleEvent,
  consumer: string,
  kind: "record" | "resource" | "account" | "none",
): string | undefined {
  const { accountId, resource } = event;
  if (kind === "none" || accountId === undefined || resource === undefined) return undefined;
  if (kind === "account") return textOf(consumer, accountId, familyOf(event.type));
  if (kind === "resource") return textOf(consumer, accountId, resource);
  const record = recordOf(event);
  return record === "" ? textOf(consumer, accountId, resource) : textOf(consumer, accountId, resource, record);
}

/**
 * A flat string. V8 keeps a template's string as a tree of its parts, which takes twice the memory in a backlog of a million. Of a longer part
 * its hash stands in it: all entries of a delivery have the same resource, which may be as long as the body, and would be stored with each.
 */
export function textOf(...parts: readonly (string | number)[]): string {
  const isLong = parts.some((part) => typeof part === "string" && part.length > LONGEST);
  return plain((isLong ? parts.map(shortened) : parts).join(" "));
}

/** In a file, as UTF-8, all halves of surrogate pairs become the same character: after a restart it would be another text. */
function plain(text: string): string {
  return HALF.test(text) ? text.replaceAll(HALVES, (half) => `%${half.charCodeAt(0).toString(16)}`) : text;
}

const HALF = /\p{Surrogate}/u;
const HALVES = /\p{Surrogate}/gu;

/** The service's own paths and ids are shorter, characters. */
const LONGEST = 1_000;

/** The last one: the next entry has the same resource. */
let known = { long: "", short: "" };

function shortened(part: string | number): string | number {
  if (typeof part === "number" || part.length <= LONGEST) return part;
  if (part !== known.long) {
    const hash = createHash("sha256").update(plain(part)).digest("base64url");
    known = { long: part, short: `${part.slice(0, 100)}...${hash}` };
  }
  return known.short;
}

/** The record of the event within its account and resource; empty for a signal, which names none. */
export function recordOf(event: SingleEvent): string {
  if ("trackingId" in event) return String(event.trackingId);
  if ("bookingId" in event) return `${event.bookingId} ${event.eventId}`;
  if ("changeType" in event) return event.id;
  return event.type.startsWith("lifecycle.") ? String((event as Envelope).subscription) : "";
}
