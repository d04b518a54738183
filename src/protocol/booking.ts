import type { Envelope, Id } from "./event-types.ts";
import { EntryProblem, fieldsReader, idField, recordIdField } from "./read-fields.ts";
import type { Resource } from "./resources.ts";

/** A meeting was made on a booking page. @see protocol 6.2 */
export interface Booking extends Envelope {
  readonly type: "booking";
  /** Of the booking page. */
  readonly bookingId: Id;
  /** Where the meeting is. */
  readonly calendarId: string;
  /** Of the meeting, in that calendar. */
  readonly eventId: string;
}

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

const readBooking = fieldsReader<Omit<Booking, keyof Envelope | "type">>({
  bookingId: idField,
  calendarId: recordIdField,
  eventId: recordIdField,
});
