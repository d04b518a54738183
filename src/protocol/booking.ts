import type { Envelope, EventMap } from "./event-types.ts";
import { EntryProblem, fieldsReader, idField, recordIdField } from "./fields.ts";
import type { Resource } from "./resources.ts";

/** Meetings booked on one booking page. The service sends an entry only when a meeting is made. @see protocol 6.2 */
export const booking: Resource = {
  family: "booking",
  path: "/booking/{bookingId}",
  signal: undefined,
  recordIds: ["calendarId", "eventId"],
  entryHasIds: true,
  read(entry) {
    const fields = readBooking(entry);
    return fields instanceof EntryProblem ? fields : { type: "booking", fields };
  },
};

const readBooking = fieldsReader<Omit<EventMap["booking"], keyof Envelope | "type">>({
  bookingId: idField,
  calendarId: recordIdField,
  eventId: recordIdField,
});
