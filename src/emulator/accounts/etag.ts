import { createHash } from "node:crypto";

/** Another one as soon as anything that the record says is another. */
export function etagOf(record: Readonly<Record<string, unknown>>): string {
  const { lastModifiedTime: _, ...fields } = record;
  return `"${createHash("sha1").update(JSON.stringify(fields)).digest("base64url")}"`;
}
