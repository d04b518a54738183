import * as z from "zod/mini";
import type { Id } from "../../protocol/event-types.ts";
import type { Application } from "../application/create-application.ts";
import type { Client } from "../create-client.ts";
import type { Send } from "../http/transport.ts";
import { countedPageReader, createPaged, type Page, type Paged } from "../paging.ts";
import {
  readAccountIds,
  readAttachedGroup,
  readProfile,
  readProfileIds,
  readWorkHours,
  type AttachedGroup,
  type BookableTime,
  type BookableTimes,
  type BookedMeeting,
  type BookingProfile,
  type WeekWorkHours,
} from "../records/booking.ts";
import { readNothing, recordReader, type Reader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { toWindow, type Window } from "../times.ts";
import { sendOf } from "../unified/part.ts";
import { createMeetingCalls, type BookableTimesOptions, type BookOptions, type NewMeeting } from "./booking-calls.ts";

/** Booking profiles, and what is booked on them. Profiles of groups have the same calls under `/v1/book/group`. @see the service's public description, book */
export interface Bookings {
  /** `GET /v1/book/account/profiles`. Its pages are counted: the token of a page is the number of records before it. */
  list(options?: RequestOptions): Paged<BookingProfile>;
  /** `GET /v1/book/account/profiles/{id}`. @throws NotFound */
  get(id: Id, options?: RequestOptions): Promise<BookingProfile>;
  /** `POST /v1/book/account/profiles`. Never repeated by itself. */
  create(profile: BookingProfileBody, options?: RequestOptions): Promise<BookingProfile>;
  /** `PATCH /v1/book/account/profiles/{id}`. @throws NotFound */
  update(id: Id, changes: BookingProfileBody, options?: RequestOptions): Promise<void>;
  /** `DELETE /v1/book/account/profiles/{id}`. @throws NotFound */
  delete(id: Id, options?: RequestOptions): Promise<void>;
  /** `GET /v1/book/account/profiles/{id}/meeting`: the free times from a day on. `nextFromDate` of a page is where to go on. @throws NotFound */
  times(id: Id, options?: BookableTimesOptions): Paged<BookableTime, BookableTimes>;
  /**
   * `POST /v1/book/account/profiles/{id}/meeting`. Never repeated by itself. An error whose `outcomeUnknown` is true leaves open whether the
   * time was booked.
   *
   * @returns with neither `id` nor `reservationId`: the time was not free
   * @throws NotFound
   */
  book(id: Id, meeting: NewMeeting, options?: BookOptions): Promise<BookedMeeting>;
  /** `POST /v1/book/account/reservations/{id}/confirm`. @returns the id of the event. @throws NotFound also once it is over */
  confirm(reservationId: Id, options?: RequestOptions): Promise<string>;
  /** `DELETE /v1/book/account/reservations/{id}`. @throws NotFound */
  cancel(reservationId: Id, options?: RequestOptions): Promise<void>;
}

/** Booking profiles of an account. */
export interface AccountBookings extends Bookings {
  /** `GET /v1/book/account/workHours` */
  workHours(options?: RequestOptions): Promise<WeekWorkHours>;
}

/** Booking profiles of groups: meetings with one, or all, of several accounts and groups of accounts. */
export interface GroupBookings extends Bookings {
  /** `POST /v1/book/group/profiles/dynamic/availability`: those of some profiles that have a free time in a window. */
  available(request: AvailableProfilesRequest, options?: RequestOptions): Promise<readonly Id[]>;
  /** `GET /v1/book/group/profiles/{id}/attachGroups`. @throws NotFound */
  groups(id: Id, options?: RequestOptions): Paged<AttachedGroup>;
  /** `POST /v1/book/group/profiles/{id}/attachGroups`. @throws NotFound */
  attachGroups(id: Id, groups: readonly NewGroup[], options?: RequestOptions): Promise<void>;
  /** `POST /v1/book/group/profiles/{id}/detachGroups`: whole groups, or some of their accounts. @throws NotFound */
  detachGroups(id: Id, groups: readonly Omit<NewGroup, "required">[], options?: RequestOptions): Promise<void>;
  /** `GET /v1/book/group/profiles/{id}/attachAccounts`: each record is a list of ids. @throws NotFound */
  accounts(id: Id, options?: RequestOptions): Paged<readonly Id[]>;
  /** `POST /v1/book/group/profiles/{id}/attachAccounts`. @throws NotFound */
  attachAccounts(id: Id, accountIds: readonly Id[], options?: RequestOptions): Promise<void>;
  /** `POST /v1/book/group/profiles/{id}/detachAccounts`. @throws NotFound */
  detachAccounts(id: Id, accountIds: readonly Id[], options?: RequestOptions): Promise<void>;
}

/** How meetings of a profile are. Other fields are sent as they are. */
export interface BookingProfileBody {
  /** Of its public form. */
  name?: string | undefined;
  durationMinutes?: number | undefined;
  /** How far ahead can be booked: a duration such as `30D`. */
  timeAvailableFor?: string | undefined;
  /** May have `{{variables}}`, as `description` may. */
  subject?: string | undefined;
  readonly [field: string]: unknown;
}

/** Which profiles are asked. */
export interface AvailableProfilesRequest extends Window {
  profileIds?: readonly Id[] | undefined;
  profileNames?: readonly string[] | undefined;
  required?: "one" | "all" | undefined;
}

/** A group of accounts. */
export interface NewGroup {
  extId: string;
  accountIds?: readonly Id[] | undefined;
  /** Whether one of its accounts is enough. */
  required?: "one" | "all" | undefined;
}

const readPage = countedPageReader(readProfile);
const readGroups = countedPageReader(readAttachedGroup);
const readAccounts = countedPageReader(readAccountIds);
const readConfirmed = recordReader<{ id: string }>({ id: z.string() });
const done = { read: readNothing, answerOptional: true };

/** The bookings of a client's account: a part of its own. */
export function bookingsOf(client: Client): AccountBookings {
  const send = sendOf(client);
  return {
    ...createBookings(send, "/v1/book/account"),
    workHours: (options) => send({ method: "GET", path: "/v1/book/account/workHours", read: readWorkHours, options }),
  };
}

/** Bookings of groups: a part of an application. */
export function groupBookingsOf(application: Application): GroupBookings {
  const send = sendOf(application);
  const root = "/v1/book/group";
  const one = `${root}/profiles/{id}`;
  const list =
    <T>(path: string, read: Reader<Page<T>>) =>
    (id: Id, options?: RequestOptions): Paged<T> =>
      createPaged((offset) =>
        send({ method: "GET", path: `${one}/${path}`, params: { id }, query: { offset }, read, options }),
      );
  // Done twice is done once.
  const change =
    (path: string, field: string) =>
    (id: Id, given: unknown, options?: RequestOptions): Promise<void> =>
      send({
        method: "POST",
        path: `${one}/${path}`,
        params: { id },
        body: { [field]: given },
        repeatable: true,
        ...done,
        options,
      });
  return {
    ...createBookings(send, root),
    available: async ({ timeMin, timeMax, ...request }, options) =>
      send({
        method: "POST",
        path: `${root}/profiles/dynamic/availability`,
        body: { ...request, ...toWindow({ timeMin, timeMax }) },
        repeatable: true,
        read: readProfileIds,
        options,
      }),
    groups: list("attachGroups", readGroups),
    attachGroups: change("attachGroups", "groups"),
    detachGroups: change("detachGroups", "groups"),
    accounts: list("attachAccounts", readAccounts),
    attachAccounts: change("attachAccounts", "accountIds"),
    detachAccounts: change("detachAccounts", "accountIds"),
  };
}

function createBookings(send: Send, root: string): Bookings {
  const profiles = `${root}/profiles`;
  const one = `${profiles}/{id}`;
  const reservation = `${root}/reservations/{id}`;
  const { times, book } = createMeetingCalls(send, `${one}/meeting`);
  return {
    list: (options) =>
      createPaged((offset) => send({ method: "GET", path: profiles, query: { offset }, read: readPage, options })),
    get: (id, options) => send({ method: "GET", path: one, params: { id }, read: readProfile, options }),
    create: (body, options) => send({ method: "POST", path: profiles, body, read: readProfile, options }),
    update: (id, body, options) =>
      send({ method: "PATCH", path: one, params: { id }, body, repeatable: true, ...done, options }),
    delete: (id, options) => send({ method: "DELETE", path: one, params: { id }, ...done, options }),
    times: (id, options) => times({ id }, options),
    book: (id, meeting, options) => book({ id }, meeting, options),
    async confirm(id, options) {
      const confirmed = await send({
        method: "POST",
        path: `${reservation}/confirm`,
        params: { id },
        read: readConfirmed,
        options,
      });
      return confirmed.id;
    },
    cancel: (id, options) => send({ method: "DELETE", path: reservation, params: { id }, ...done, options }),
  };
}
