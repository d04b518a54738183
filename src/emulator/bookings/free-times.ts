import { Temporal } from "temporal-polyfill";
import { dayOf, startOfDay } from "../calendars/event-times.ts";
import type { Interval } from "../calendars/intervals.ts";
import { timesOf, type OwnedCalendar } from "../calendars/meeting-times.ts";
import type { AttachedGroup, BookingProfile, ProfileFields, Required } from "./profiles.ts";

/** A time at which a meeting of a profile can be. */
export interface FreeTime extends Interval {
  /** Who of the profile is free then. */
  readonly accountIds: readonly number[];
  readonly groups: readonly AttachedGroup[];
  /** Members of groups included. */
  readonly free: ReadonlySet<number>;
}

/** An account whose calendar the service can see, and times at which it is taken beside that. */
interface Bookable {
  readonly calendar: OwnedCalendar;
  readonly held: readonly Interval[];
}

/** Which times are sought. */
export interface FreeTimeSearch {
  readonly now: number;
  /** A meeting begins in it. */
  readonly window: Interval;
  readonly required: Required;
  /** Undefined for an account that cannot be booked. */
  readonly bookable: (accountId: number) => Bookable | undefined;
}

const MINUTE_MS = 60_000;

/** When the service's guide writes `30D` it means `P30D`. @returns undefined unless it is from a day to a year */
export function toDuration(text: string): Temporal.Duration | undefined {
  try {
    const duration = Temporal.Duration.from(/^P/i.test(text) ? text : `P${text}`);
    const days = duration.total({ unit: "days", relativeTo: "2024-01-01" });
    return days >= 1 && days <= 366 ? duration : undefined;
  } catch {
    return undefined;
  }
}

/** The days that are searched: from a date on, or from now. A meeting begins in them, wherever it ends. */
export function searchedDays(
  { workHours }: ProfileFields,
  {
    now,
    fromDate,
    intervalLength,
  }: { readonly now: number; readonly fromDate?: string | undefined } & {
    readonly intervalLength: string;
  },
): Interval & { readonly nextDate: string } {
  const zone = zoneOf(workHours);
  const first = fromDate === undefined ? dayOf(now, zone) : Temporal.PlainDate.from(fromDate);
  const next = first.add(toDuration(intervalLength) ?? { days: 1 });
  return { startMs: startOfDay(first, zone), endMs: startOfDay(next, zone), nextDate: next.toString() };
}

/** From when to when a meeting of a profile can begin and end. */
export function bookableWindow(fields: ProfileFields, now: number): Interval {
  const { startAfterMinutes, startTime, endTime, timeAvailableFor } = fields;
  const zoned = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zoneOf(fields.workHours));
  const latest = zoned.add(toDuration(timeAvailableFor) ?? {}).epochMilliseconds;
  return {
    startMs: Math.max(now + startAfterMinutes * MINUTE_MS, startTime === undefined ? 0 : Date.parse(startTime)),
    endMs: Math.min(latest, endTime === undefined ? Infinity : Date.parse(endTime)),
  };
}

/** The times at which one, or all, of a profile's accounts and groups are free, in order. */
export function freeTimes(profile: BookingProfile, { now, window, required, bookable }: FreeTimeSearch): FreeTime[] {
  const { fields, accountIds, groups } = profile;
  const { startMs, endMs } = bookableWindow(fields, now);
  const lastsMs = fields.durationMinutes * MINUTE_MS;
  const search = {
    ...fields,
    timeMin: Math.max(startMs, window.startMs),
    timeMax: Math.min(endMs, window.endMs + lastsMs),
    defaultTimezone: zoneOf(fields.workHours),
    defaultWorkHours: fields.workHours,
    freeStatuses: [],
  };
  const freeAt = new Map<number, Set<number>>();
  for (const id of new Set([...accountIds, ...groups.flatMap((group) => group.accountIds)])) {
    const { calendar, held } = bookable(id) ?? {};
    if (calendar === undefined || search.timeMin >= search.timeMax) continue;
    for (const time of timesOf(search, [{ attendee: { busyIntervals: held }, calendar }]))
      if (time.startMs < window.endMs) freeAt.set(time.startMs, (freeAt.get(time.startMs) ?? new Set()).add(id));
  }
  return [...freeAt]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([at, free]) => {
      const found = {
        accountIds: accountIds.filter((id) => free.has(id)),
        groups: groups.filter((group) => isFree(group, free)),
      };
      const count = found.accountIds.length + found.groups.length;
      const isEnough = required === "one" ? count > 0 : count === accountIds.length + groups.length;
      return isEnough ? [{ startMs: at, endMs: at + lastsMs, free, ...found }] : [];
    });
}

/** Who takes part in a meeting at a time: the first that is free, or all; of a group the same. */
export function participantsAt(
  { accountIds, groups, free }: FreeTime,
  required: Required,
): { readonly accountIds: readonly number[]; readonly groupXid?: string } {
  const units = [
    ...accountIds.map((id) => ({ ids: [id], groupXid: undefined })),
    ...groups.map((group) => {
      const ids = group.accountIds.filter((id) => free.has(id));
      return { ids: group.required === "one" ? ids.slice(0, 1) : ids, groupXid: group.extId };
    }),
  ];
  const chosen = required === "one" ? units.slice(0, 1) : units;
  const groupXid = chosen.find((unit) => unit.groupXid !== undefined)?.groupXid;
  return { accountIds: [...new Set(chosen.flatMap(({ ids }) => ids))], ...(groupXid !== undefined && { groupXid }) };
}

export function zoneOf(workHours: ProfileFields["workHours"]): string {
  return workHours?.timezone ?? "UTC";
}

function isFree({ accountIds, required }: AttachedGroup, free: ReadonlySet<number>): boolean {
  if (required === "one") return accountIds.some((id) => free.has(id));
  return accountIds.length > 0 && accountIds.every((id) => free.has(id));
}
