import { SignatureError, UsageError } from "../../errors.ts";
import { toHeaderLookup, type HeadersLike } from "../headers.ts";
import { toKeys, type Secret } from "./secrets.ts";
import { matchKey } from "./sign.ts";
import { readSignatureHeaders, SIGNATURE_PROBLEMS, type SignatureProblem } from "./signature-headers.ts";
import { resolveScheme, serviceScheme, type ResolvedScheme, type SignatureScheme } from "./signature-scheme.ts";
import { DEFAULT_MAX_AGE_SECONDS } from "./timestamp-age.ts";

/** The signed part of a request. */
export interface SignedRequest {
  /** A record with names in any case, or a `Headers`. */
  readonly headers: HeadersLike;
  /** The raw body as received. A text is hashed as UTF-8; a parsed and re-serialised body does not verify. */
  readonly body: Uint8Array | string;
}

/** A request whose signature is right. */
export interface Verified {
  /** The name of the secret that signed it. */
  readonly signedBy: string;
  /** The signed time; absent where the scheme has none. */
  readonly sentAt?: Date;
  /** The bytes that were signed. */
  readonly body: Uint8Array;
}

/** How {@link verify} verifies. */
export interface VerifyOptions {
  /** The signing secret, or several during a rotation. `undefined` throws; the type allows it for `process.env.X`. */
  secret: string | readonly Secret[] | undefined;
  /** @default the service's own */
  scheme?: SignatureScheme | undefined;
  /** How old a request may be, seconds. @default 604_800 (7 days) */
  maxAgeSeconds?: number | undefined;
  /** The present time. @default now */
  now?: Date | undefined;
}

/**
 * Verifies the signature of a request; that of a verification handshake has an empty body. It never returns `false`: whatever
 * it returns was signed with one of the secrets and is not too old.
 *
 * @throws SignatureError with the problem as its code, `secret-missing` when there is no secret
 * @throws UsageError `body-not-raw` for a body that was parsed, `scheme-invalid`, `option-invalid`
 * @see protocol 5
 * @example
 * const { body } = verify({ headers: req.headers, body: rawBody }, { secret: process.env.SIGNING_SECRET });
 */
export function verify(request: SignedRequest, options: VerifyOptions): Verified {
  const { scheme = serviceScheme, maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS, now = new Date() } = options;
  const resolved = resolveScheme(scheme);
  assertAge(maxAgeSeconds);
  const keys = toKeys(options.secret);
  const body = toBytes(request.body);
  const signatureHeaders = readSignatureHeaders(resolved, toHeaderLookup(request.headers), {
    nowMs: now.getTime(),
    maxAgeSeconds,
  });
  if (typeof signatureHeaders === "string") throw toError(signatureHeaders, resolved);
  const { timestamp, signature, sentAtMs } = signatureHeaders;
  const key = matchKey(resolved, keys, { timestamp, signature, body });
  if (key === undefined) throw toError("signature-wrong", resolved);
  return { signedBy: key.name, ...(sentAtMs !== undefined && { sentAt: new Date(sentAtMs) }), body };
}

/**
 * The bytes of a body; a text as UTF-8.
 *
 * @throws UsageError `body-not-raw` for anything else: the signed bytes cannot be recovered from a parsed body
 */
export function toBytes(body: Uint8Array | string): Uint8Array {
  if (typeof body === "string") return Buffer.from(body, "utf8");
  if (body instanceof Uint8Array) return body;
  throw new UsageError("body-not-raw", `The body is of type ${typeof body}, expected the raw bytes or their text.`, {
    fix: "Read the body before a parser does, such as with express.raw(), and pass the bytes as received.",
  });
}

function toError(problem: SignatureProblem, { signature, timestamp }: ResolvedScheme): SignatureError {
  const { message, fix } = SIGNATURE_PROBLEMS[problem];
  const header = problem.startsWith("timestamp-") ? timestamp?.header : signature.header;
  return new SignatureError(problem, `${message} It is read from ${header}.`, { fix });
}

function assertAge(maxAgeSeconds: number): void {
  // A NaN or a text would accept every age or none.
  if (typeof maxAgeSeconds === "number" && maxAgeSeconds >= 0) return;
  throw new UsageError(
    "option-invalid",
    `\`maxAgeSeconds\` is ${String(maxAgeSeconds)}, expected a number from 0 on.`,
    {
      fix: `Leave it out for ${DEFAULT_MAX_AGE_SECONDS} (7 days).`,
    },
  );
}
