import * as z from "zod";
import { toDuration } from "../../bookings/free-times.ts";
import { DATED_HOURS, ITEM, WORK_HOURS } from "../calendars/availability-schemas.ts";
import { time, TIME_WINDOW } from "../calendars/time-window.ts";
import { OFFSET_QUERY } from "../offset-pages.ts";

const duration = z
  .string()
  .refine((text) => toDuration(text) !== undefined, "expected a duration such as 30D, from a day to a year");
const moment = z.iso.datetime({ offset: true });
const minutes = z.int().min(0).max(525_600);
const accountIds = z.array(z.int());
/** The service's guide: times "when at least one user is available". */
const required = z.enum(["one", "all"]).default("one");

const FIELDS = {
  name: z.string().regex(/^[^/?#]+$/, "expected a text without / ? and #"),
  durationMinutes: z.int().min(1).max(1_440),
  bufferBetweenMinutes: minutes,
  availabilityStep: z.int().min(1).max(1_440),
  startAfterMinutes: minutes,
  startTime: moment,
  endTime: moment,
  timeAvailableFor: duration,
  subject: z.string(),
  description: z.string(),
  location: z.string(),
  workHours: WORK_HOURS,
  availabilityIntervals: DATED_HOURS,
  context: z.string(),
  startConference: z.boolean(),
  openMeetingUrl: z.string(),
  clientOrgId: z.string(),
};

/** Fields that are not listed are kept. */
export const PROFILE_CHANGES = z.looseObject(FIELDS).partial();

/** What is not given has these values. */
export const NEW_PROFILE = PROFILE_CHANGES.extend({
  durationMinutes: FIELDS.durationMinutes.default(30),
  bufferBetweenMinutes: minutes.default(0),
  availabilityStep: FIELDS.availabilityStep.default(30),
  startAfterMinutes: minutes.default(0),
  timeAvailableFor: duration.default("30D"),
});

export const PROFILE = z.looseObject({
  id: z.int(),
  name: z.string().optional(),
  durationMinutes: z.int(),
  bufferBetweenMinutes: z.int(),
  availabilityStep: z.int(),
  startAfterMinutes: z.int(),
  timeAvailableFor: z.string(),
});

/** Which free times are wanted. */
export const TIMES_QUERY = OFFSET_QUERY.extend({
  required,
  fromDate: z.iso.date().optional(),
  intervalLength: duration.default("7D"),
  pageToken: z.string().optional(),
});

export const TIMES = z.looseObject({
  items: z.array(ITEM.extend({ groupXids: z.array(z.string()), accountIds })),
  timeAvailableFor: z.string(),
  durationMinutes: z.int(),
  availabilityStep: z.int(),
  additionalFields: z.array(z.looseObject({ name: z.string(), type: z.string() })),
  nextPageToken: z.string().optional(),
  nextFromDate: z.string().optional(),
});

export const MEETING_QUERY = z.object({
  required,
  reserveForMinutes: z.coerce.number().int().min(1).max(525_600).optional(),
});

export const NEW_MEETING = z.looseObject({
  time: z.looseObject({ start: time, end: time.optional() }),
  groupXids: z.array(z.string()).optional(),
  accountIds: accountIds.optional(),
  name: z.string().optional(),
  email: z.email().optional(),
  substitutionData: z.record(z.string(), z.string()).default({}),
});

export const MEETING = z.looseObject({
  created: z.boolean(),
  id: z.string().optional(),
  ReservationId: z.int().optional(),
  groupXid: z.string().optional(),
});

export const ATTACH_GROUPS = z.object({
  groups: z.array(z.object({ extId: z.string().min(1), accountIds: accountIds.default([]), required })),
});
export const DETACH_GROUPS = z.object({
  groups: z.array(z.object({ extId: z.string(), accountIds: accountIds.optional() })),
});
export const ACCOUNTS = z.object({ accountIds });
export const ATTACHED_GROUP = z.looseObject({ extId: z.string(), accountIds, required });

/** Of which profiles one has a free time. */
export const PROFILES_AVAILABLE = TIME_WINDOW.safeExtend({
  profileNames: z.array(z.string()).optional(),
  profileIds: z.array(z.int()).optional(),
  required,
});
