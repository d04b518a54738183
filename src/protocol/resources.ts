import { booking } from "./booking.ts";
import { changeResource, type ChangeFamily } from "./change.ts";
import type { SingleEvent } from "./event-types.ts";
import { type EntryProblem } from "./read-fields.ts";
import { toId } from "./id.ts";
import { tracking } from "./tracking.ts";

/** What a subscription can watch, and how its deliveries are read. @see protocol 6.1 */
export interface Resource {
  /** The family of its events. */
  readonly family: ChangeFamily | "tracking" | "booking";
  /** Its path, with the names of the ids in it, such as `/calendars/{calendarId}/events`. */
  readonly path: string;
  /** The event of a delivery without entries; `undefined` where such a delivery says nothing. */
  readonly signal: `${ChangeFamily}.signal` | undefined;
  /** Fields of an entry that are ids of records: texts, or numbers whose digits count. */
  readonly recordIds: readonly string[];
  /** True where an entry has the ids of the path as fields of its own: those of the path are then ignored. */
  readonly entryHasIds: boolean;
  /** Reads one of `payloads`. Never throws. */
  read(entry: unknown): Entry | EntryProblem;
}

/** The ids that a resource's path can hold, decoded. */
export interface PathIds {
  readonly calendarId?: string;
  readonly taskListId?: string;
  readonly bookingId?: number;
}

/** One entry as it was read: the event that it becomes, and its fields in a new object. */
export interface Entry {
  readonly type: SingleEvent["type"];
  readonly fields: Record<string, unknown>;
}

/**
 * All that can be subscribed to, the busiest first. A calendar may be the alias `primary`, a task list the alias `default`.
 * @see protocol 6.1
 */
export const RESOURCES: readonly Resource[] = [
  changeResource("email", "/email/messages"),
  changeResource("calendarEvent", "/calendars/{calendarId}/events"),
  changeResource("contact", "/contacts"),
  changeResource("task", "/tasklists/{taskListId}/tasks"),
  tracking,
  booking,
];

const PATTERNS = RESOURCES.map((resource) => ({ resource, pattern: toPattern(resource.path) }));

type Found = { readonly resource: Resource; readonly ids: PathIds } | undefined;

/** The last one: the next entry has the same path, which may be as long as a body. */
const last: { path: string; found: Found } = { path: "", found: undefined };

/** The resource of a path and the ids in it; `undefined` for a path of no known resource. Never throws. */
export function resourceOf(path: string): Found {
  if (path !== last.path) last.found = find(path);
  last.path = path; // an equal text that is another object takes as long to compare as it is
  return last.found;
}

function find(path: string): Found {
  for (const { resource, pattern } of PATTERNS) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const ids = toPathIds(match.groups ?? {});
    return ids && { resource, ids };
  }
  return undefined;
}

/** An id is one segment. Slashes at the end and a query are tolerated. */
function toPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/?]+)")}/*(?:\\?|$)`);
}

/** `undefined` for an id with a malformed escape. */
function toPathIds(groups: Record<string, string>): PathIds | undefined {
  const ids: Record<string, string | number> = {};
  try {
    for (const name of Object.keys(groups)) {
      const text = decodeURIComponent(groups[name] ?? "");
      // A booking page may be subscribed by a name as well, which is no id.
      const id = name === "bookingId" ? toId(text) : text;
      if (id !== undefined) ids[name] = id;
    }
  } catch {
    return undefined;
  }
  return ids;
}
