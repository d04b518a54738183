import type { Context } from "hono";
import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import type { BookingProfile } from "../../bookings/profiles.ts";
import { OFFICE_HOURS } from "../../calendars/work-hours.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, wrongField, type Route } from "../../http/routes.ts";
import { assertApplication, assertReachable, reachableAccountOf } from "../authenticate.ts";
import { WORK_HOURS } from "../calendars/availability-schemas.ts";
import { OFFSET_QUERY, offsetPageOf, offsetPageSchema } from "../offset-pages.ts";
import { OK, OK_ANSWER } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { attachRoutes } from "./attach-routes.ts";
import {
  MEETING,
  MEETING_QUERY,
  NEW_MEETING,
  NEW_PROFILE,
  PROFILE,
  PROFILE_CHANGES,
  TIMES,
  TIMES_QUERY,
} from "./booking-schemas.ts";
import { bookingAnswer, profileOf, timesAnswer, type BookingOperation } from "./bookings.ts";

const BOOKED = "booking, calendarEvent.created";
const FORM = "/v1/book/:aurinkoClientId/:name/meeting";

/** Booking: profiles of an account, profiles of groups, and public forms. @see the service's public description, book */
export function bookingRoutes(service: EmulatedService, options: UnifiedOptions): readonly Route[] {
  const account = operationsOf<Account | undefined>({
    tag: "Bookings",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });
  const group = operationsOf<Account | undefined>({
    tag: "Group bookings",
    auth: "basic",
    caller(context: Context) {
      assertApplication(service, context);
      return undefined;
    },
  });
  return [
    account({
      method: "GET",
      path: "/v1/book/account/workHours",
      summary: "Gets the work hours of the account.",
      answer: WORK_HOURS,
      run: () => ({ timezone: "UTC", daySchedules: OFFICE_HOURS }),
    }),
    ...attachRoutes(service, options, group),
    ...profileRoutes(service, options, { root: "/v1/book/account", operation: account }),
    ...profileRoutes(service, options, { root: "/v1/book/group", operation: group }),
    ...formRoutes(service, options),
  ];
}

interface Kind {
  readonly root: string;
  readonly operation: BookingOperation;
}

/** What both kinds of profile have. */
function profileRoutes(
  service: EmulatedService,
  { pageSize }: UnifiedOptions,
  { root, operation }: Kind,
): readonly Route[] {
  const { bookings } = service;
  const { profiles } = bookings;
  const one = `${root}/profiles/:id`;
  const reservation = `${root}/reservations/:id`;

  function reservationOf(caller: Account | undefined, id: string) {
    const found = bookings.reservation(caller?.id, Number(id));
    if (found !== undefined) return found;
    throw new ApiError(
      404,
      "not_found",
      `There is no reservation ${JSON.stringify(id)}: it is over, or was confirmed.`,
    );
  }

  return [
    operation({
      method: "GET",
      path: `${root}/profiles`,
      summary: "Lists booking profiles.",
      query: OFFSET_QUERY,
      answer: offsetPageSchema(PROFILE),
      isExact: true,
      run: ({ caller, query: { limit = pageSize, offset } }) =>
        offsetPageOf(profiles.of(caller?.id).map(toView), { limit, offset }),
    }),
    operation({
      method: "POST",
      path: `${root}/profiles`,
      summary: "Creates a booking profile.",
      body: NEW_PROFILE,
      answer: PROFILE,
      run({ caller, body }) {
        assertNameIsFree(service, body.name);
        return toView(profiles.add(caller?.id, body));
      },
    }),
    operation({
      method: "GET",
      path: one,
      summary: "Gets a booking profile.",
      answer: PROFILE,
      isExact: true,
      errors: [404],
      run: ({ caller, param }) => toView(profileOf(service, caller, param("id"))),
    }),
    operation({
      method: "PATCH",
      path: one,
      summary: "Updates a booking profile.",
      body: PROFILE_CHANGES,
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, body, param }) {
        const profile = profileOf(service, caller, param("id"));
        assertNameIsFree(service, body.name, profile);
        Object.assign(profile.fields, body);
        return OK;
      },
    }),
    operation({
      method: "DELETE",
      path: one,
      summary: "Deletes a booking profile. What was booked stays.",
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, param }) {
        profiles.remove(profileOf(service, caller, param("id")));
        return OK;
      },
    }),
    operation({
      method: "GET",
      path: `${one}/meeting`,
      summary: "Lists the free times of a booking profile.",
      query: TIMES_QUERY,
      answer: TIMES,
      errors: [404],
      run: ({ caller, query: { limit = pageSize, ...query }, param }) =>
        timesAnswer(service, profileOf(service, caller, param("id")), { limit, ...query }),
    }),
    operation({
      method: "POST",
      path: `${one}/meeting`,
      summary: "Books a meeting, or reserves its time.",
      causes: BOOKED,
      query: MEETING_QUERY,
      body: NEW_MEETING,
      answer: MEETING,
      errors: [404],
      run: ({ caller, query, body, param }) =>
        bookingAnswer(service, profileOf(service, caller, param("id")), { ...body, ...query }),
    }),
    operation({
      method: "POST",
      path: `${reservation}/confirm`,
      summary: "Books the meeting of a reservation.",
      causes: BOOKED,
      answer: z.looseObject({ id: z.string() }),
      errors: [404],
      run({ caller, param }) {
        const found = reservationOf(caller, param("id"));
        for (const id of found.meeting.accountIds) {
          const participant = service.accounts.get(id);
          if (participant !== undefined) assertReachable(participant);
        }
        return { id: bookings.confirm(found) };
      },
    }),
    operation({
      method: "DELETE",
      path: reservation,
      summary: "Cancels a reservation.",
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, param }) {
        bookings.cancel(reservationOf(caller, param("id")));
        return OK;
      },
    }),
  ];
}

/** What a public page asks: without authentication. */
function formRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({ tag: "Booking forms", auth: "none", caller: () => {} });

  /** @throws ApiError 404 */
  function formOf(param: (name: string) => string): BookingProfile {
    const [clientId, name] = [param("aurinkoClientId"), param("name")];
    const profile = clientId === service.appId ? service.bookings.profiles.named(name) : undefined;
    if (profile !== undefined) return profile;
    throw new ApiError(404, "not_found", `The application ${clientId} has no booking profile ${JSON.stringify(name)}.`);
  }

  return [
    operation({
      method: "GET",
      path: FORM,
      summary: "Lists the free times of a booking profile, for its public form.",
      query: TIMES_QUERY,
      answer: TIMES,
      errors: [404],
      run: ({ query: { limit = pageSize, ...query }, param }) =>
        timesAnswer(service, formOf(param), { limit, ...query }),
    }),
    operation({
      method: "POST",
      path: FORM,
      summary: "Books a meeting, or reserves its time, by a public form.",
      causes: BOOKED,
      query: MEETING_QUERY,
      body: NEW_MEETING,
      answer: MEETING,
      errors: [404],
      run: ({ query, body, param }) => bookingAnswer(service, formOf(param), { ...body, ...query }),
    }),
  ];
}

/** @throws ApiError 400 */
function assertNameIsFree({ bookings }: EmulatedService, name: string | undefined, own?: BookingProfile): void {
  const found = name === undefined ? undefined : bookings.profiles.named(name);
  if (found !== undefined && found !== own) throw wrongField("name", "another booking profile has it");
}

function toView({ id, fields }: BookingProfile): object {
  return { ...fields, id };
}
