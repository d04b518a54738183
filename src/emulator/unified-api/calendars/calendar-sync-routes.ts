import * as z from "zod";
import { toEvent } from "../../calendars/event-view.ts";
import { instancesBetween } from "../../calendars/instances.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import type { Route } from "../../http/routes.ts";
import { calendarOf } from "./calendar-routes.ts";
import { EVENT } from "./event-schemas.ts";
import { toAnswer } from "./events.ts";
import { syncRoutes } from "../sync-routes.ts";
import { TIME_WINDOW } from "./time-window.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

/** Delta sync of the events of a calendar: a series is one event. @see protocol 4.1, calendar sync */
export function calendarSyncRoutes(service: EmulatedService, options: UnifiedOptions): readonly Route[] {
  return syncRoutes(service, options, {
    tag: "Calendar sync",
    path: "/v1/calendars/:id/sync",
    records: "events",
    query: TIME_WINDOW,
    window: z.strictObject({ timeMin: z.number(), timeMax: z.number() }),
    toWindow: ({ timeMin, timeMax }) => ({ timeMin, timeMax }),
    isInside: (record, window) => instancesBetween([record], window).length > 0,
    find({ mailbox }, param) {
      const collection = calendarOf(mailbox, param("id"));
      return { collection, name: `calendar ${collection.id}` };
    },
    record: EVENT,
    toRecord: (record, { collection }) =>
      toAnswer(toEvent(record), { calendar: collection, variants: options.variants }),
    errors: [404],
  });
}
