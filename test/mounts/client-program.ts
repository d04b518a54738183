import { clients, createClient, createOAuth, createSyncConfigClient, NotFound } from "../../src/client.ts";

/** Where the emulator is, and who calls it. */
export interface ClientWorld {
  readonly url: string;
  readonly syncConfigUrl: string;
  readonly token: string;
  readonly appId: string;
  readonly appSecret: string;
}

/** What the client does on this runtime: requests, pages, errors, the rate limit, and what needs Web Crypto. */
export async function runClient({ url, syncConfigUrl, token, appId, appSecret }: ClientWorld): Promise<object> {
  const client = createClient({ baseUrl: url, token, rateLimit: { perSecond: 12 } });
  const subjects: (string | undefined)[] = [];
  for await (const { subject } of client.messages.list()) subjects.push(subject);
  const calls = Array.from({ length: 20 }, () => client.calendars.get("primary"));
  const primaries = (await Promise.all(calls)).filter(({ primary }) => primary === true).length;
  const missing: unknown = await client.messages.get("none").catch((error: unknown) => error);
  const aborted: unknown = await client.messages
    .get("none", { signal: AbortSignal.abort(new Error("stopped")) })
    .catch((error: unknown) => error);

  const user = await createSyncConfigClient({ baseUrl: syncConfigUrl, appId, appSecret }).signUp({
    compExtId: "org-1",
    companyName: "Analytical Engines",
    instanceUrl: "https://portal.example.com",
    userExtId: "user-1",
    firstName: "Ada",
    lastName: "Byron",
    email: "ada@example.com",
    admin: true,
    timeZoneInfo: "Europe/London",
  });
  const { service } = await user.services.findOrCreate({ type: "hosted" });

  const oauth = createOAuth({ clientId: appId, clientSecret: appSecret, baseUrl: url });
  const authorizeUrl = await oauth.authorizeUrl({ serviceType: "Google", returnUrl: `${url}/back`, session: "s-1" });
  // What a browser would follow: on some runtimes a redirect cannot be read.
  const state = new URL(authorizeUrl).searchParams.get("state") ?? "";
  const refused: unknown = await oauth
    .callback(`/back?code=none&state=${state}`, "s-2")
    .catch((error: unknown) => (error as { code?: unknown }).code);
  const unknownCode: unknown = await oauth
    .callback(`/back?code=none&state=${state}`, "s-1")
    .catch((error: unknown) => (error as { code?: unknown }).code);

  return {
    subjects,
    primaries,
    isNotFound: missing instanceof NotFound,
    aborted: (aborted as Error).message,
    sameClient: ((clientOf) => clientOf(1) === clientOf(1))(clients(() => ({ token }))),
    name: (await user.me()).firstName,
    isToBeAuthorised: typeof service.authRedirectUrl === "string",
    refused,
    unknownCode,
  };
}
