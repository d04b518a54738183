import type { ChangeFamily, SingleEvent } from "../events.ts";
import type { EntryProblem } from "./entry-problem.ts";

/** What a subscription can be made for, and how its deliveries are read. @see protocol 6.1 */
export interface Resource {
  /** The family of its events. */
  readonly family: ChangeFamily | "tracking" | "booking";
  /** The event of a delivery without entries; `undefined` where such a delivery says nothing. */
  readonly signal: `${ChangeFamily}.signal` | undefined;
  /** Fields of an entry that are ids of records: texts, or numbers whose digits count. */
  readonly recordIds: readonly string[];
  /** The ids in a path of this resource; `undefined` for a path of another one. Never throws. */
  match(path: string): PathIds | undefined;
  /** True where an entry says itself what the path says: the path is then not asked. */
  readonly namesItself: boolean;
  /** Reads one of `payloads`. Never throws. */
  read(entry: unknown): Entry | EntryProblem;
}

/** The ids that a resource's path can hold, decoded. */
export interface PathIds {
  readonly calendarId?: string;
  readonly taskListId?: string;
  readonly bookingId?: number;
}

/** What was read from one entry: the event it becomes, and its own fields in an object of their own. */
export interface Entry {
  readonly type: SingleEvent["type"];
  readonly fields: Record<string, unknown>;
}
