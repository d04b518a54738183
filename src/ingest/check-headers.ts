import { readCredentials } from "../protocol/signature-headers.ts";
import type { RawRequest } from "./types.ts";
import { Refused, type Checked } from "./steps.ts";
import { headerOf } from "../protocol/headers.ts";
import type { ReceivingParts } from "./parts.ts";

/** Rows 2 to 4 of the table of answers: what can be told before the body is read. */
export function checkHeaders(
  request: RawRequest,
  { scheme, clock, maxAgeSeconds }: Pick<ReceivingParts, "scheme" | "clock" | "maxAgeSeconds">,
): Checked | Refused {
  if (request.method !== "POST") return new Refused("method-not-allowed");
  const credentials = readCredentials(scheme, (name) => headerOf(request.headers, name), {
    nowMs: clock.now(),
    maxAgeSeconds,
  });
  if (typeof credentials === "string") return new Refused(credentials);
  if (!isIdentity(headerOf(request.headers, "content-encoding"))) return new Refused("content-encoding");
  return { request, credentials } as Checked;
}

function isIdentity(encoding: string | readonly string[] | undefined): boolean {
  if (encoding === undefined) return true;
  return String(encoding)
    .split(",")
    .every((coding) => ["", "identity"].includes(coding.trim().toLowerCase()));
}
