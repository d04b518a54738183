import { createHash } from "node:crypto";
import { familyOf } from "../protocol/event-names.ts";
import type { Envelope, EventMap, SingleEvent } from "../protocol/event-types.ts";
import { catchRejection } from "../thrown.ts";
import type { Registration } from "./handlers.ts";
import { isChange, mergeEvents } from "./calls/merged-event.ts";

/**
 * The lane of a job: jobs with the same lane run one at a time, in order. Computed when the job is made, and stored with it. A text of the
 * user's stands in it as it is.
 */
export function laneOf(
  event: SingleEvent,
  { consumer, lane, batches, warnOfLane }: Pick<Registration, "consumer" | "lane" | "batches" | "warnOfLane">,
): string | undefined {
  if (typeof lane !== "function") return laneByKind(event, consumer, lane);
  const given = laneFrom(() => lane(mergeEvents([event], { batches })), warnOfLane);
  return given === undefined
    ? laneByKind(event, consumer, "record")
    : flat([textOf(consumer), escaped(shortened(`=${given}`))]);
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
    warn(
      new TypeError(
        `The lane function gave ${typeof given === "number" ? given : typeof given}, expected a text or a number at once.`,
      ),
    );
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
  return textOf(consumer, accountId, resource, ...recordOf(event));
}

/** Parts as one text: other parts give another text, whatever is in them. */
export function textOf(...parts: readonly (string | number)[]): string {
  return flat(parts.map((part) => (typeof part === "string" ? escaped(shortened(part)).replaceAll(" ", "%_") : part)));
}

/** A flat string. V8 keeps a template's string as a tree of its parts, which takes twice the memory in a backlog of a million. */
function flat(parts: readonly (string | number)[]): string {
  return parts.join(" ");
}

/**
 * In a file, as UTF-8, all halves of surrogate pairs become the same character: after a restart it would be another text. What already looks
 * like a half or a blank, which no percent-encoded path does, gets a `25` more.
 */
function escaped(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replaceAll(LOOKALIKES, "%25").replaceAll(HALVES, (half) => `%${half.charCodeAt(0).toString(16)}`);
}

const SPECIAL = /[%\p{Surrogate}]/u;
const LOOKALIKES = /%(?=(?:25)*(?:_|d[89a-f][\da-f]{2}))/g;
const HALVES = /\p{Surrogate}/gu;

/** The service's own paths and ids are shorter, characters. */
const LONGEST = 1_000;

/** The last one: the next entry has the same resource. */
const known = { long: "", short: "" };

/**
 * Of a long part its hash stands in the text: all entries of a delivery have the same resource, which may be as long as the body, and would
 * be stored with each.
 */
export function shortened(part: string): string {
  if (part.length <= LONGEST) return part;
  if (part !== known.long) {
    const hash = createHash("sha256").update(escaped(part)).digest("base64url");
    known.short = `${part.slice(0, 100)}...${hash}`;
  }
  known.long = part; // an equal text that is another object takes as long to compare as it is
  return known.short;
}

/**
 * The record of the event within its account and resource, in parts; none for a signal, which names no record. The type alone says what
 * the event is: an entry may have any other field of the wire, such as an e-mail with a `trackingId`.
 */
export function recordOf(event: SingleEvent): readonly (string | number)[] {
  if (isChange(event)) return [event.id];
  switch (familyOf(event.type)) {
    case "tracking":
      return [(event as EventMap["tracking.open"]).trackingId];
    case "booking": {
      const { bookingId, eventId } = event as EventMap["booking"];
      return [bookingId, eventId];
    }
    case "lifecycle":
      return [(event as Envelope).subscription];
    default:
      return [];
  }
}
