import * as z from "zod/mini";
import { assertOptions } from "../../assert.ts";
import { systemClock } from "../../clock.ts";
import { UsageError } from "../../errors.ts";
import { Unauthorized } from "../errors.ts";
import { callFetch } from "../http/call-fetch.ts";
import { createTransport, type Send } from "../http/transport.ts";
import { toBaseUrl } from "../http/url.ts";
import { recordReader } from "../records/reader.ts";
import type { ConnectionOptions, RequestOptions } from "../request-options.ts";
import { toBasic } from "../web-crypto.ts";
import { createRemoteServices, createSyncSettings, type RemoteServices, type SyncSettingsOf } from "./services.ts";
import { signUpBody, type SignedText, type SignUpProfile } from "./sign-up.ts";
import { readCurrentUser, type CurrentUser } from "./sync-records.ts";
import { createSyncRuns, type SyncRuns } from "./sync-runs.ts";
import { createTemplateGroups, type TemplateGroups } from "./template-groups.ts";

/** Options of {@link createSyncConfigClient}. */
export interface SyncConfigOptions extends ConnectionOptions {
  /** Of the sync-configuration API, such as `https://sync.example.com/v2`. */
  baseUrl: string | URL;
  /** Issued by the service's operator. */
  appId: string;
  /** Issued with `appId`. Sign-ups are signed with it, so this belongs on a server. */
  appSecret: string;
  /** What is signed as `apiHash`. @default "ids" */
  signedText?: SignedText | undefined;
}

/** The sync-configuration API. @see protocol 4.2 */
export interface SyncConfigClient {
  /** `POST /signup`: registers a user, or signs in one who is registered. @throws Unauthorized for a wrong `appId` or signature */
  signUp(user: SignUpProfile, options?: RequestOptions): Promise<SyncConfigUser>;
}

/** A registered user. A call that is answered 401 signs the user up again, once, and is repeated. @see protocol 5 */
export interface SyncConfigUser {
  /** The current one. */
  readonly accessToken: string;
  /** `GET /me` */
  me(options?: RequestOptions): Promise<CurrentUser>;
  readonly services: RemoteServices;
  /** `/services/syncSettings` */
  readonly syncSettings: SyncSettingsOf;
  readonly sync: SyncRuns;
  readonly templateGroups: TemplateGroups;
}

const ALLOWED: Readonly<Record<keyof SyncConfigOptions, true>> = {
  baseUrl: true,
  appId: true,
  appSecret: true,
  signedText: true,
  fetch: true,
  clock: true,
  signal: true,
  timeoutMs: true,
  retry: true,
};

const readAccessToken = recordReader<{ readonly accessToken: string }>({ accessToken: z.string() });

/**
 * Makes a client of the sync-configuration API.
 *
 * @throws UsageError `option-invalid`
 * @example
 * const user = await createSyncConfigClient({ baseUrl, appId, appSecret }).signUp(profile);
 * const { service } = await user.services.findOrCreate({ type });
 * if (service.authRedirectUrl) showTo(service.authRedirectUrl);
 * else await user.sync.reviewAndActivate();
 */
export function createSyncConfigClient(options: SyncConfigOptions): SyncConfigClient {
  assertOptions("createSyncConfigClient", options, ALLOWED);
  const {
    baseUrl,
    appId,
    appSecret,
    signedText = "ids",
    fetch = callFetch,
    clock = systemClock,
    ...defaults
  } = options;
  if (typeof appId !== "string" || appId === "" || typeof appSecret !== "string" || appSecret === "")
    throw new UsageError("option-invalid", "createSyncConfigClient got no appId or no appSecret, expected texts.");
  const connection = {
    baseUrl: toBaseUrl("createSyncConfigClient", baseUrl),
    defaults,
    fetch,
    perSecond: Infinity,
    clock,
    random: Math.random,
  };
  const sendSignUp = createTransport({ ...connection, credentials: async () => undefined });

  async function newToken(profile: SignUpProfile, request: RequestOptions | undefined): Promise<string> {
    const body = await signUpBody(profile, { appId, appSecret, signedText, now: clock.now() });
    const { accessToken } = await sendSignUp({
      method: "POST",
      path: "/signup",
      body,
      // Who is registered already only gets another token.
      repeatable: true,
      read: readAccessToken,
      fixes: { 401: "Check appId and appSecret, and try the other signedText: the text leaves open what is signed." },
      options: request,
    });
    return accessToken;
  }

  return {
    async signUp(profile, request) {
      let token = await newToken(profile, request);
      let renewing: Promise<void> | undefined;

      const sendOnce = createTransport({
        ...connection,
        credentials: async () => ({ authorization: toBasic(token, "X"), secret: token }),
      });

      /** Calls that were refused together sign up together. */
      async function renew(refused: string): Promise<void> {
        if (token !== refused) return;
        renewing ??= newToken(profile, undefined)
          .then((renewed) => void (token = renewed))
          .finally(() => (renewing = undefined));
        await renewing;
      }

      const send: Send = async (call) => {
        const used = token;
        try {
          return await sendOnce(call);
        } catch (error) {
          if (!(error instanceof Unauthorized)) throw error;
          await renew(used);
          return sendOnce(call);
        }
      };

      return {
        get accessToken() {
          return token;
        },
        me: (given) => send({ method: "GET", path: "/me", read: readCurrentUser, options: given }),
        services: createRemoteServices(send, "", {}),
        syncSettings: createSyncSettings(send, "/services/syncSettings", {}),
        sync: createSyncRuns(send, clock),
        templateGroups: createTemplateGroups(send),
      };
    },
  };
}
