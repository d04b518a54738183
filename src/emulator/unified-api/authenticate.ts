import type { Context } from "hono";
import type { Account } from "../accounts/account.ts";
import { assertWithinRate } from "../accounts/rate-limit.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { ApiError } from "../http/routes.ts";

/**
 * The account of a request's bearer token.
 *
 * @throws ApiError 401; 429 with `Retry-After` beyond the rate limit
 * @see protocol 5
 */
export function accountOf({ accounts }: EmulatedService, context: Context): Account {
  const token = /^Bearer (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
  if (token === undefined)
    throw new ApiError(401, "unauthorized", "There is no Authorization header with a bearer token.");
  for (const account of accounts.values()) {
    if (account.token !== token) continue;
    assertWithinRate(account.calls, context);
    return account;
  }
  throw new ApiError(401, "unauthorized", "The bearer token does not belong to an account.");
}

/** The same, of an account whose mailbox the service can reach. @throws ApiError 401, 429 */
export function reachableAccountOf(service: EmulatedService, context: Context): Account {
  const account = accountOf(service, context);
  assertReachable(account);
  return account;
}

/** @throws ApiError 401 */
export function assertReachable({ hasAccess }: Account): void {
  if (!hasAccess) throw new ApiError(401, "token.refresh.failed", "The service has lost its access to the mailbox.");
}

/** The application itself calls. @throws ApiError 401 */
export function assertApplication({ appId, appSecret }: EmulatedService, { req }: Context): void {
  const expected = Buffer.from(`${appId}:${appSecret}`).toString("base64");
  if (req.header("authorization") !== `Basic ${expected}`)
    throw new ApiError(401, "unauthorized", "Expected Basic authentication with the application's id and secret.");
}
