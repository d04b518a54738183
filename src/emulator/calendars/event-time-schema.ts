import * as z from "zod";
import { isZone } from "./event-times.ts";

/** A time that a program gives: a moment, or a day. */
export const EVENT_TIME = z
  .object({
    dateTime: z.iso.datetime({ offset: true, local: true }).optional(),
    dateOnly: z.iso.date().optional(),
    timezone: z.string().refine(isZone, "expected the name of a zone, such as Europe/Berlin").optional(),
  })
  .refine(({ dateTime, dateOnly }) => (dateTime === undefined) !== (dateOnly === undefined), {
    path: ["dateTime"],
    error: "expected either dateTime or dateOnly",
  });
