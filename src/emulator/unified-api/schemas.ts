import * as z from "zod";

/** A boolean of a query, which may be empty. @see protocol 4.1: "query booleans are nullable" */
export const flag = (otherwise: boolean) =>
  z
    .enum(["true", "false", ""])
    .default("")
    .transform((given) => (given === "" ? otherwise : given === "true"));

export const bodyType = z.enum(["html", "text"]).default("html");

/** Empty or absent for the first page. @see protocol 2.1 */
export const pageToken = z.string().optional();

/** The values are not shown: any are taken, and none adds anything. */
export const nativeProperties = z.array(z.string()).optional();

/** @see protocol 2.1 */
export const pageSchema = (record: z.ZodType) =>
  z.looseObject({ records: z.array(record), length: z.int(), nextPageToken: z.string().optional() });

/** @see protocol 2.1: "an OK response object", whose fields are not shown */
export const OK_ANSWER = z.looseObject({ status: z.literal("Ok") });

export const OK: z.output<typeof OK_ANSWER> = { status: "Ok" };

/** A record of the mailbox, whose other fields are as they were given. */
export const RECORD = z.looseObject({ id: z.string(), createdTime: z.string(), lastModifiedTime: z.string() });
