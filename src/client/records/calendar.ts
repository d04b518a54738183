import * as z from "zod/mini";
import { flag, recordReader, text, type Open, type Reader } from "./reader.ts";
import { optional } from "../../protocol/read-fields.ts";

interface CalendarFields {
  readonly id: string;
  readonly name?: string;
  readonly color?: string;
  readonly description?: string;
  readonly accessRole?: Open<"owner" | "writer" | "reader">;
  readonly primary?: boolean;
}

/** A calendar. Fields that are not listed here are kept. @see protocol 2.1 */
export interface Calendar extends CalendarFields {
  readonly [field: string]: unknown;
}

export const readCalendar: Reader<Calendar> = recordReader<CalendarFields>({
  id: z.string(),
  name: text,
  color: text,
  description: text,
  accessRole: optional(z.string()),
  primary: flag,
});
