import type { Context } from "hono";
import { operationsOf } from "../http/operation.ts";
import { ApiError } from "../http/routes.ts";
import type { SyncConfig, SyncUser } from "./sync-config.ts";

/** Of the part of the OpenAPI document that has these operations. */
export const TAG = "Sync configuration";

/** Operations of a user who has signed up. @see protocol 5 */
export function userOperations(config: SyncConfig) {
  /** @throws ApiError 401: the sign-up is to be repeated */
  function userOf(context: Context): SyncUser {
    const given = /^Basic (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const [token = "", password] = Buffer.from(given ?? "", "base64")
      .toString()
      .split(":");
    const user = password === "X" ? config.userOf(token) : undefined;
    if (user !== undefined) return user;
    throw new ApiError(
      401,
      "unauthorized",
      "Expected Basic authentication with a user's token and the password X. Sign up again.",
    );
  }

  return operationsOf({ tag: TAG, auth: "basic", caller: userOf });
}

/** @throws ApiError 404 */
export function found<T>(things: ReadonlyMap<number, T>, what: string, id: string): T {
  const thing = things.get(Number(id));
  if (thing !== undefined) return thing;
  throw new ApiError(404, "not_found", `There is no ${what} ${id}.`);
}
