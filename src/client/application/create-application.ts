import { assertOptions } from "../../assert.ts";
import { systemClock } from "../../clock.ts";
import { UsageError } from "../../errors.ts";
import type { Id } from "../../protocol/event-types.ts";
import { callFetch } from "../http/call-fetch.ts";
import { createTransport } from "../http/transport.ts";
import { SERVICE_URL, toBaseUrl } from "../http/url.ts";
import { countedPageReader, createPaged, type Paged } from "../paging.ts";
import { readAccount, readToken, type Account, type AccountToken } from "../records/account.ts";
import { readNothing } from "../records/reader.ts";
import type { ConnectionOptions, RequestOptions } from "../request-options.ts";
import { withParts } from "../unified/part.ts";
import { toBasic } from "../web-crypto.ts";

/** Options of {@link createApplication}. */
export interface ApplicationOptions extends ConnectionOptions {
  /** Of the application, from its dashboard. */
  clientId: string;
  clientSecret: string;
  /** @default "https://api.aurinko.io" */
  baseUrl?: string | URL | undefined;
}

/** What the application itself may do, by its id and secret. */
export interface Application {
  readonly accounts: Accounts;
  readonly serviceAccounts: ServiceAccounts;
}

/** Accounts of the application. @see the service's public description, am/accounts */
export interface Accounts {
  /** `GET /v1/am/accounts`. Its pages are counted: the token of a page is the number of records before it. */
  list(options?: AccountListOptions): Paged<Account>;
  /** `GET /v1/am/accounts/{id}`. @throws NotFound */
  get(id: Id, options?: RequestOptions): Promise<Account>;
  /** `POST /v1/am/accounts`: for kinds of mailbox that are reached by a password. Never repeated by itself. */
  create(body: NewAccount, options?: CreateAccountOptions): Promise<AccountToken>;
  /** `DELETE /v1/am/accounts/{id}`: its subscriptions end. @throws NotFound */
  delete(id: Id, options?: RequestOptions): Promise<void>;
  /** `POST /v1/am/accounts/connect`: tries whether the mailbox can be reached, and creates nothing. */
  connect(body: NewAccount, options?: RequestOptions): Promise<void>;
}

/** Accounts of organisations, which manage those of their users. @see the service's public description, am/svc_accounts */
export interface ServiceAccounts {
  /** `GET /v1/am/svc_accounts` */
  list(options?: AccountListOptions): Paged<Account>;
  /** `POST /v1/am/svc_accounts`. Never repeated by itself. */
  create(body: NewAccount, options?: Pick<CreateAccountOptions, "recycleKeys"> & RequestOptions): Promise<AccountToken>;
  /** `POST /v1/am/svc_accounts/{accId}/accounts`: an account that it manages. Never repeated by itself. @throws NotFound */
  createAccount(id: Id, body: NewAccount, options?: CreateAccountOptions): Promise<AccountToken>;
}

/** Which accounts are listed. */
export interface AccountListOptions extends RequestOptions {
  authOrgId?: string | undefined;
  serviceType?: string | undefined;
  /** The account that this subscription is of. */
  subscriptionId?: Id | undefined;
  /** Of service accounts alone. */
  clientOrgId?: string | undefined;
}

/** What an account is created with. Other fields are sent as they are. */
export interface NewAccount {
  /** The kind of mailbox, such as `IMAP`. */
  serviceType: string;
  active: boolean;
  readonly [field: string]: unknown;
}

/** How an account is created. */
export interface CreateAccountOptions extends RequestOptions {
  userAccount?: "primary" | "secondary" | undefined;
  /** Of your user. */
  userId?: string | undefined;
  /** An account that is the same by all of these is taken instead of a new one. */
  recycleKeys?: readonly ("email" | "orgId" | "userId" | "serverUrl" | "username" | "clientOrgId")[] | undefined;
  /** Fails unless the mailbox can be reached. @default false */
  ensureAccess?: boolean | undefined;
}

const ALLOWED: Readonly<Record<keyof ApplicationOptions, true>> = {
  clientId: true,
  clientSecret: true,
  baseUrl: true,
  fetch: true,
  clock: true,
  signal: true,
  timeoutMs: true,
  retry: true,
};

const ACCOUNTS = "/v1/am/accounts";
const SERVICE_ACCOUNTS = "/v1/am/svc_accounts";
const readPage = countedPageReader(readAccount);
const done = { read: readNothing, answerOptional: true };

/**
 * Makes a client of the application itself. It needs the application's secret, so it belongs on a server.
 *
 * @throws UsageError `option-invalid`
 * @example
 * const application = createApplication({ clientId, clientSecret });
 * for await (const account of application.accounts.list()) console.log(account.id, account.tokenStatus);
 */
export function createApplication(options: ApplicationOptions): Application {
  assertOptions("createApplication", options, ALLOWED);
  const {
    clientId,
    clientSecret,
    baseUrl = SERVICE_URL,
    fetch = callFetch,
    clock = systemClock,
    ...defaults
  } = options;
  for (const [name, value] of Object.entries({ clientId, clientSecret }))
    if (typeof value !== "string" || value === "")
      throw new UsageError("option-invalid", `createApplication got no ${name}, expected a text.`);
  const send = createTransport({
    baseUrl: toBaseUrl("createApplication", baseUrl),
    credentials: async () => ({ authorization: toBasic(clientId, clientSecret), secret: clientSecret }),
    defaults,
    fetch,
    perSecond: Infinity,
    clock,
    random: Math.random,
  });

  function list(path: string, given: AccountListOptions = {}): Paged<Account> {
    const { authOrgId, serviceType, subscriptionId, clientOrgId, ...request } = given;
    const query = { authOrgId, serviceType, subscriptionId, clientOrgId };
    return createPaged((offset) =>
      send({ method: "GET", path, query: { offset, ...query }, read: readPage, options: request }),
    );
  }

  function create(path: string, body: NewAccount, given: CreateAccountOptions & { accId?: Id } = {}) {
    const { accId, userAccount, userId, recycleKeys, ensureAccess, ...request } = given;
    return send({
      method: "POST",
      path,
      ...(accId !== undefined && { params: { accId } }),
      query: { userAccount, userId, recycleKeys, ensureAccess },
      body,
      read: readToken,
      options: request,
    });
  }

  const application: Application = {
    accounts: {
      list: (given) => list(ACCOUNTS, given),
      get: (id, request) =>
        send({ method: "GET", path: `${ACCOUNTS}/{id}`, params: { id }, read: readAccount, options: request }),
      create: (body, given) => create(ACCOUNTS, body, given),
      delete: (id, request) =>
        send({ method: "DELETE", path: `${ACCOUNTS}/{id}`, params: { id }, ...done, options: request }),
      connect: (body, request) =>
        send({ method: "POST", path: `${ACCOUNTS}/connect`, body, repeatable: true, ...done, options: request }),
    },
    serviceAccounts: {
      list: (given) => list(SERVICE_ACCOUNTS, given),
      create: (body, given) => create(SERVICE_ACCOUNTS, body, given),
      createAccount: (accId, body, given) => create(`${SERVICE_ACCOUNTS}/{accId}/accounts`, body, { ...given, accId }),
    },
  };
  return withParts(application, send);
}
