import { isSource, kindOfSource } from "../assert.ts";
import { UsageError } from "../errors.ts";
import { headerOf } from "../protocol/headers.ts";
import { readSignatureHeaders } from "../protocol/signature/signature-headers.ts";
import { catchRejection } from "../thrown.ts";
import { bodyTooLarge } from "./body-limits.ts";
import { Refused } from "./refusals.ts";
import type { Checked, IngestDeps, RawRequest } from "./types.ts";

/** Rows 2 to 5 of the table of answers: all that can be decided before a byte of the body is read. */
export function checkHeaders(
  request: RawRequest,
  { scheme, clock, maxAgeSeconds, maxBodyBytes }: IngestDeps,
): Checked | Refused {
  const header = (name: string) => headerOf(request.headers, name);
  if (request.method !== "POST") return new Refused("method-not-allowed");
  const signatureHeaders = readSignatureHeaders(scheme, header, { nowMs: clock.now(), maxAgeSeconds });
  if (typeof signatureHeaders === "string") return new Refused(signatureHeaders);
  if (!isIdentity(header("content-encoding"))) return new Refused("content-encoding");
  if (Number(header("content-length")) > maxBodyBytes) return new Refused("body-too-large", bodyTooLarge(maxBodyBytes));
  try {
    return { request, signatureHeaders, source: sourceOf(request) } as Checked;
  } catch (error) {
    return new Refused("internal", error); // whatever code the user's error has
  }
}

function isIdentity(encoding: string | readonly string[] | undefined): boolean {
  if (encoding === undefined) return true;
  return String(encoding)
    .split(",")
    .every((coding) => ["", "identity"].includes(coding.trim().toLowerCase()));
}

/**
 * Reads a request's `source`, once. A user's function may return another type than it declares, which would fail in the storage,
 * together with all deliveries of the same commit.
 * @throws UsageError `option-invalid` for anything but a text of whole characters without NUL, or undefined
 */
function sourceOf(request: RawRequest): string | undefined {
  let source: unknown;
  try {
    ({ source } = request);
  } catch (cause) {
    catchRejection(cause); // `throw fetch(url)` throws a promise
    throw new UsageError("option-invalid", "The mount's `source` threw.", {
      cause,
      fix: "See the cause; where `source` does not know a request, let it return undefined.",
    });
  }
  if (isSource(source)) return source;
  catchRejection(source); // an `async` one's may reject
  throw new UsageError(
    "option-invalid",
    `The mount's \`source\` gave ${kindOfSource(source)}, expected a text of whole characters, or undefined.`,
    {
      fix: "Let `source` return a text at once, not `async`: what must be looked up belongs into `secret`, which may wait; a list of a wildcard's parts is joined by `.join('/')`.",
    },
  );
}
