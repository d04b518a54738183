import { changeResource } from "./change.ts";
import { pathMatcher } from "./path.ts";

/** Events of one calendar, which may be the alias `primary`. @see protocol 6.1 */
export const calendarEvent = changeResource("calendarEvent", pathMatcher("/calendars/{calendarId}/events"));
