import * as z from "zod";

/** Where a counted page begins, and how many records it may have. */
export const OFFSET_QUERY = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
  offset: z.coerce.number().int().min(0).default(0),
});

/** @see the service's public description: such pages have no tokens */
export const offsetPageSchema = (record: z.ZodType) =>
  z.looseObject({ offset: z.int(), totalSize: z.int(), done: z.boolean(), records: z.array(record) });

/** A counted page. */
export function offsetPageOf<T>(
  all: readonly T[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): { readonly offset: number; readonly totalSize: number; readonly done: boolean; readonly records: readonly T[] } {
  const records = all.slice(offset, offset + limit);
  return { offset, totalSize: all.length, done: offset + limit >= all.length, records };
}
