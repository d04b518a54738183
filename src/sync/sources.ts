import type { CalendarEvent, Client, DeletedRecord, DeltaSync, Message, SyncStart } from "../client.ts";
import { resourceOf } from "../protocol/resource-paths.ts";

/** Families with delta endpoints, by their records. */
export interface SyncRecords {
  email: Message;
  calendarEvent: CalendarEvent;
}

/** A family with delta endpoints. */
export type SyncFamily = keyof SyncRecords;

/** How far a sync looks, days. Undefined: no limit. */
export interface WindowDays {
  readonly daysPast: number | undefined;
  readonly daysAhead: number | undefined;
}

/** The same at the start of a sync. */
export interface SyncWindow {
  readonly from: Date | undefined;
  readonly until: Date | undefined;
}

/** The delta endpoints of one resource. */
export interface SyncSource<T> {
  /** @param window of `days`, from now */
  start(client: Client, window: SyncWindow & { readonly days: WindowDays }, signal: AbortSignal): Promise<SyncStart>;
  chains(client: Client): Pick<DeltaSync<T, DeletedRecord, never>, "updated" | "deleted">;
}

/** What the syncs of a family have in common. */
export interface FamilyRules<T> {
  /** Synced by `run` where it is given none. */
  readonly resource: string;
  /** Where the options name none. */
  readonly days: WindowDays;
  /** Undefined for the path of another family. */
  sourceOf(resource: string): SyncSource<T> | undefined;
}

/** Email syncs have no end ahead. @see protocol 4.1, "Calendar sync" and "Email sync" */
export const FAMILIES: { readonly [F in SyncFamily]: FamilyRules<SyncRecords[F]> } = {
  email: {
    resource: "/email/messages",
    days: { daysPast: undefined, daysAhead: undefined },
    sourceOf: (resource) =>
      resourceOf(resource)?.resource.family === "email"
        ? {
            start: ({ messages }, { days }, signal) => messages.sync.start({ daysWithin: days.daysPast }, { signal }),
            chains: ({ messages }) => messages.sync,
          }
        : undefined,
  },
  calendarEvent: {
    resource: "/calendars/primary/events",
    days: { daysPast: 30, daysAhead: 365 },
    sourceOf(resource) {
      const calendarId = resourceOf(resource)?.ids.calendarId;
      if (calendarId === undefined) return undefined;
      return {
        // Its days have both sides.
        start: (client, { from, until }, signal) =>
          client.calendar(calendarId).sync.start({ timeMin: from as Date, timeMax: until as Date }, { signal }),
        chains: (client) => client.calendar(calendarId).sync,
      };
    },
  },
};
