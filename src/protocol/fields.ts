import * as z from "zod/mini";
import { EntryProblem, toProblem } from "./resources/entry-problem.ts";

/**
 * One schema for each field of `T`, no more and no less, each giving that field's type:
 * so the types, which are written by hand, and the schemas cannot drift apart.
 */
export type FieldsOf<T> = { readonly [K in keyof T]-?: z.ZodMiniType<T[K]> };

/**
 * Makes a lenient reader of objects. It gives a problem when a field is missing or of another kind; else a new object
 * with the fields of `T` as their schemas give them and all others as they are. A field whose schema gives `undefined`
 * is left out.
 */
export function fieldsReader<T extends object>(fields: FieldsOf<T>): (value: unknown) => (T & Loose) | EntryProblem {
  const schema = z.object(fields);
  return (value) => {
    // The common absent field: a failed parse costs more than all the rest, because it makes an error.
    if (typeof value !== "object" || value === null) return NO_OBJECT;
    const read = schema.safeParse(value);
    return read.success ? (merge(value as Loose, read.data, fields) as T & Loose) : toProblem(read.error);
  };
}

const NO_OBJECT = new EntryProblem("shape", undefined);

/** A field that may be absent. Null counts as absent, and so does a value of another kind: the bytes still have it. */
export function optional<T>(schema: z.ZodMiniType<T>): z.ZodMiniType<T | undefined> {
  // oxlint-disable-next-line promise/valid-params -- zod's catch, no promise's
  return z.catch(z.optional(schema), undefined);
}

/** An object with fields that nobody has looked at. */
export type Loose = Record<string, unknown>;

function merge(from: Loose, read: Loose, fields: object): Loose {
  const merged: Loose = {};
  for (const key of Object.keys(from)) {
    // Assigned, this key would become the object's prototype instead of a field of it.
    if (key === "__proto__") continue;
    const value = Object.hasOwn(fields, key) ? read[key] : from[key];
    if (value !== undefined) merged[key] = value;
  }
  return merged;
}
