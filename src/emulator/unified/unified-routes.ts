import type { EmulatedService } from "../emulated-service.ts";
import type { Route } from "../http/routes.ts";
import { calendarRoutes } from "./calendar-routes.ts";
import { messageRoutes } from "./message-routes.ts";
import { recordRoutes } from "./record-routes.ts";
import { subscriptionRoutes } from "./subscription-routes.ts";

/** The part of the unified API that causes deliveries, and that a handler calls after one. @see protocol 4.1 */
export function unifiedRoutes(service: EmulatedService, { pageSize }: { readonly pageSize: number }): readonly Route[] {
  return [
    ...subscriptionRoutes(service, pageSize),
    ...calendarRoutes(service, pageSize),
    ...recordRoutes(service, "/v1/calendars/:collection/events", eventsOf),
    ...messageRoutes(service, pageSize),
    ...recordRoutes(service, "/v1/contacts", () => "/contacts"),
    ...recordRoutes(service, "/v1/tasklists/:collection/tasks", tasksOf),
  ];
}

function eventsOf(calendarId: string): string {
  return `/calendars/${encodeURIComponent(calendarId)}/events`;
}

function tasksOf(taskListId: string): string {
  return `/tasklists/${encodeURIComponent(taskListId)}/tasks`;
}
