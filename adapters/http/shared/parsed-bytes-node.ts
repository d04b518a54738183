import type { IncomingMessage } from "node:http";
import { types } from "node:util";
import { bodyConsumed, type RawRequest } from "../../../src/adapter.ts";
import type { Advice, Incoming } from "./mount-node.ts";
import { declaredLength, readBodyNode } from "./read-body-node.ts";

/**
 * The stream's state shows whether the body was read, `body` does not: Express 4 sets it to `{}` without reading, and a
 * reader may have set nothing.
 */
export function bodyOf(
  { req, earlierReads }: Incoming<unknown>,
  advice: Advice,
): Pick<RawRequest, "body" | "parsedBefore"> {
  const length = declaredLength(req);
  if (length === 0) return { body: new Uint8Array(0) };
  const consumed = (): Promise<never> => Promise.reject(bodyConsumed(advice.consumed));
  // Checked again when the receiver reads: a listener of earlier middleware may have read the body by then.
  if (isUnread(req)) return { body: (limits) => (isUnread(req) ? readBodyNode(req, limits) : consumed()) };
  for (const read of earlierReads) {
    const bytes = bytesOf(read);
    // A lossy decoding to text, or a parsed JSON text, changes the length.
    if (bytes !== undefined && (length === undefined || bytes.length === length))
      return { body: bytes, parsedBefore: advice.parsedBefore };
  }
  return { body: consumed };
}

function isUnread(req: IncomingMessage): boolean {
  // With an encoding set the stream yields text: the bytes are lost.
  return !(req.readableDidRead || req.readableEncoding);
}

/** Accepts Buffers of another realm, as test runners make them. */
function bytesOf(read: unknown): Uint8Array | undefined {
  if (typeof read === "string") return Buffer.from(read);
  return types.isUint8Array(read) ? read : undefined;
}
