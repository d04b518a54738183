import { createHmac } from "node:crypto";
import type { Context } from "hono";
import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import { PERSONAL, type AccountProfile } from "../accounts/profile.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { operationsOf } from "../http/operation.ts";
import { ApiError, wrongField, type Route } from "../http/routes.ts";
import { AUTHORISED, toAuthorised } from "./account-view.ts";
import { accountOf, assertApplication } from "./authenticate.ts";

const AUTHORIZE = z.looseObject({
  clientId: z.string(),
  serviceType: z.string().min(1),
  returnUrl: z.url({ protocol: /^https?$/ }),
  scopes: z.string().optional(),
  responseType: z.enum(["code", "token"]).default("code"),
  state: z.string().optional(),
  accountId: z.coerce.number().int().optional(),
  loginHint: z.string().optional(),
});
const AUTHORIZE_USER = AUTHORIZE.extend({
  responseType: z.enum(["cookie", "code", "none"]).default("code"),
  accountRole: z.enum(["primary", "secondary"]),
  userId: z.string().min(1).optional(),
  timestamp: z.coerce.number().int().optional(),
  userSignature: z.string().optional(),
  token: z.string().optional(),
});

/** How an application gets the token of an account. @see protocol 5, where it is "not shown": this is the service's public reference */
export function authorizeRoutes(service: EmulatedService): readonly Route[] {
  const accountsByCode = new Map<string, Account>();
  const prepared = new Set<string>();
  const group = { tag: "Authorisation" } as const;
  const withoutToken = operationsOf({ ...group, auth: "none", caller: () => undefined });
  const asAccount = operationsOf({ ...group, auth: "bearer", caller: (context) => accountOf(service, context) });
  const asApplication = operationsOf({
    ...group,
    auth: "basic",
    caller: (context) => assertApplication(service, context),
  });

  /** The account that is authorised again, or a new one. @throws ApiError 400, 404 */
  async function authorised(query: z.output<typeof AUTHORIZE>, profile: AccountProfile): Promise<Account> {
    const { clientId, accountId, loginHint } = query;
    if (clientId !== service.appId) throw wrongField("clientId", `expected ${service.appId}`);
    const account =
      accountId === undefined
        ? service.openAccount({ email: loginHint }, { ...profile, serviceType: query.serviceType })
        : service.accounts.get(accountId);
    if (account === undefined) throw new ApiError(404, "not_found", `There is no account ${accountId}.`);
    if (!account.hasAccess) service.setAccess(account, true);
    return account;
  }

  function codeOf(account: Account): string {
    const code = `code_${service.requestId()}`;
    accountsByCode.set(code, account);
    return code;
  }

  /** @throws ApiError 400 for a signature that is wrong or missing, or a token that is none */
  function assertUser({ userId, timestamp, userSignature, token }: z.output<typeof AUTHORIZE_USER>): void {
    if (token !== undefined && !prepared.has(token))
      throw new ApiError(400, "token.notValid", "The token was not given by POST /v1/auth/prepare.");
    if (userId === undefined) return;
    const signature = createHmac("sha256", service.appSecret)
      .update(`${userId}${timestamp ?? ""}`)
      .digest();
    const forms = (["hex", "base64", "base64url"] as const).map((form) => signature.toString(form));
    if (timestamp === undefined || !forms.includes(userSignature ?? ""))
      throw wrongField(
        "userSignature",
        "expected the HMAC-SHA256 of userId and timestamp with the application's secret",
      );
  }

  const authorize = (path: string, type: AccountProfile["type"], summary: string): Route =>
    withoutToken({
      method: "GET",
      path,
      summary,
      query: AUTHORIZE,
      status: 303,
      errors: [404],
      causes: "lifecycle.active",
      async run({ query, context }) {
        const account = await authorised(query, { ...PERSONAL, type });
        const isToken = query.responseType === "token";
        return goBack(context, query, isToken ? { token: account.token } : { code: codeOf(account) });
      },
    });

  /** The service's older form is a GET. */
  const exchange = (method: "GET" | "POST"): Route =>
    asApplication({
      method,
      path: "/v1/auth/token/:code",
      summary: "Exchanges a code, once, for the token of the account.",
      answer: AUTHORISED,
      run({ param }) {
        const account = accountsByCode.get(param("code"));
        accountsByCode.delete(param("code"));
        // A reset takes accounts away.
        if (account === undefined || service.accounts.get(account.id) !== account)
          throw new ApiError(400, "code.notValid", "The code is not known, or was used before.");
        return toAuthorised(account);
      },
    });

  return [
    authorize(
      "/v1/auth/authorize",
      "personal",
      "Asks the owner of a mailbox, who agrees at once, and goes back to the application.",
    ),
    authorize(
      "/v1/auth/authorizeDaemon",
      "daemon",
      "Asks an administrator, who agrees at once, and goes back to the application with a service account.",
    ),
    withoutToken({
      method: "GET",
      path: "/v1/auth/authorizeUser",
      summary: "Asks a user of the application, who agrees at once, and goes back with the user's account.",
      query: AUTHORIZE_USER,
      status: 303,
      errors: [404],
      causes: "lifecycle.active",
      async run({ query, context }) {
        assertUser(query);
        const { userId, responseType } = query;
        const account = await authorised(query as z.output<typeof AUTHORIZE>, { ...PERSONAL, userId });
        if (userId !== undefined) account.profile = { ...account.profile, userId };
        if (responseType === "cookie")
          context.header("Set-Cookie", `AUR${service.appId}=${toAuthorised(account).userSession}; Path=/; HttpOnly`);
        return goBack(
          context,
          query as z.output<typeof AUTHORIZE>,
          responseType === "code" ? { code: codeOf(account) } : {},
        );
      },
    }),
    asAccount({
      method: "POST",
      path: "/v1/auth/prepare",
      summary: "Prepares a token with which a browser can authorise a user.",
      answer: z.looseObject({ token: z.string() }),
      run() {
        const token = `prepared_${service.requestId()}`;
        prepared.add(token);
        return { token };
      },
    }),
    exchange("POST"),
    exchange("GET"),
  ];
}

function goBack(
  context: Context,
  { returnUrl, state }: z.output<typeof AUTHORIZE>,
  fields: Readonly<Record<string, string>>,
): Response {
  const back = new URL(returnUrl);
  for (const [name, value] of Object.entries(fields)) back.searchParams.set(name, value);
  if (state !== undefined) back.searchParams.set("state", state);
  return context.redirect(back.href, 303);
}
