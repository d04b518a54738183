import { assertOptions } from "../../assert.ts";
import { systemClock } from "../../clock.ts";
import { HooklineError, UsageError } from "../../errors.ts";
import type { Id } from "../../protocol/event-types.ts";
import { callFetch } from "../http/call-fetch.ts";
import { createTransport } from "../http/transport.ts";
import { SERVICE_URL, toBaseUrl, toSearch, type Query } from "../http/url.ts";
import { readToken, type AccountToken } from "../records/account.ts";
import type { ConnectionOptions, RequestOptions } from "../request-options.ts";
import { hmacSha256, toBase64Url, toBasic } from "../web-crypto.ts";
import { signState, verifyState } from "./state.ts";

/** Options of {@link createOAuth}. */
export interface OAuthOptions extends ConnectionOptions {
  /** Of the application, from its dashboard. */
  clientId: string;
  /** Of the application. It signs the `state` as well. */
  clientSecret: string;
  /** @default "https://api.aurinko.io" */
  baseUrl?: string | URL | undefined;
}

/** How an account gets authorised: {@link OAuth.authorizeUrl}, then {@link OAuth.callback}. */
export interface OAuth {
  /** `GET /v1/auth/authorize`: where the user's browser is to go. */
  authorizeUrl(request: AuthorizeRequest): Promise<string>;
  /** `GET /v1/auth/authorizeDaemon`: where an administrator's browser is to go, for a service account of the whole organisation. */
  authorizeDaemonUrl(request: AuthorizeRequest): Promise<string>;
  /** `GET /v1/auth/authorizeUser`: where the browser of one of your users is to go, who signs in with the mailbox. */
  authorizeUserUrl(request: AuthorizeUserRequest): Promise<string>;
  /**
   * Verifies the `state` of the request that came back to `returnUrl`, then exchanges its code for the token.
   *
   * @param url the request's, with its query
   * @param session the same as `authorizeUrl` got
   * @throws HooklineError `state-invalid` for a state of another session, a changed one, or one older than 15 minutes;
   * `authorization-refused` where no code came back
   */
  callback(url: string | URL, session: string, options?: RequestOptions): Promise<Authorization>;
  /** `POST /v1/auth/token/{code}`. A code works once, so this is never repeated by itself. */
  exchange(code: string, options?: RequestOptions): Promise<AccountToken>;
}

/** Who is asked for what. */
export interface AuthorizeRequest {
  /** The kind of mailbox, such as `Google`. */
  serviceType: string;
  /** Where the browser comes back to: it must be registered. */
  returnUrl: string | URL;
  /** What only this browser has, such as the id of its session: a state that another one brings is refused. */
  session: string;
  /** Such as `Mail.Read`. */
  scopes?: readonly string[] | undefined;
  /** Authorises this account again. */
  accountId?: Id | undefined;
  /** The address that the user probably takes. */
  loginHint?: string | undefined;
  /** Comes back from `callback`. It is signed, and can be read by the user. */
  data?: string | undefined;
  /** Other parameters of the service, such as `ensureScopes`. */
  parameters?: Record<string, unknown> | undefined;
}

/** Which user is asked. */
export interface AuthorizeUserRequest extends AuthorizeRequest {
  accountRole: "primary" | "secondary";
  /** Of your user. It is signed. @default as the mailbox says */
  userId?: string | undefined;
}

/** What came of an authorisation. */
export interface Authorization extends AccountToken {
  /** As `authorizeUrl` got it, or empty. */
  readonly data: string;
}

const ALLOWED: Readonly<Record<keyof OAuthOptions, true>> = {
  clientId: true,
  clientSecret: true,
  baseUrl: true,
  fetch: true,
  clock: true,
  signal: true,
  timeoutMs: true,
  retry: true,
};

/**
 * Authorises accounts. It needs the application's secret, so it belongs on a server.
 *
 * @throws UsageError `option-invalid`
 * @see protocol 5, where this is "not shown": service-facts 2.1
 * @example
 * const oauth = createOAuth({ clientId, clientSecret });
 * response.redirect(await oauth.authorizeUrl({ serviceType: "Google", returnUrl, scopes: ["Mail.Read"], session: request.session.id }));
 */
export function createOAuth(options: OAuthOptions): OAuth {
  assertOptions("createOAuth", options, ALLOWED);
  const {
    clientId,
    clientSecret,
    baseUrl = SERVICE_URL,
    fetch = callFetch,
    clock = systemClock,
    ...defaults
  } = options;
  assertText("clientId", clientId);
  assertText("clientSecret", clientSecret);
  const base = toBaseUrl("createOAuth", baseUrl);
  const send = createTransport({
    baseUrl: base,
    credentials: async () => ({ authorization: toBasic(clientId, clientSecret), secret: clientSecret }),
    defaults,
    fetch,
    perSecond: Infinity,
    clock,
    random: Math.random,
  });

  function exchange(code: string, request?: RequestOptions): Promise<AccountToken> {
    return send({
      method: "POST",
      path: "/v1/auth/token/{code}",
      params: { code },
      read: readToken,
      fixes: { 401: "Check clientId and clientSecret." },
      options: request,
    });
  }

  async function urlOf(way: string, request: AuthorizeRequest): Promise<string> {
    const { serviceType, returnUrl, session, scopes, accountId, loginHint, data = "", parameters } = request;
    assertText("session", session);
    const query: Query = {
      ...parameters,
      clientId,
      serviceType,
      returnUrl: String(returnUrl),
      scopes: scopes?.join(" "),
      accountId,
      loginHint,
      responseType: "code",
      state: await signState(data, { secret: clientSecret, session, clock }),
    };
    return `${base}/v1/auth/${way}${toSearch(query)}`;
  }

  /** @see service-facts 2.1: the text is the id and the time, seconds */
  async function signUser(userId: string): Promise<Query> {
    const timestamp = Math.floor(clock.now() / 1_000);
    return { userId, timestamp, userSignature: toBase64Url(await hmacSha256(clientSecret, `${userId}${timestamp}`)) };
  }

  return {
    authorizeUrl: (request) => urlOf("authorize", request),
    authorizeDaemonUrl: (request) => urlOf("authorizeDaemon", request),
    async authorizeUserUrl({ accountRole, userId, ...request }) {
      const signed = userId === undefined ? {} : await signUser(userId);
      return urlOf("authorizeUser", { ...request, parameters: { ...request.parameters, accountRole, ...signed } });
    },
    async callback(url, session, request) {
      assertText("session", session);
      const { searchParams } = new URL(url, "http://localhost");
      const data = await verifyState(searchParams.get("state"), { secret: clientSecret, session, clock });
      const code = searchParams.get("code");
      if (code !== null && code !== "") return { ...(await exchange(code, request)), data };
      throw new HooklineError(
        "authorization-refused",
        "The user came back without a code: the access was not granted.",
      );
    },
    exchange,
  };
}

function assertText(name: string, value: unknown): void {
  if (typeof value === "string" && value !== "") return;
  throw new UsageError("option-invalid", `createOAuth got no ${name}, expected a text.`);
}
