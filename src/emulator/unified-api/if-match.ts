import type { Context } from "hono";
import { ApiError } from "../http/routes.ts";

/** The header of a call that updates. */
export const IF_MATCH = { "If-Match": "The entity tag of the record." };

/**
 * That the record is still as the caller read it.
 *
 * @param what it is, such as `event`
 * @throws ApiError 400 where the header is missing, 412 where it has another tag
 */
export function assertMatches(context: Context, etag: string, what: string): void {
  if (ifMatchOf(context) === undefined)
    throw new ApiError(400, "badRequest", `The header "If-Match" is missing, expected the etag of the ${what}.`);
  assertMatchesIfGiven(context, etag, what);
}

/** The same where the header may be left out. @throws ApiError 412 */
export function assertMatchesIfGiven(context: Context, etag: string, what: string): void {
  const given = ifMatchOf(context);
  if (given !== undefined && given !== etag)
    throw new ApiError(
      412,
      "preconditionFailed",
      `If-Match is ${given}, but the ${what} has become ${etag}: get it again.`,
    );
}

/** An empty header is none. */
function ifMatchOf({ req }: Context): string | undefined {
  return req.header("if-match") || undefined;
}
