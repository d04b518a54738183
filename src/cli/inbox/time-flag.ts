import type { ValueFlag } from "../arguments.ts";

/** A moment as it was typed, given what time it is: milliseconds since the epoch. */
export type Moment = (now: number) => number;

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** So long ago, or a date and perhaps a time; without a zone it is UTC, as all that is printed. */
export const momentFlag: ValueFlag<Moment | undefined> = {
  expects: "so long ago (30m, 2h, 7d), a date (2026-11-20) or a date and time (2026-11-20T14:30Z); UTC without a zone",
  read: toMoment,
  default: undefined,
};

function toMoment(text: string): Moment | undefined {
  const [, count, unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return (now) => now - Number(count) * (UNIT_MS[unit] as number);
  const [, date, time = "00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
  // Date takes 30 February for 2 March.
  if (date === undefined || toDay(Date.parse(date)) !== date) return undefined;
  const at = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(at) ? undefined : () => at;
}

function toDay(at: number): string | undefined {
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 10);
}

/** As tables tell it, to the second, in UTC. */
export function timeText(at: Date): string {
  return `${minuteText(at)}${at.toISOString().slice(16, 19)}`;
}

/** The same to the minute. */
export function minuteText(at: Date): string {
  return at.toISOString().slice(0, 16).replace("T", " ");
}
