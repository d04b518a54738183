import { kindOf } from "../assert.ts";
import { UsageError } from "../errors.ts";

/** What has a text, like a Temporal.ZonedDateTime. */
export interface TextLike {
  /** The time with its offset. */
  toString(): string;
}

/** A Date; or a text with an offset such as `2026-03-01T09:00:00+01:00`; or what has such a text, like a Temporal.ZonedDateTime. */
export type Instant = Date | string | TextLike;

/** A span of time, both ends exclusive, milliseconds ignored. @see protocol 4.1, `timeMin` and `timeMax` */
export interface Window {
  /** Before `timeMax`. */
  timeMin: Instant;
  timeMax: Instant;
}

/** A window as a request has it. */
export interface WindowTexts {
  readonly timeMin: string;
  readonly timeMax: string;
}

/**
 * The time as the service takes it: RFC 3339 with an offset.
 *
 * @param name of the parameter
 * @throws UsageError `time-invalid`: no offset, or no such time
 */
export function toTimestamp(name: string, given: Instant): string {
  const text = textOf(given).trim();
  const parts = TIMESTAMP.exec(text);
  if (parts !== null && isReal(parts)) return parts[1] ?? text;
  throw new UsageError("time-invalid", `${name} is ${shown(given, text)}, expected a time with an offset.`, {
    fix: 'Give a Date, a Temporal.ZonedDateTime, or a text such as "2026-03-01T09:00:00+01:00": without an offset it could be any zone\'s.',
  });
}

/**
 * Both ends as the service takes them.
 *
 * @throws UsageError `time-invalid`, `window-invalid` where `timeMin` is not before `timeMax`
 */
export function toWindow({ timeMin, timeMax }: Window): WindowTexts {
  const texts = { timeMin: toTimestamp("timeMin", timeMin), timeMax: toTimestamp("timeMax", timeMax) };
  if (secondOf(texts.timeMin) < secondOf(texts.timeMax)) return texts;
  throw new UsageError(
    "window-invalid",
    `timeMin is ${texts.timeMin}, which is not before timeMax, ${texts.timeMax}; milliseconds do not count.`,
  );
}

/** RFC 3339 with an offset. Temporal adds the zone's name in brackets, which the service does not take. */
const TIMESTAMP = /^((\d{4})-(\d{2})-(\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2}))(?:\[.*\])*$/i;

function textOf(given: unknown): string {
  if (given instanceof Date) return Number.isNaN(given.getTime()) ? "" : given.toISOString();
  if (typeof given === "string") return given;
  return typeof given === "object" && given !== null ? (given as TextLike).toString() : "";
}

/** `Date.parse` takes February 30 for March 2. */
function isReal([, text = "", year, month, day]: RegExpExecArray): boolean {
  if (Number.isNaN(Date.parse(text))) return false;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

function secondOf(text: string): number {
  return Math.floor(Date.parse(text) / 1_000);
}

function shown(given: unknown, text: string): string {
  if (given instanceof Date) return "an invalid Date";
  return text === "" ? kindOf(given) : JSON.stringify(text.slice(0, 40));
}
