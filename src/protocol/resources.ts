import { booking } from "./booking.ts";
import { calendarEvent } from "./resources/calendar-event.ts";
import { contact } from "./resources/contact.ts";
import { email } from "./resources/email.ts";
import type { PathIds, Resource } from "./resources/resource.ts";
import { task } from "./resources/task.ts";
import { tracking } from "./tracking.ts";

/** All that can be subscribed to, the busiest first. @see protocol 6.1 */
export const RESOURCES: readonly Resource[] = [email, calendarEvent, contact, task, tracking, booking];

/** The resource of a path and the ids in it; `undefined` for a path of no known resource. */
export function resourceOf(path: string): { readonly resource: Resource; readonly ids: PathIds } | undefined {
  for (const resource of RESOURCES) {
    const ids = resource.match(path);
    if (ids !== undefined) return { resource, ids };
  }
  return undefined;
}
