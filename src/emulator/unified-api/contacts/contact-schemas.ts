import * as z from "zod";
import { RECORD } from "../schemas.ts";

const text = z.string().optional();

/** Of a contact that is created or updated: what a program finds people by. Fields that are not listed are kept as they are. */
export const CONTACT_FIELDS = z.looseObject({
  name: z.looseObject({ displayName: text, givenName: text, familyName: text }).optional(),
  company: z.looseObject({ name: text, department: text, jobTitle: text }).optional(),
  emailAddresses: z.array(z.looseObject({ address: text, name: text, type: text })).optional(),
  phoneNumbers: z.array(z.looseObject({ number: text, type: text })).optional(),
  keywords: z.array(z.string()).optional(),
  birthday: text,
  notes: text,
});

/** A contact as it is shown. */
export const CONTACT = RECORD.extend({ etag: z.string(), hasPhoto: z.boolean() });

/** The answer to create and update. */
export const CONTACT_OR_ID = z.looseObject({ id: z.string(), etag: z.string(), record: CONTACT });

const READ_ONLY = new Set(["id", "etag", "createdTime", "lastModifiedTime", "hasPhoto"]);

/** Without what the service alone sets: a client that sends back what it got does not change it. */
export function toContactFields(body: z.output<typeof CONTACT_FIELDS>): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !READ_ONLY.has(name)));
}
