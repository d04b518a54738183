import type { EmulatedService } from "../emulated-service.ts";
import type { Route } from "../http/routes.ts";
import { calendarRoutes } from "./calendar-routes.ts";
import { recordRoutes } from "./record-routes.ts";
import { subscriptionRoutes } from "./subscription-routes.ts";

/** The part of the unified API that causes deliveries, and that a handler calls after one. @see protocol 4.1 */
export function unifiedRoutes(service: EmulatedService, { pageSize }: { readonly pageSize: number }): readonly Route[] {
  // A message is made by sending it, which is no plain record.
  const messages = recordRoutes(service, "/v1/email/messages", () => "/email/messages").filter(
    ({ method }) => method === "GET" || method === "DELETE",
  );
  return [
    ...subscriptionRoutes(service, pageSize),
    ...calendarRoutes(service, pageSize),
    ...recordRoutes(service, "/v1/calendars/:collection/events", eventsOf),
    ...messages,
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
