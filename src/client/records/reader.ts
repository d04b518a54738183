import * as z from "zod/mini";
import { EntryProblem, fieldsReader, optional, type FieldsOf, type Loose } from "../../protocol/read-fields.ts";
import { toId } from "../../protocol/id.ts";

/** Turns the JSON of an answer into what the caller gets. @throws AnswerProblem */
export type Reader<T> = (json: unknown) => T;

/** An answer has not what it must have. */
export class AnswerProblem extends Error {}

/** One of these values, or one that the service has added since. */
export type Open<T extends string> = T | (string & Record<never, never>);

/**
 * A lenient reader of objects: fields that are not listed stay as they are; a listed one that is null or of another type is left out, unless
 * it is required.
 */
export function recordReader<T extends object>(fields: FieldsOf<T>): Reader<T & Loose> {
  const read = fieldsReader(fields);
  return (json) => {
    const record = read(json);
    if (!(record instanceof EntryProblem)) return record;
    throw new AnswerProblem(
      record.field === undefined ? "it is no object" : `its field "${record.field}" is wrong or missing`,
    );
  };
}

/** A list, alone or as the first of these fields that is one. */
export function listReader<T>(read: Reader<T>, ...fields: readonly string[]): Reader<readonly T[]> {
  return (json) => {
    const list = [json, ...fields.map((field) => (json as Loose | null | undefined)?.[field])].find(Array.isArray);
    if (list === undefined)
      throw new AnswerProblem(`it has no list${fields.length === 0 ? "" : ` "${fields.join('" or "')}"`}`);
    return list.map(read);
  };
}

/** For calls that are answered with nothing, or with something that nobody needs. */
export function readNothing(): void {}

/** As it came. */
export function readAnything(json: unknown): unknown {
  return json;
}

export const text: z.ZodMiniType<string | undefined> = optional(z.string());
export const flag: z.ZodMiniType<boolean | undefined> = optional(z.boolean());
export const number: z.ZodMiniType<number | undefined> = optional(z.number());
export const texts: z.ZodMiniType<readonly string[] | undefined> = optional(z.array(z.string()));
/** An id as a number, also where the answer has it as digits. */
export const optionalId: z.ZodMiniType<number | undefined> = optional(z.transform(toId));

/** A record within a record: the same rules. */
export function nested<T extends object>(fields: FieldsOf<T>): z.ZodMiniType<(T & Loose) | undefined> {
  const read = recordReader(fields);
  return optional(z.transform((value: unknown) => attempt(read, value)));
}

/** A list of records: those that cannot be read are left out. */
export function nestedList<T extends object>(fields: FieldsOf<T>): z.ZodMiniType<readonly (T & Loose)[] | undefined> {
  const read = recordReader(fields);
  return optional(
    z.transform((value: unknown) =>
      Array.isArray(value) ? value.map((one) => attempt(read, one)).filter((one) => one !== undefined) : undefined,
    ),
  );
}

function attempt<T>(read: Reader<T>, value: unknown): T | undefined {
  try {
    return read(value);
  } catch {
    return undefined;
  }
}
