import * as z from "zod";
import type { Account } from "../accounts/account.ts";

/** What an account is made of. Fields that are not listed are kept. @see service's public description, ApiAccountInDto */
export const NEW_ACCOUNT = z.looseObject({
  serviceType: z.string().min(1),
  active: z.boolean(),
  email: z.string().optional(),
  name: z.string().optional(),
  serverUrl: z.string().optional(),
  loginString: z.string().optional(),
  password: z.string().optional(),
  authString1: z.string().optional(),
  authString2: z.string().optional(),
  authOrgId: z.string().optional(),
  authUserId: z.string().optional(),
  clientOrgId: z.string().optional(),
});

/** Of what is given, that which no answer has. */
export function withoutSecrets(given: z.output<typeof NEW_ACCOUNT>): Readonly<Record<string, unknown>> {
  const { active: _, name: __, email: ___, password: ____, authString1: _____, authString2: ______, ...shown } = given;
  return shown;
}

/** @see service's public description, ApiAccountOutDto */
export const ACCOUNT = z.looseObject({
  id: z.int(),
  parentId: z.int().optional(),
  serviceType: z.string(),
  active: z.boolean(),
  tokenStatus: z.enum(["active", "invalid", "dead"]),
  tokenError: z.string().optional(),
  type: z.enum(["daemon", "personal", "managed"]),
  daemon: z.boolean(),
  email: z.string(),
  name: z.string(),
});

/** What comes of an authorisation. */
export const AUTHORISED = z.looseObject({
  accountId: z.int(),
  accessToken: z.string(),
  userId: z.string(),
  userSession: z.string(),
});

/** An account as the API shows it. */
export function toAccountView({ id, name, email, hasAccess, profile }: Account): z.output<typeof ACCOUNT> {
  return {
    ...profile,
    id,
    active: hasAccess,
    tokenStatus: hasAccess ? "active" : "dead",
    ...(!hasAccess && { tokenError: "Active token is missing" }),
    daemon: profile.type === "daemon",
    email,
    mailboxAddress: email,
    name,
  };
}

export function toAuthorised({ id, token, profile: { userId = `user-${id}` } }: Account): z.output<typeof AUTHORISED> {
  return { accountId: id, accessToken: token, userId, userSession: `session-${userId}` };
}
