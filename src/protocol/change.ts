import * as z from "zod/mini";
import { CHANGE_TYPES } from "./event-names.ts";
import type { Envelope } from "./event-types.ts";
import { EntryProblem, fieldsReader, optional, recordIdField, type Loose } from "./read-fields.ts";
import type { Resource } from "./resources.ts";

/** The families whose events are changes of records. */
export type ChangeFamily = "email" | "contact" | "calendarEvent" | "task";

/** What happened to a record. @see protocol 6.2 */
export type ChangeType = "created" | "updated" | "deleted";

/** One changed record. It is a hint: fetch the record to learn what it is now. @see protocol 6.2 */
export interface Change<C extends ChangeType = ChangeType> {
  /** The record's id, opaque. */
  readonly id: string;
  /** Of several merged changes: `deleted` if the last one is, else `created` if any is, else `updated`. */
  readonly changeType: C;
  /** Sent by the service for e-mail, but not in its guide. */
  readonly attributes?: { readonly threadId?: string };
}

/** The events of one family of records: a change of one record, a signal without a record, and all pending changes as one batch. */
export type Family<F extends string, X = unknown> = {
  [C in ChangeType as `${F}.${C}`]: Envelope & X & Change<C> & { readonly type: `${F}.${C}` };
} & {
  // "Something changed": it names no record, so it has no id.
  [T in `${F}.signal`]: Envelope & X & { readonly type: T };
} & {
  [T in `${F}.changes`]: Envelope &
    X & {
      readonly type: T;
      /** All changes of the batch, in the order of receipt; empty where there were only signals. */
      readonly changes: readonly Change[];
      /** Whether a signal is among them, which names no record: then the list is not complete. */
      readonly signalled: boolean;
      /** Something may have been missed, such as in an outage: fetch all that changed since. */
      readonly cause?: "gap";
    };
};

/** A resource whose entries say which record changed, or that something changed when there are none. @see protocol 6.2 */
export function changeResource(family: ChangeFamily, path: string): Resource {
  const types = new Map<string, `${ChangeFamily}.${ChangeType}`>(
    CHANGE_TYPES.map((changeType) => [changeType, `${family}.${changeType}`]),
  );
  return {
    family,
    path,
    signal: `${family}.signal`,
    recordIds: ["id"],
    entryHasIds: false,
    read(entry) {
      const fields = readUsualChange(entry) ?? readChange(entry);
      if (fields instanceof EntryProblem) return fields;
      // It names no record: fetching it would fetch the whole list.
      if (fields.id === "") return new EntryProblem("shape", "id");
      const type = types.get(fields.changeType);
      return type === undefined ? new EntryProblem("value", "changeType") : { type, fields };
    },
  };
}

/** As on the wire, where `changeType` may have a value that is not known yet. */
type WireChange = Omit<Change, "changeType"> & { readonly changeType: string };

/**
 * An entry whose known fields are texts already, or undefined for any other: nearly every entry, in a tenth of the time that
 * {@link readChange} takes. Gives the same as that.
 */
export function readUsualChange(entry: unknown): (WireChange & Loose) | undefined {
  if (!isUsual(entry) || typeof entry["id"] !== "string" || typeof entry["changeType"] !== "string") return undefined;
  const { attributes } = entry;
  if (attributes === undefined) return { ...entry } as WireChange & Loose;
  if (!isUsual(attributes) || typeof attributes["threadId"] !== "string") return undefined;
  return { ...entry, attributes: { ...attributes } } as WireChange & Loose;
}

/** An object that a spread copies as the schema does, which leaves this key out. */
function isUsual(value: unknown): value is Loose {
  return typeof value === "object" && value !== null && !Object.hasOwn(value, "__proto__");
}

const readAttributes = fieldsReader<NonNullable<Change["attributes"]>>({ threadId: optional(recordIdField) });

/** An entry by its schema. */
export const readChange: (entry: unknown) => (WireChange & Loose) | EntryProblem = fieldsReader<WireChange>({
  id: recordIdField,
  changeType: z.string(),
  attributes: z.transform((value) => {
    const attributes = readAttributes(value);
    return attributes instanceof EntryProblem ? undefined : attributes;
  }),
});
