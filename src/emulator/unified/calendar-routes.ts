import type { Context } from "hono";
import * as z from "zod";
import type { Calendar } from "../accounts/mailbox.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { ApiError, bodyOf, checked, type Route } from "../http/routes.ts";
import { reachableAccountOf } from "./authenticate.ts";
import { pageOf } from "./pages.ts";

const LIST = z.object({
  pageToken: z.string().optional(),
  withShared: z.enum(["true", "false", ""]).optional(),
  mode: z.enum(["user", "group"]).optional(),
});
const CALENDAR = z.looseObject({
  name: z.string().min(1),
  color: z.string().optional(),
  description: z.string().optional(),
});
const UPDATE = CALENDAR.partial();

/** Calendars of an account. @see protocol 4.1 */
export function calendarRoutes(service: EmulatedService, pageSize: number): readonly Route[] {
  function calendarOf(context: Context): Calendar {
    const id = context.req.param("id") ?? "";
    const calendar = reachableAccountOf(service, context).mailbox.calendar(id);
    if (calendar !== undefined) return calendar;
    throw new ApiError(404, "not_found", `There is no calendar ${JSON.stringify(id)}.`);
  }

  return [
    {
      method: "GET",
      path: "/v1/calendars",
      run(context) {
        const { mailbox } = reachableAccountOf(service, context);
        const { pageToken } = checked(LIST, context.req.query());
        const all = mailbox.calendars().entries();
        const page = pageOf(all, { list: "calendars", pageToken, pageSize });
        return { ...page, records: page.records.map(toRecord) };
      },
    },
    {
      method: "POST",
      path: "/v1/calendars",
      async run(context) {
        const { mailbox } = reachableAccountOf(service, context);
        return context.json(toRecord(mailbox.addCalendar(await bodyOf(context, CALENDAR))), 201);
      },
    },
    { method: "GET", path: "/v1/calendars/:id", run: (context) => toRecord(calendarOf(context)) },
    {
      method: "PATCH",
      path: "/v1/calendars/:id",
      async run(context) {
        const calendar = calendarOf(context);
        Object.assign(calendar.fields, await bodyOf(context, UPDATE));
        return toRecord(calendar);
      },
    },
  ];
}

/** @see protocol 2.1, whose "other calendar fields" the service's public description has */
function toRecord({ id, fields, isDefault }: Calendar): object {
  return { ...fields, id, accessRole: "owner", primary: isDefault };
}
