import * as z from "zod/mini";
import type { Id } from "./event-types.ts";
import { toId } from "./id.ts";

/** Why an entry becomes an unknown event. */
export class EntryProblem {
  /** `shape`: a field is missing or has another type; `value`: a known field has an unknown value. */
  readonly reason: "shape" | "value";
  /** The field; `undefined` where the entry is no object. */
  readonly field: string | undefined;

  constructor(reason: EntryProblem["reason"], field: string | undefined) {
    this.reason = reason;
    this.field = field;
  }
}

/** The problem of the first field that does not fit its schema. */
export function toProblem(error: z.core.$ZodError | undefined): EntryProblem {
  const field = error?.issues[0]?.path[0];
  return new EntryProblem("shape", field === undefined ? undefined : String(field));
}

/** An object from the wire: fields of any name and value. */
export type Loose = Record<string, unknown>;

/**
 * One schema for each field of `T`, each with that field's type, so that the schemas and the types, which are written by hand,
 * cannot drift apart.
 */
export type FieldsOf<T> = { readonly [K in keyof T]-?: z.ZodMiniType<T[K]> };

/**
 * Makes a lenient reader of objects: it gives a new object with the fields of `T` as their schemas give them and all other fields
 * unchanged. A field whose schema gives `undefined` is left out. The reader gives a problem where a field does not fit its schema.
 */
export function fieldsReader<T extends object>(fields: FieldsOf<T>): (value: unknown) => (T & Loose) | EntryProblem {
  const schema = z.object(fields);
  return (value) => {
    // Decided without the schema, because a failed parse makes an error, and `attributes` is absent in most entries.
    if (typeof value !== "object" || value === null) return NO_OBJECT;
    const read = schema.safeParse(value);
    return read.success ? (merge(value as Loose, read.data, fields) as T & Loose) : toProblem(read.error);
  };
}

const NO_OBJECT = new EntryProblem("shape", undefined);

/** A field that may be absent. Null and a value of another type count as absent; the stored bytes still have them. */
export function optional<T>(schema: z.ZodMiniType<T>): z.ZodMiniType<T | undefined> {
  // oxlint-disable-next-line promise/valid-params -- zod's catch, no promise's
  return z.catch(z.optional(schema), undefined);
}

/** A required id; see {@link toId}. */
export const idField: z.ZodMiniType<Id> = z.transform((value: unknown, ctx) => {
  const id = toId(value);
  if (id !== undefined) return id;
  ctx.issues.push({ code: "custom", message: "Expected a safe integer or its decimal text.", input: value });
  return z.NEVER;
});

/**
 * The required id of a record: a text, or a safe integer, which becomes its digits. Of a number beyond 2^53 the digits are lost.
 *
 * @see protocol 6.2, where it is a text
 */
export const recordIdField: z.ZodMiniType<string> = z.transform((value: unknown, ctx) => {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  ctx.issues.push({ code: "custom", message: "Expected a text or a safe integer.", input: value });
  return z.NEVER;
});

function merge(from: Loose, read: Loose, fields: object): Loose {
  const merged: Loose = {};
  for (const key of Object.keys(from)) {
    // Assigning this key would set the object's prototype.
    if (key === "__proto__") continue;
    const value = Object.hasOwn(fields, key) ? read[key] : from[key];
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}
