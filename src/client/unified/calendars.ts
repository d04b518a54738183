import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import { readCalendar, type Calendar } from "../records/calendar.ts";
import type { RequestOptions } from "../request-options.ts";

/** Calendars of the account. @see protocol 4.1, "Calendars" */
export interface Calendars {
  /** `GET /v1/calendars` */
  list(options?: CalendarListOptions): Paged<Calendar>;
  /** `GET /v1/calendars/{id}`. @param id `primary` is an alias. @throws NotFound */
  get(id: string, options?: RequestOptions): Promise<Calendar>;
  /** `POST /v1/calendars` */
  create(body: CalendarBody, options?: RequestOptions): Promise<Calendar>;
  /** `PATCH /v1/calendars/{id}`. @throws NotFound */
  update(id: string, body: CalendarBody, options?: RequestOptions): Promise<Calendar>;
}

/** What a calendar is created or updated with. */
export interface CalendarBody {
  name: string;
  description?: string | undefined;
  color?: string | undefined;
}

/** Which calendars are listed. */
export interface CalendarListOptions extends RequestOptions {
  /** Those that others share, where the provider has them. @default false */
  withShared?: boolean | undefined;
  /** `user` or `group`; of one kind of provider. */
  mode?: string | undefined;
}

const readPage = pageReader(readCalendar);

export function createCalendars(send: Send): Calendars {
  return {
    list: ({ withShared, mode, ...options } = {}) =>
      createPaged((pageToken) =>
        send({ method: "GET", path: "/v1/calendars", query: { pageToken, withShared, mode }, read: readPage, options }),
      ),
    get: (id, options) =>
      send({ method: "GET", path: "/v1/calendars/{id}", params: { id }, read: readCalendar, options }),
    create: (body, options) => send({ method: "POST", path: "/v1/calendars", body, read: readCalendar, options }),
    update: (id, body, options) =>
      send({
        method: "PATCH",
        path: "/v1/calendars/{id}",
        params: { id },
        body,
        // The same name twice is the same name.
        repeatable: true,
        read: readCalendar,
        options,
      }),
  };
}
