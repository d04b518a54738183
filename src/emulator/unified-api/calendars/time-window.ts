import * as z from "zod";

const EXPECTED =
  'expected an RFC 3339 timestamp with its offset, such as 2026-03-29T09:00:00Z or 2026-03-29T09:00:00+02:00 (in a query "+" is written %2B)';

/** A timestamp with its offset, as milliseconds since the epoch. Milliseconds that it says are ignored. @see protocol 4.1 */
export const time = z.iso
  .datetime({ offset: true, error: ({ input }) => `got ${JSON.stringify(input) ?? "nothing"}, ${EXPECTED}` })
  .transform((text) => Math.floor(Date.parse(text) / 1_000) * 1_000);

/**
 * `timeMin` and `timeMax` of a query or a body, as milliseconds since the epoch; `TIME_WINDOW.safeExtend({ ... })` adds other fields.
 *
 * @see protocol 4.1: an event that ends at `timeMin` or begins at `timeMax` is outside
 */
export const TIME_WINDOW = z
  .object({ timeMin: time, timeMax: time })
  .refine(({ timeMin, timeMax }) => timeMin < timeMax, {
    path: ["timeMin"],
    error: "expected a time before timeMax",
  });
