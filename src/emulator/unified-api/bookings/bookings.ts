import type * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { variablesOf, type WantedMeeting } from "../../bookings/bookings.ts";
import { searchedDays, zoneOf } from "../../bookings/free-times.ts";
import type { BookingProfile } from "../../bookings/profiles.ts";
import { toItem } from "../../calendars/meeting-times.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import type { operationsOf } from "../../http/operation.ts";
import { ApiError, wrongField } from "../../http/routes.ts";
import { pageOf } from "../pages.ts";
import type { MEETING, MEETING_QUERY, NEW_MEETING, TIMES, TIMES_QUERY } from "./booking-schemas.ts";

const MINUTE_MS = 60_000;

/** Makes routes of bookings: the caller is the account, or undefined for the application. */
export type BookingOperation = ReturnType<typeof operationsOf<Account | undefined>>;

/** By its id, of the account or of groups. @throws ApiError 404 */
export function profileOf({ bookings }: EmulatedService, owner: Account | undefined, id: string): BookingProfile {
  const profile = bookings.profiles.of(owner?.id).find((one) => String(one.id) === id);
  if (profile !== undefined) return profile;
  throw new ApiError(404, "not_found", `There is no booking profile ${JSON.stringify(id)}.`);
}

/** Free times of a profile, in the days that are searched. */
export function timesAnswer(
  { bookings, clock }: EmulatedService,
  profile: BookingProfile,
  { required, limit, offset, pageToken, ...wanted }: z.output<typeof TIMES_QUERY> & { readonly limit: number },
): z.output<typeof TIMES> {
  const { fields, id } = profile;
  const { nextDate, ...days } = searchedDays(fields, { now: clock.now(), ...wanted });
  const times = bookings.freeTimes(profile, days, required);
  const page = pageOf(
    times.slice(offset).map((time) => [time.startMs, time] as const),
    { list: JSON.stringify(["book", id, required, days.startMs, days.endMs]), pageToken, pageSize: limit },
  );
  const { startTime, endTime, timeAvailableFor, durationMinutes, availabilityStep, subject } = fields;
  return {
    items: page.records.map(({ accountIds, groups, ...time }) => ({
      ...toItem(time, zoneOf(fields.workHours)),
      accountIds: [...accountIds],
      groupXids: groups.map(({ extId }) => extId),
    })),
    startTime,
    endTime,
    timeAvailableFor,
    durationMinutes,
    availabilityStep,
    subject,
    additionalFields: variablesOf(profile).map((name) => ({ name, type: "string" })),
    nextPageToken: page.nextPageToken,
    ...(bookings.hasLater(profile, days.endMs) && { nextFromDate: nextDate }),
  };
}

/** Books a time, or holds it. A time that is not free is an answer, too. @throws ApiError 400 */
export function bookingAnswer(
  { bookings }: EmulatedService,
  profile: BookingProfile,
  { required, reserveForMinutes, ...body }: z.output<typeof NEW_MEETING> & z.output<typeof MEETING_QUERY>,
): z.output<typeof MEETING> {
  const { time, name, email, substitutionData, accountIds, groupXids } = body;
  const { durationMinutes } = profile.fields;
  if (time.end !== undefined && time.end !== time.start + durationMinutes * MINUTE_MS)
    throw wrongField("time.end", `expected ${durationMinutes} minutes after the start, or none`);
  const variables = new Map(Object.entries(substitutionData));
  if (name !== undefined) variables.set("name", name);
  if (email !== undefined) variables.set("email", email);
  const missing = variablesOf(profile).find((variable) => !variables.has(variable));
  if (missing !== undefined)
    throw wrongField(`substitutionData.${missing}`, "the profile's subject or description has this variable");
  const guest = { name, email };
  const wanted: WantedMeeting = { startMs: time.start, required, accountIds, groupXids, guest, variables };
  if (reserveForMinutes !== undefined) {
    const { reservationId, ...held } = bookings.reserve(profile, wanted, reserveForMinutes * MINUTE_MS) ?? {};
    return { created: false, ReservationId: reservationId, ...held };
  }
  const booked = bookings.book(profile, wanted);
  return { created: booked !== undefined, ...booked };
}
