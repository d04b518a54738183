import * as z from "zod/mini";
import { CHANGE_TYPES } from "./event-names.ts";
import type { Change, ChangeFamily, ChangeType } from "./event-types.ts";
import { EntryProblem, fieldsReader, optional, recordIdField } from "./fields.ts";
import type { Resource } from "./resources.ts";

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
      const fields = readChange(entry);
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

const readAttributes = fieldsReader<NonNullable<Change["attributes"]>>({ threadId: optional(recordIdField) });

const readChange = fieldsReader<WireChange>({
  id: recordIdField,
  changeType: z.string(),
  attributes: z.transform((value) => {
    const attributes = readAttributes(value);
    return attributes instanceof EntryProblem ? undefined : attributes;
  }),
});
