import * as z from "zod/mini";
import type { Id } from "./events.ts";

/**
 * An id as a number: a safe integer, or its decimal text. Anything else is `undefined`, never rounded:
 * beyond 2^53 two ids would become one. The sign is not judged; the service has not sent a negative id yet.
 *
 * @see protocol 2.1, where a subscription's id is numeric text, and 6.2, where it is a number
 */
export function toId(value: unknown): Id | undefined {
  const id = typeof value === "string" && DECIMAL.test(value) ? Number(value) : value;
  // Adding zero makes -0 the same id as 0.
  return typeof id === "number" && Number.isSafeInteger(id) ? id + 0 : undefined;
}

/** A field that must be an id; see {@link toId}. */
export const idField: z.ZodMiniType<Id> = z.transform((value: unknown, ctx) => {
  const id = toId(value);
  if (id !== undefined) return id;
  ctx.issues.push({ code: "custom", message: "Expected a safe integer or its decimal text.", input: value });
  return z.NEVER;
});

/**
 * A field that must be the id of a record: a text, or a safe integer, which becomes its digits. Of a number beyond 2^53 the
 * digits are not known any more.
 *
 * @see protocol 6.2, where it is a text
 */
export const recordIdField: z.ZodMiniType<string> = z.transform((value: unknown, ctx) => {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isSafeInteger(value)) return String(value);
  ctx.issues.push({ code: "custom", message: "Expected a text or a safe integer.", input: value });
  return z.NEVER;
});

/** As many digits as the largest safe integer has. */
const DECIMAL = /^-?\d{1,16}$/;
