import type { Context } from "hono";
import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { operationsOf } from "../http/operation.ts";
import { ApiError, type Route } from "../http/routes.ts";

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
const TOKEN = z.looseObject({
  accountId: z.int(),
  accessToken: z.string(),
  userId: z.string(),
  userSession: z.string(),
});

/** How an application gets the token of an account. @see protocol 5, where it is "not shown": this is the service's public reference */
export function authorizeRoutes(service: EmulatedService): readonly Route[] {
  const accountsByCode = new Map<string, Account>();
  const group = { tag: "Authorisation" } as const;
  const withoutToken = operationsOf({ ...group, auth: "none", caller: () => undefined });
  const asApplication = operationsOf({ ...group, auth: "basic", caller: assertApplication });

  /** @throws ApiError 401 */
  function assertApplication({ req }: Context): void {
    const expected = Buffer.from(`${service.appId}:${service.appSecret}`).toString("base64");
    if (req.header("authorization") !== `Basic ${expected}`)
      throw new ApiError(401, "unauthorized", "Expected Basic authentication with the application's id and secret.");
  }

  /** The account that is authorised again, or a new one. @throws ApiError 404 */
  async function authorised(id: number | undefined, email: string | undefined): Promise<Account> {
    const accountId = id ?? (await service.account({ email })).accountId;
    const account = service.accounts.get(accountId);
    if (account === undefined) throw new ApiError(404, "not_found", `There is no account ${accountId}.`);
    if (!account.hasAccess) await service.methodsOf(account).restoreCredentials();
    return account;
  }

  return [
    withoutToken({
      method: "GET",
      path: "/v1/auth/authorize",
      summary: "Asks the owner of a mailbox, who agrees at once, and goes back to the application.",
      query: AUTHORIZE,
      status: 303,
      errors: [404],
      async run({ query, context }) {
        if (query.clientId !== service.appId)
          throw new ApiError(400, "badRequest", `The field "clientId" is wrong: expected ${service.appId}.`);
        const account = await authorised(query.accountId, query.loginHint);
        const back = new URL(query.returnUrl);
        if (query.responseType === "token") back.searchParams.set("token", account.token);
        else {
          const code = `code_${service.requestId()}`;
          accountsByCode.set(code, account);
          back.searchParams.set("code", code);
        }
        if (query.state !== undefined) back.searchParams.set("state", query.state);
        return context.redirect(back.href, 303);
      },
    }),
    asApplication({
      method: "POST",
      path: "/v1/auth/token/:code",
      summary: "Exchanges a code, once, for the token of the account.",
      answer: TOKEN,
      run({ param }) {
        const account = accountsByCode.get(param("code"));
        accountsByCode.delete(param("code"));
        // A reset takes accounts away.
        if (account === undefined || service.accounts.get(account.id) !== account)
          throw new ApiError(400, "code.notValid", "The code is none, or was used before.");
        const { id, token } = account;
        return { accountId: id, accessToken: token, userId: `user-${id}`, userSession: `session-${id}` };
      },
    }),
  ];
}
