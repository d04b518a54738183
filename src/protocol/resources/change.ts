import * as z from "zod/mini";
import type { Change, ChangeFamily, ChangeType } from "../events.ts";
import { recordIdField } from "../ids.ts";
import { EntryProblem } from "./entry-problem.ts";
import { fieldsReader, optional } from "../fields.ts";
import type { PathIds, Resource } from "./resource.ts";

/** What happens to records. @see protocol 6.2 */
const CHANGE_TYPES = ["created", "updated", "deleted"] as const satisfies readonly ChangeType[];

/**
 * A resource whose entries tell which record changed, or that something changed when there are none.
 *
 * @param match the ids in the resource's path; `undefined` when it is not this resource's
 * @see protocol 6.2
 */
export function changeResource(family: ChangeFamily, match: (path: string) => PathIds | undefined): Resource {
  const types = new Map<string, `${ChangeFamily}.${ChangeType}`>(
    CHANGE_TYPES.map((changeType) => [changeType, `${family}.${changeType}`]),
  );
  return {
    family,
    signal: `${family}.signal`,
    recordIds: ["id"],
    namesItself: false,
    match,
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

/** As on the wire, where the kind of change may be one that is not known yet. */
type WireChange = Omit<Change, "changeType"> & { readonly changeType: string };

type Attributes = NonNullable<Change["attributes"]>;

const readAttributes = fieldsReader<Attributes>({ threadId: optional(recordIdField) });

const readChange = fieldsReader<WireChange>({
  id: recordIdField,
  changeType: z.string(),
  attributes: z.transform((value) => {
    const attributes = readAttributes(value);
    return attributes instanceof EntryProblem ? undefined : attributes;
  }),
});
