import { hmacSha256, toBase64 } from "../web-crypto.ts";

/** What is signed of a sign-up: the text leaves it open whether the ids are put into it. @see protocol 5 */
export type SignedText = "ids" | "literal" | ((compExtId: string, userExtId: string, timestamp: number) => string);

/** A user of the portal. @see protocol 2.2, signup request */
export interface SignUpProfile {
  /** Of the organisation, in the portal. */
  compExtId: string;
  /** Of the user, in the portal. */
  userExtId: string;
  companyName?: string | undefined;
  /** API URL of the organisation. */
  instanceUrl?: string | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
  email?: string | undefined;
  admin?: boolean | undefined;
  /** IANA name of the zone. */
  timeZoneInfo?: string | undefined;
  readonly [field: string]: unknown;
}

interface SigningOptions {
  readonly appId: string;
  readonly appSecret: string;
  readonly signedText: SignedText;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The body of a sign-up, with its `apiHash`: base64 of HMAC-SHA256. @see protocol 5 */
export async function signUpBody(
  profile: SignUpProfile,
  { appId, appSecret, signedText, now }: SigningOptions,
): Promise<object> {
  const text = textOf(signedText, profile, now);
  return { ...profile, appId, apiHash: toBase64(await hmacSha256(appSecret, text)), requestTimestamp: now };
}

function textOf(signedText: SignedText, { compExtId, userExtId }: SignUpProfile, now: number): string {
  if (typeof signedText === "function") return signedText(compExtId, userExtId, now);
  return signedText === "literal" ? `OrgId:UserId:${now}` : `${compExtId}:${userExtId}:${now}`;
}
