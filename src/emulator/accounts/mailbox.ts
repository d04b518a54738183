import type { Clock } from "../../clock.ts";
import { UsageError } from "../../errors.ts";
import { resourceOf } from "../../protocol/resources.ts";
import type { Random } from "../random.ts";

/** A message, an event, a contact or a task: what was given, with an id and times. */
export interface MailboxRecord {
  readonly id: string;
  readonly createdTime: string;
  readonly lastModifiedTime: string;
  readonly [field: string]: unknown;
}

/** A collection of records: all messages, or the events of one calendar. */
export interface Collection {
  readonly family: "email" | "calendarEvent" | "contact" | "task";
  /** Of a calendar or a task list. */
  readonly id?: string;
  /** Reached by an alias, too: a calendar by `primary`, a task list by `default`. */
  readonly isDefault: boolean;
  readonly records: Map<string, MailboxRecord>;
  /** By id: as the how manieth it came. */
  readonly nthOf: Map<string, number>;
  /** By id: as the how manieth change of the mailbox the record became as it is. */
  readonly versionOf: Map<string, number>;
  /** Records that were deleted, in that order. */
  readonly removed: RemovedRecord[];
}

/** A record that was deleted. */
export interface RemovedRecord {
  readonly record: MailboxRecord;
  readonly version: number;
  /** When, as a timestamp. */
  readonly timestamp: string;
}

/** The events of one calendar, and what the calendar says of itself. */
export interface Calendar extends Collection {
  readonly id: string;
  /** Its name, colour and description. */
  readonly fields: Record<string, unknown>;
  /** Of someone else, who lets the account read it. */
  readonly isShared: boolean;
}

/** The tasks of one list, and what the list says of itself. */
export interface TaskList extends Collection {
  readonly id: string;
  readonly fields: { title: string; lastModifiedTime: string };
}

/** What happened to a record. */
export interface MailboxChange {
  readonly collection: Collection;
  readonly changeType: "created" | "updated" | "deleted";
  readonly record: MailboxRecord;
}

/** All records of one account. Every change of them is announced. */
export interface Mailbox {
  /** @throws UsageError `resource-invalid` for a path of no collection, or of a calendar or task list that is not there */
  collection(resource: string): Collection;
  /** In the order in which they came; the first is the primary one. */
  calendars(): readonly Calendar[];
  /** By its id, or the alias `primary`. */
  calendar(id: string): Calendar | undefined;
  addCalendar(fields: object, options?: { readonly isShared?: boolean }): Calendar;
  /** In the order in which they came; the first is the default one. */
  taskLists(): readonly TaskList[];
  /** By its id, or the alias `default`. */
  taskList(id: string): TaskList | undefined;
  addTaskList(title: string): TaskList;
  /** With its tasks: each is deleted. */
  removeTaskList(list: TaskList): void;
  create(collection: Collection, fields: object): MailboxRecord;
  /** Gives undefined where there is no such record. */
  update(collection: Collection, id: string, fields: object): MailboxRecord | undefined;
  remove(collection: Collection, id: string): MailboxRecord | undefined;
  /** How many changes there were. */
  readonly version: number;
}

/** What a mailbox needs. */
export interface MailboxDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly onChange: (change: MailboxChange) => void;
}

/** Ids begin with what they are, as a reader of a log wants it; the service's are opaque. */
const PREFIXES = { email: "m", calendarEvent: "e", contact: "c", task: "t" } as const;

export function createMailbox({ clock, random, onChange }: MailboxDeps): Mailbox {
  const calendars: Calendar[] = [];
  const taskLists: TaskList[] = [];
  const now = (): string => new Date(clock.now()).toISOString();
  addCalendar({ name: "Calendar" });
  addTaskList("Tasks");
  const others: readonly Collection[] = [
    { family: "email", isDefault: true, ...empty() },
    { family: "contact", isDefault: true, ...empty() },
  ];
  let count = 0;
  let version = 0;

  function addCalendar(fields: object, { isShared = false } = {}): Calendar {
    const id = `cal-${random.hex(8)}`;
    const isDefault = calendars.length === 0;
    const calendar: Calendar = { family: "calendarEvent", id, isDefault, isShared, fields: { ...fields }, ...empty() };
    calendars.push(calendar);
    return calendar;
  }

  function addTaskList(title: string): TaskList {
    const id = `list-${random.hex(8)}`;
    const isDefault = taskLists.length === 0;
    const list: TaskList = { family: "task", id, isDefault, fields: { title, lastModifiedTime: now() }, ...empty() };
    taskLists.push(list);
    return list;
  }

  function remove(collection: Collection, id: string): MailboxRecord | undefined {
    const record = collection.records.get(id);
    if (record === undefined || !collection.records.delete(id)) return undefined;
    collection.nthOf.delete(id);
    collection.versionOf.delete(id);
    collection.removed.push({ record, version: (version += 1), timestamp: now() });
    onChange({ collection, changeType: "deleted", record });
    return record;
  }

  return {
    get version() {
      return version;
    },
    calendars: () => calendars,
    calendar: (id) => calendars.find((calendar) => calendar.id === id || (id === "primary" && calendar.isDefault)),
    addCalendar,
    taskLists: () => taskLists,
    taskList: (id) => taskLists.find((list) => list.id === id || (id === "default" && list.isDefault)),
    addTaskList,
    removeTaskList(list) {
      for (const id of list.records.keys()) remove(list, id);
      taskLists.splice(taskLists.indexOf(list), 1);
    },
    collection(resource) {
      const found = resourceOf(resource);
      const id = found?.ids.calendarId ?? found?.ids.taskListId;
      const collections = [...others, ...calendars, ...taskLists];
      const collection = collections.find(
        ({ family, id: own, isDefault }) =>
          family === found?.resource.family && (id === own || (isDefault && (id === "primary" || id === "default"))),
      );
      if (collection !== undefined) return collection;
      const known = collections.map(resourcePath).join(", ");
      throw new UsageError(
        "resource-invalid",
        `There are no records at ${JSON.stringify(resource)}, expected one of ${known}.`,
      );
    },
    create(collection, fields) {
      const time = now();
      const id = `${PREFIXES[collection.family]}-${random.hex(12)}`;
      const record = { ...fields, id, createdTime: time, lastModifiedTime: time };
      collection.records.set(id, record);
      collection.nthOf.set(id, (count += 1));
      collection.versionOf.set(id, (version += 1));
      onChange({ collection, changeType: "created", record });
      return record;
    },
    update(collection, id, fields) {
      const old = collection.records.get(id);
      if (old === undefined) return undefined;
      const record = { ...old, ...fields, id, createdTime: old.createdTime, lastModifiedTime: now() };
      collection.records.set(id, record);
      collection.versionOf.set(id, (version += 1));
      onChange({ collection, changeType: "updated", record });
      return record;
    },
    remove,
  };
}

function empty(): Pick<Collection, "records" | "nthOf" | "versionOf" | "removed"> {
  return { records: new Map(), nthOf: new Map(), versionOf: new Map(), removed: [] };
}

/** True where a subscription to this resource is told of the collection's changes. @see protocol 6.1 */
export function isWatched(resource: string, { family, id, isDefault }: Collection): boolean {
  const found = resourceOf(resource);
  if (found?.resource.family !== family) return false;
  const watched = found.ids.calendarId ?? found.ids.taskListId;
  return watched === id || (isDefault && (watched === "primary" || watched === "default"));
}

function resourcePath({ family, id }: Collection): string {
  if (family === "email") return "/email/messages";
  if (family === "contact") return "/contacts";
  return family === "task" ? `/tasklists/${id}/tasks` : `/calendars/${id}/events`;
}
