import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import type { Calendar } from "../../accounts/mailbox.ts";
import { toEvent } from "../../calendars/event-view.ts";
import { instancesBetween } from "../../calendars/instances.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import type { Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { calendarOf } from "./calendar-routes.ts";
import { createDeltaSync, DELTA_QUERY, deltaPageSchema, SYNC_STATUS, type DeltaSource } from "../delta-sync.ts";
import { EVENT } from "./event-schemas.ts";
import { toAnswer } from "./events.ts";
import { TIME_WINDOW } from "./time-window.ts";
import type { UnifiedOptions } from "../unified-routes.ts";

const WINDOW = z.strictObject({ timeMin: z.number(), timeMax: z.number() });
const DELETED = z.looseObject({ id: z.string(), timestamp: z.string() });

type Window = z.output<typeof WINDOW>;

/** Delta sync of the events of a calendar: a series is one event. @see protocol 4.1, calendar sync */
export function calendarSyncRoutes(
  service: EmulatedService,
  { pageSize, variants, deltaSync }: UnifiedOptions,
): readonly Route[] {
  const sync = createDeltaSync(WINDOW, deltaSync);
  const operation = operationsOf({
    tag: "Calendar sync",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });

  function sourceOf({ mailbox }: Account, calendarId: string): DeltaSource<Window> & { readonly collection: Calendar } {
    const calendar = calendarOf(mailbox, calendarId);
    return {
      mailbox,
      collection: calendar,
      resource: `calendar ${calendar.id}`,
      isInside: (record, window) => instancesBetween([record], window).length > 0,
      now: service.clock.now(),
    };
  }

  return [
    operation({
      method: "POST",
      path: "/v1/calendars/:id/sync",
      summary: "Starts a delta sync of events.",
      query: TIME_WINDOW,
      answer: SYNC_STATUS,
      errors: [404],
      run: ({ caller, query, param }) => sync.start(sourceOf(caller, param("id")), query),
    }),
    operation({
      method: "GET",
      path: "/v1/calendars/:id/sync/updated",
      summary: "Lists events that are new or have changed.",
      query: DELTA_QUERY,
      answer: deltaPageSchema(EVENT),
      errors: [404, 410],
      run({ caller, query, param }) {
        const source = sourceOf(caller, param("id"));
        const calendar = source.collection;
        const page = sync.updated(source, { ...query, pageSize });
        return {
          ...page,
          records: page.records.map(({ record }) => toAnswer(toEvent(record), { calendar, variants })),
        };
      },
    }),
    operation({
      method: "GET",
      path: "/v1/calendars/:id/sync/deleted",
      summary: "Lists events that were deleted, or have left the window.",
      query: DELTA_QUERY,
      answer: deltaPageSchema(DELETED),
      errors: [404, 410],
      run({ caller, query, param }) {
        const page = sync.deleted(sourceOf(caller, param("id")), { ...query, pageSize });
        return { ...page, records: page.records.map(({ record: { id }, timestamp }) => ({ id, timestamp })) };
      },
    }),
  ];
}
