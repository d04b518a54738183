import * as z from "zod";
import { STATUSES } from "../../calendars/busy-times.ts";
import { isZone } from "../../calendars/event-times.ts";
import { DAYS } from "../../calendars/recurrence.ts";
import { time, TIME_WINDOW } from "./time-window.ts";

const zone = z.string().refine(isZone, 'expected the IANA name of a zone, such as "Europe/Berlin"');
/** The service's guide writes a "Z" behind it, which says nothing: the zone is beside it. */
const timeOfDay = z
  .string()
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d|24:00:00)Z?$/, "expected HH:MM:SS")
  .overwrite((text) => text.replace("Z", ""));
const LATER = { path: ["end"], error: "expected a later time than the start" };
const hours = z.object({ start: timeOfDay, end: timeOfDay }).refine(({ start, end }) => start < end, LATER);
export const WORK_HOURS = z.object({
  timezone: zone.optional(),
  daySchedules: z.array(z.object({ dayOfWeek: z.enum(DAYS), workingIntervals: z.array(hours) })).optional(),
});
export const DATED_HOURS = z.object({
  intervals: z.array(
    z.object({ dateStartInclusive: z.iso.date(), dateEndInclusive: z.iso.date(), hours: z.array(hours) }),
  ),
});
const interval = z
  .object({ start: time, end: time })
  .refine(({ start, end }) => start < end, LATER)
  .transform(({ start, end }) => ({ startMs: start, endMs: end }));

/** A search of more times than can be looked through is a mistake. */
const LONGEST_SEARCH_MS = 2 * 366 * 86_400_000;

/** Of one calendar. @see protocol 2.1 */
export const FREE_BUSY = TIME_WINDOW;

export const MAILBOXES_FREE_BUSY = TIME_WINDOW.safeExtend({ emails: z.array(z.email()).default([]) });

/** Of one calendar. @see protocol 2.1; the service's public description of `suggestMeetingTimes` has the fields from the buffer on */
export const AVAILABLE_TIMES = TIME_WINDOW.safeExtend({
  durationMinutes: z.int().min(1),
  defaultTimezone: zone.optional(),
  bufferBetweenMinutes: z.int().min(0).default(0),
  availabilityStep: z.int().min(1).max(1_440).default(30),
  defaultWorkHours: WORK_HOURS.optional(),
  availabilityIntervals: DATED_HOURS.optional(),
  freeStatuses: z.array(z.enum(["free", ...STATUSES])).default(["free"]),
}).refine(({ timeMin, timeMax }) => timeMax - timeMin <= LONGEST_SEARCH_MS, {
  path: ["timeMax"],
  error: "expected at most two years after timeMin",
});

export const SUGGEST = AVAILABLE_TIMES.safeExtend({
  attendees: z
    .array(
      z.object({
        email: z.email(),
        timezone: zone.optional(),
        workHours: WORK_HOURS.optional(),
        busyIntervals: z.array(interval).default([]),
        freeIntervals: z.array(interval).optional(),
      }),
    )
    .default([]),
});

export const ITEM = z.looseObject({ start: z.string(), end: z.string() });

export const BUSY_ITEM = ITEM.extend({ status: z.enum(STATUSES) });

const error = z.string().optional();

export const SCHEDULES = z.looseObject({
  records: z.array(
    z.looseObject({ email: z.string(), items: z.array(BUSY_ITEM), error, workHours: WORK_HOURS.optional() }),
  ),
});

export const SUGGESTIONS = z.looseObject({
  items: z.array(ITEM),
  attendees: z.array(z.looseObject({ email: z.string(), timezone: z.string(), workHours: WORK_HOURS, error })),
});
