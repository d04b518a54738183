import { createHmac } from "node:crypto";
import type { Emulator } from "../../../src/emulator.ts";

const USER = {
  compExtId: "org-1",
  companyName: "Example",
  instanceUrl: "https://portal.example.com/api",
  userExtId: "user-7",
  firstName: "Ada",
  lastName: "Byron",
  email: "ada@example.com",
  admin: true,
  timeZoneInfo: "Europe/London",
};

/** A sign-up of this user, signed as an integrator does. */
export function signUpOf(
  { appId, appSecret }: Emulator,
  fields: object = {},
  literal = false,
): Record<string, unknown> {
  const user = { ...USER, ...fields };
  const requestTimestamp = 1_767_323_045_000;
  const ids = literal ? "OrgId:UserId" : `${user.compExtId}:${user.userExtId}`;
  const apiHash = createHmac("sha256", appSecret).update(`${ids}:${requestTimestamp}`).digest("base64");
  return { ...user, appId, apiHash, requestTimestamp };
}
