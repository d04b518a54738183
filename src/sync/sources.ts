import type { CalendarEvent, Client, Contact, DeletedRecord, DeltaSync, Message, SyncStart, Task } from "../client.ts";
import { resourceOf } from "../protocol/resources.ts";

/** Families with delta endpoints, by their records. */
export interface SyncRecords {
  email: Message;
  calendarEvent: CalendarEvent;
  contact: Contact;
  task: Task;
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
  /** Where the options name none. Undefined: all is synced, always. */
  readonly days: WindowDays | undefined;
  /** Undefined for the path of another family. */
  sourceOf(resource: string): SyncSource<T> | undefined;
}

/** Email syncs have no end ahead; contacts and tasks have no window. @see protocol 4.1, "Calendar sync" and "Email sync" */
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
  contact: {
    resource: "/contacts",
    days: undefined,
    sourceOf: (resource) =>
      resourceOf(resource)?.resource.family === "contact"
        ? {
            start: ({ contacts }, _, signal) => contacts.sync.start(undefined, { signal }),
            chains: ({ contacts }) => contacts.sync,
          }
        : undefined,
  },
  task: {
    resource: "/tasklists/default/tasks",
    days: undefined,
    sourceOf(resource) {
      const listId = resourceOf(resource)?.ids.taskListId;
      if (listId === undefined) return undefined;
      return {
        start: (client, _, signal) => client.tasks(listId).sync.start(undefined, { signal }),
        chains: (client) => client.tasks(listId).sync,
      };
    },
  },
};
