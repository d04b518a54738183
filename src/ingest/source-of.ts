import { UsageError } from "../errors.ts";
import { catchRejection } from "../thrown.ts";
import { kindOf } from "../assert.ts";
import type { RawRequest } from "./types.ts";

/**
 * Reads a request's `source`, once. Its type is the user's function's word only: another value would reach the storage, and fail
 * there for all that is stored with it.
 * @throws UsageError `option-invalid` for anything but a text or undefined
 */
export function sourceOf(request: RawRequest): string | undefined {
  let source: unknown;
  try {
    ({ source } = request);
  } catch (cause) {
    throw new UsageError("option-invalid", "The mount's `source` threw.", {
      cause,
      fix: "See the cause; where `source` does not know a request, let it return undefined.",
    });
  }
  if (source === undefined || typeof source === "string") return source;
  catchRejection(source); // an `async` one's may reject
  throw new UsageError(
    "option-invalid",
    `The mount's \`source\` gave ${kindOf(source)}, expected a text or undefined.`,
    {
      fix: "Let `source` return a text at once, not `async`: what must be looked up belongs into `secret`, which may wait; a list of a wildcard's parts is joined by `.join('/')`.",
    },
  );
}
