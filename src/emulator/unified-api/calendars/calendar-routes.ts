import * as z from "zod";
import type { Calendar, Mailbox } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { pageOf } from "../pages.ts";
import { flag, pageSchema, pageToken } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const LIST = z.object({ pageToken, withShared: flag(false), mode: z.enum(["user", "group"]).optional() });
const CREATE = z.looseObject({
  name: z.string().min(1),
  color: z.string().optional(),
  description: z.string().optional(),
});
const CALENDAR = z.looseObject({
  id: z.string(),
  name: z.string(),
  accessRole: z.enum(["owner", "writer", "reader"]),
  primary: z.boolean(),
});

/** Calendars of an account. @see protocol 4.1 */
export function calendarRoutes(service: EmulatedService, { pageSize, variants }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Calendars",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context).mailbox,
  });

  return [
    operation({
      method: "GET",
      path: "/v1/calendars",
      summary: "Lists calendars.",
      query: LIST,
      answer: pageSchema(CALENDAR),
      run({ caller, query }) {
        const all = [...caller.calendars().entries()].filter(([, { isShared }]) => query.withShared || !isShared);
        const page = pageOf(all, { list: "calendars", pageToken: query.pageToken, pageSize });
        return { ...page, records: page.records.map(toRecord) };
      },
    }),
    operation({
      method: "POST",
      path: "/v1/calendars",
      summary: "Creates a calendar.",
      body: CREATE,
      answer: CALENDAR,
      status: variants.calendarCreatedStatus,
      run: ({ caller, body }) => toRecord(caller.addCalendar(body)),
    }),
    operation({
      method: "GET",
      path: "/v1/calendars/:id",
      summary: "Gets a calendar.",
      answer: CALENDAR,
      errors: [404],
      run: ({ caller, param }) => toRecord(calendarOf(caller, param("id"))),
    }),
    operation({
      method: "PATCH",
      path: "/v1/calendars/:id",
      summary: "Updates a calendar.",
      body: CREATE.partial(),
      answer: CALENDAR,
      errors: [404],
      run({ caller, body, param }) {
        const calendar = calendarOf(caller, param("id"));
        Object.assign(calendar.fields, body);
        return toRecord(calendar);
      },
    }),
  ];
}

/** By its id, or the alias `primary`. @throws ApiError 404 */
export function calendarOf(mailbox: Mailbox, id: string): Calendar {
  const calendar = mailbox.calendar(id);
  if (calendar !== undefined) return calendar;
  throw new ApiError(404, "not_found", `There is no calendar ${JSON.stringify(id)}.`);
}

/** @see protocol 2.1, whose "other calendar fields" the service's public description has */
function toRecord({ id, fields, isDefault, isShared }: Calendar): object {
  return { ...fields, id, accessRole: isShared ? "reader" : "owner", primary: isDefault };
}
