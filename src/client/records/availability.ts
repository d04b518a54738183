import { nestedList, recordReader, text, type Open, type Reader } from "./reader.ts";

interface SlotFields {
  readonly start?: string;
  readonly end?: string;
}

/** A time in which a meeting fits. Fields that are not listed here are kept. */
export interface TimeSlot extends SlotFields {
  readonly [field: string]: unknown;
}

interface BusyFields extends SlotFields {
  readonly status?: Open<"free" | "busy" | "tentative" | "outOfOffice" | "unknown">;
}

/** A time that is free or not. Fields that are not listed here are kept. */
export interface BusyTime extends BusyFields {
  readonly [field: string]: unknown;
}

interface ScheduleFields {
  readonly email?: string;
  readonly items?: readonly BusyTime[];
}

/** When a mailbox is busy. Fields that are not listed here are kept. @see protocol 4.1 */
export interface FreeBusySchedule extends ScheduleFields {
  /** Why nothing is known of this mailbox; the others are answered all the same. */
  readonly error?: unknown;
  readonly [field: string]: unknown;
}

interface TimesFields {
  readonly items: readonly TimeSlot[];
  /** What is known of each attendee. */
  readonly attendees?: readonly object[];
}

/** Times in which all attendees are free. Fields that are not listed here are kept. @see protocol 4.1 */
export interface MeetingTimes extends TimesFields {
  readonly [field: string]: unknown;
}

const SLOT = { start: text, end: text };
const BUSY = { ...SLOT, status: text };

export const readTimeSlot: Reader<TimeSlot> = recordReader<SlotFields>(SLOT);

export const readBusyTime: Reader<BusyTime> = recordReader<BusyFields>(BUSY);

export const readFreeBusySchedule: Reader<FreeBusySchedule> = recordReader<ScheduleFields>({
  email: text,
  items: nestedList<BusyFields>(BUSY),
});

const readTimes = recordReader<Partial<TimesFields>>({
  items: nestedList<SlotFields>(SLOT),
  attendees: nestedList<object>({}),
});

export const readMeetingTimes: Reader<MeetingTimes> = (json) => {
  const { items = [], ...rest } = readTimes(json);
  return { ...rest, items };
};
