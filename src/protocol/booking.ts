import type { Envelope, EventMap } from "./events.ts";
import { idField, recordIdField, toId } from "./ids.ts";
import { EntryProblem } from "./resources/entry-problem.ts";
import { fieldsReader } from "./fields.ts";
import { pathMatcher } from "./resources/path.ts";
import type { Resource } from "./resources/resource.ts";

/** Meetings booked on one booking page; told only when a meeting is made. @see protocol 6.2 */
export const booking: Resource = {
  family: "booking",
  signal: undefined,
  recordIds: ["calendarId", "eventId"],
  namesItself: true,
  match(path) {
    const ids = matchBooking(path);
    if (ids === undefined) return undefined;
    const bookingId = toId(ids.bookingId);
    // A page may be subscribed by a name as well.
    return bookingId === undefined ? {} : { bookingId };
  },
  read(entry) {
    const fields = readBooking(entry);
    return fields instanceof EntryProblem ? fields : { type: "booking", fields };
  },
};

const matchBooking = pathMatcher("/booking/{bookingId}");

const readBooking = fieldsReader<Omit<EventMap["booking"], keyof Envelope | "type">>({
  bookingId: idField,
  calendarId: recordIdField,
  eventId: recordIdField,
});
