import * as z from "zod";
import type { MailboxRecord } from "../accounts/mailbox.ts";
import type { Instance } from "./instances.ts";
import { gaps, intersection, union, type Interval } from "./intervals.ts";

/** How a busy time is shown; the first one counts where several events are at the same time. */
export const STATUSES = ["outOfOffice", "busy", "tentative", "unknown"] as const;

/** A stretch of time that an event takes. */
export interface BusyTime extends Interval {
  readonly status: (typeof STATUSES)[number];
}

/** The times that events take from the owner of a calendar. @param email the owner's */
export function busyTimes(instances: readonly Instance[], email: string): readonly BusyTime[] {
  return instances.flatMap(({ startMs, endMs, event }) => {
    const status = statusOf(event, email);
    return status === undefined ? [] : [{ startMs, endMs, status }];
  });
}

/** Busy times within a window, in order and without overlap: neighbours with the same status are one. */
export function toSchedule(busy: readonly BusyTime[], window: Interval): readonly BusyTime[] {
  const schedule: BusyTime[] = [];
  for (const status of STATUSES) {
    const left = gaps(union(schedule), window);
    const own = union(busy.filter((time) => time.status === status));
    for (const { startMs, endMs } of intersection(own, left)) schedule.push({ startMs, endMs, status });
  }
  return schedule.toSorted((a, b) => a.startMs - b.startMs);
}

/** A record may have any fields: a wrong value counts as none. */
const MEETING = z.object({
  canceled: z.boolean().optional().catch(undefined),
  response: z.string().optional().catch(undefined),
  attendees: z
    .array(z.object({ emailAddress: z.object({ address: z.string() }), response: z.string().optional() }).or(z.null()))
    .catch([]),
});

/** Undefined for an event that takes no time from the owner: shown as free, cancelled, or declined. */
function statusOf({ showAs, meetingInfo }: MailboxRecord, email: string): BusyTime["status"] | undefined {
  const { canceled, response, attendees } = MEETING.catch({ attendees: [] }).parse(meetingInfo);
  const own = attendees.find((attendee) => attendee?.emailAddress.address.toLowerCase() === email.toLowerCase());
  if (showAs === "free" || canceled === true || response === "declined" || own?.response === "declined")
    return undefined;
  return STATUSES.find((status) => status === (showAs ?? "busy")) ?? "unknown";
}
