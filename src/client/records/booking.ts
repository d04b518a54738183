import * as z from "zod/mini";
import type { Id } from "../../protocol/event-types.ts";
import { idField, optional } from "../../protocol/read-fields.ts";
import { pageReader, type Page } from "../paging.ts";
import { flag, nested, nestedList, number, optionalId, recordReader, text, texts, type Reader } from "./reader.ts";

interface ProfileFields {
  /** As `booking` events have it, in `bookingId`. */
  readonly id: Id;
  /** Of its public form. */
  readonly name?: string;
  readonly durationMinutes?: number;
  readonly subject?: string;
  readonly workHours?: object;
}

/** A page on which meetings are booked. Fields that are not listed here are kept. */
export interface BookingProfile extends ProfileFields {
  readonly [field: string]: unknown;
}

export const readProfile: Reader<BookingProfile> = recordReader<ProfileFields>({
  id: idField,
  name: text,
  durationMinutes: number,
  subject: text,
  workHours: nested<object>({}),
});

const ids: z.ZodMiniType<readonly Id[] | undefined> = optional(z.array(idField));

interface TimeFields {
  readonly start: string;
  readonly end: string;
  /** Who of the profile is free then. */
  readonly accountIds?: readonly Id[];
  readonly groupXids?: readonly string[];
}

/** A time at which a meeting can be booked. Fields that are not listed here are kept. */
export interface BookableTime extends TimeFields {
  readonly [field: string]: unknown;
}

const readTimePage = pageReader(
  recordReader<TimeFields>({ start: z.string(), end: z.string(), accountIds: ids, groupXids: texts }),
  "items",
);

interface TimesFields {
  /** For the next search: absent where nothing can be booked later. */
  readonly nextFromDate?: string;
  readonly durationMinutes?: number;
  readonly subject?: string;
  /** What is asked of whoever books: it becomes `substitutionData`. */
  readonly additionalFields?: readonly { readonly name?: string; readonly default?: string }[];
}

/** A page of times, with what a form shows of the profile. Fields that are not listed here are kept. */
export interface BookableTimes extends Page<BookableTime>, TimesFields {
  readonly [field: string]: unknown;
}

const readTimesFields = recordReader<TimesFields>({
  nextFromDate: text,
  durationMinutes: number,
  subject: text,
  additionalFields: nestedList<{ name?: string; default?: string }>({ name: text, default: text }),
});

export const readBookableTimes: Reader<BookableTimes> = (json) => {
  const { items: _, nextPageToken: __, ...fields } = readTimesFields(json);
  return { ...fields, ...readTimePage(json) };
};

interface BookedFields {
  readonly created?: boolean;
  /** Of the event, where a meeting was made. */
  readonly id?: string;
  /** Where its time is held, until it is confirmed. */
  readonly reservationId?: number;
  /** The group that was booked. */
  readonly groupXid?: string;
}

/** What became of a booking: with neither `id` nor `reservationId`, the time was not free. Fields that are not listed here are kept. */
export interface BookedMeeting extends BookedFields {
  readonly [field: string]: unknown;
}

/** The service writes `ReservationId`. */
const readBookedFields = recordReader<BookedFields & { ReservationId?: number }>({
  created: flag,
  id: text,
  reservationId: optionalId,
  ReservationId: optionalId,
  groupXid: text,
});

export const readBookedMeeting: Reader<BookedMeeting> = (json) => {
  const { ReservationId, ...booked } = readBookedFields(json);
  return { ...(ReservationId !== undefined && { reservationId: ReservationId }), ...booked };
};

interface WorkHoursFields {
  /** IANA name of the zone. */
  readonly timezone?: string;
  readonly daySchedules?: readonly { readonly dayOfWeek?: string; readonly [field: string]: unknown }[];
}

/** When an account works. Fields that are not listed here are kept, such as the `workingIntervals` of a day. */
export interface WeekWorkHours extends WorkHoursFields {
  readonly [field: string]: unknown;
}

export const readWorkHours: Reader<WeekWorkHours> = recordReader<WorkHoursFields>({
  timezone: text,
  daySchedules: nestedList<{ dayOfWeek?: string }>({ dayOfWeek: text }),
});

interface GroupFields {
  /** The name that your program has for it. */
  readonly extId: string;
  readonly accountIds?: readonly Id[];
  /** Whether one of its accounts is enough. */
  readonly required?: string;
}

/** Accounts that count as one. Fields that are not listed here are kept. */
export interface AttachedGroup extends GroupFields {
  readonly [field: string]: unknown;
}

export const readAttachedGroup: Reader<AttachedGroup> = recordReader<GroupFields>({
  extId: z.string(),
  accountIds: ids,
  required: text,
});

const readIds = recordReader<{ accountIds?: readonly Id[]; profileIds?: readonly Id[] }>({
  accountIds: ids,
  profileIds: ids,
});

export const readProfileIds: Reader<readonly Id[]> = (json) => readIds(json).profileIds ?? [];

export const readAccountIds: Reader<readonly Id[]> = (json) => readIds(json).accountIds ?? [];
