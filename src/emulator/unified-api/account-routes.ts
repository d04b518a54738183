import type { Context } from "hono";
import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { operationsOf } from "../http/operation.ts";
import { ApiError, type Route } from "../http/routes.ts";
import { ACCOUNT, AUTHORISED, NEW_ACCOUNT, toAccountView, toAuthorised, withoutSecrets } from "./account-view.ts";
import { accountOf, assertApplication } from "./authenticate.ts";
import { OFFSET_QUERY, offsetPageOf, offsetPageSchema } from "./offset-pages.ts";
import { flag, OK, OK_ANSWER } from "./schemas.ts";
import type { UnifiedOptions } from "./unified-routes.ts";

/** The field of an account that each key of a query means. */
const RECYCLE_KEYS = {
  email: "email",
  orgId: "authOrgId",
  userId: "authUserId",
  serverUrl: "serverUrl",
  username: "loginString",
  clientOrgId: "clientOrgId",
} as const;

const recycleKeys = z.array(z.enum(Object.keys(RECYCLE_KEYS) as [keyof typeof RECYCLE_KEYS])).default([]);
const LIST = OFFSET_QUERY.extend({
  authOrgId: z.string().optional(),
  serviceType: z.string().optional(),
  subscriptionId: z.coerce.number().int().optional(),
});
const SAVE = z.object({
  userAccount: z.enum(["primary", "secondary"]).optional(),
  userId: z.string().min(1).optional(),
  recycleKeys,
  ensureAccess: flag(false),
});
const PATH = "/v1/am/accounts";
const SERVICE_PATH = "/v1/am/svc_accounts";

/** The account that calls, and the accounts of the application. @see service's public description, account and am */
export function accountRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const own = operationsOf({ tag: "Account", auth: "bearer", caller: (context) => accountOf(service, context) });
  const group = { auth: "basic", caller: (context: Context) => assertApplication(service, context) } as const;
  const operation = operationsOf({ tag: "Accounts", ...group });

  /** @throws ApiError 404 */
  function accountWith(id: string, isWanted: (account: Account) => boolean = () => true): Account {
    const account = service.accounts.get(Number(id));
    if (account !== undefined && isWanted(account)) return account;
    throw new ApiError(404, "not_found", `There is no account ${JSON.stringify(id)}.`);
  }

  function listOf(isDaemon: boolean, { limit = pageSize, offset, subscriptionId, ...fields }: z.output<typeof LIST>) {
    const subscriber = subscriptionId === undefined ? undefined : service.subscriptions.get(subscriptionId)?.accountId;
    const found = [...service.accounts.values()].filter(
      (account) =>
        (account.profile.type === "daemon") === isDaemon &&
        (subscriptionId === undefined || account.id === subscriber) &&
        Object.entries(fields).every(([field, wanted]) => wanted === undefined || account.profile[field] === wanted),
    );
    return offsetPageOf(found.map(toAccountView), { limit, offset });
  }

  /** A new account, or the one that is the same by all of the keys. */
  function save(given: z.output<typeof NEW_ACCOUNT>, { keys, ...profile }: Saving) {
    const isSame = (account: Account): boolean =>
      account.profile.type === profile.type &&
      keys.every((key) => {
        const field = RECYCLE_KEYS[key];
        return given[field] !== undefined && given[field] === toAccountView(account)[field];
      });
    const shown = { ...withoutSecrets(given), serviceType: given.serviceType };
    const same = keys.length === 0 ? undefined : [...service.accounts.values()].find(isSame);
    const account = same ?? service.openAccount({ name: given.name, email: given.email });
    account.profile = { ...account.profile, ...shown, ...profile };
    service.setAccess(account, given.active);
    return toAuthorised(account);
  }

  return [
    own({
      method: "GET",
      path: "/v1/account",
      summary: "Gets the account that calls.",
      query: z.object({ pingProvider: flag(false), includeProviderAuth: flag(false) }),
      answer: ACCOUNT,
      run: ({ caller }) => toAccountView(caller),
    }),
    own({
      method: "DELETE",
      path: "/v1/account",
      summary: "Deletes the account that calls, with its subscriptions.",
      run: ({ caller }) => service.removeAccount(caller),
    }),
    own({
      method: "DELETE",
      path: "/v1/account/token",
      summary: "Revokes the token of the account that calls, and the service's access to its mailbox.",
      causes: "lifecycle.error",
      run: ({ caller }) => service.revokeToken(caller),
    }),
    operation({
      method: "GET",
      path: PATH,
      summary: "Lists accounts.",
      query: LIST,
      answer: offsetPageSchema(ACCOUNT),
      isExact: true,
      run: ({ query }) => listOf(false, query),
    }),
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates an account, or takes one that is the same.",
      query: SAVE,
      body: NEW_ACCOUNT,
      answer: AUTHORISED,
      run: ({ body, query: { userId, recycleKeys: keys } }) => save(body, { keys, type: "personal", userId }),
    }),
    operation({
      method: "POST",
      path: `${PATH}/connect`,
      summary: "Tries whether the service could reach such an account, and creates none.",
      body: NEW_ACCOUNT,
      answer: OK_ANSWER,
      run: () => OK,
    }),
    operation({
      method: "GET",
      path: `${PATH}/:id`,
      summary: "Gets an account.",
      answer: ACCOUNT,
      errors: [404],
      run: ({ param }) => toAccountView(accountWith(param("id"))),
    }),
    operation({
      method: "DELETE",
      path: `${PATH}/:id`,
      summary: "Deletes an account, with its subscriptions.",
      errors: [404],
      run: ({ param }) => service.removeAccount(accountWith(param("id"))),
    }),
    operation({
      method: "GET",
      path: SERVICE_PATH,
      summary: "Lists service accounts.",
      query: LIST.extend({ clientOrgId: z.string().optional() }),
      answer: offsetPageSchema(ACCOUNT),
      isExact: true,
      run: ({ query }) => listOf(true, query),
    }),
    operation({
      method: "POST",
      path: SERVICE_PATH,
      summary: "Creates a service account, or takes one that is the same.",
      query: z.object({ recycleKeys }),
      body: NEW_ACCOUNT,
      answer: AUTHORISED,
      run: ({ body, query: { recycleKeys: keys } }) => save(body, { keys, type: "daemon" }),
    }),
    operation({
      method: "POST",
      path: `${SERVICE_PATH}/:accId/accounts`,
      summary: "Creates an account that a service account manages, or takes one that is the same.",
      query: SAVE,
      body: NEW_ACCOUNT,
      answer: AUTHORISED,
      errors: [404],
      run({ body, query: { userId, recycleKeys: keys }, param }) {
        const parent = accountWith(param("accId"), ({ profile }) => profile.type === "daemon");
        return save(body, { keys, type: "managed", userId, parentId: parent.id });
      },
    }),
  ];
}

interface Saving extends Pick<Account["profile"], "type" | "userId" | "parentId"> {
  readonly keys: readonly (keyof typeof RECYCLE_KEYS)[];
}
