import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from "node:crypto";
import { UsageError } from "../errors.ts";
import {
  resolveScheme,
  serviceScheme,
  type ResolvedScheme,
  type SignatureScheme,
  type TextPart,
} from "./signature-scheme.ts";

/** A signing secret, ready for use: made once, because a raw key a call costs five times as much. */
export interface Key {
  /** Told in logs and counters, so that a rotation can be finished. */
  readonly name: string;
  readonly key: KeyObject;
}

/** What a signature is computed over. */
export interface Signed {
  /** The timestamp header's text, exactly as received; empty where the scheme has none. */
  readonly timestamp: string;
  /** The raw bytes, exactly as received. */
  readonly body: Uint8Array;
}

/** How {@link sign} signs. */
export interface SignOptions {
  /** The signing secret; its UTF-8 bytes are the key. */
  secret: string;
  /** When it is sent. @default now */
  at?: Date | undefined;
  /** @default the service's own */
  scheme?: SignatureScheme | undefined;
}

/**
 * Makes a key of a secret. A text counts as its UTF-8 bytes, as it stands: nothing is trimmed or decoded.
 *
 * @throws UsageError `secret-missing` when it is empty, only white space, or no text at all
 */
export function toKey(value: string | Uint8Array, name: string): Key {
  if (!isSecret(value)) {
    throw new UsageError("secret-missing", `The signing secret "${name}" is ${describe(value)}, expected a text.`, {
      fix: SECRET_FIX,
    });
  }
  return { name, key: typeof value === "string" ? createSecretKey(value, "utf8") : createSecretKey(value) };
}

/** True for what can be a signing secret: a text with more than white space in it, or some bytes. */
export function isSecret(value: unknown): value is string | Uint8Array {
  return typeof value === "string" ? value.trim() !== "" : value instanceof Uint8Array && value.length > 0;
}

/** What to do about a missing secret. */
export const SECRET_FIX =
  "Copy the signing secret from the application's dashboard and check that its variable is set.";

/** The message authentication code of a request: the scheme's texts and the body hashed in order, nothing copied. */
export function macOf(scheme: ResolvedScheme, key: KeyObject, { timestamp, body }: Signed): Buffer {
  const hmac = createHmac(scheme.algorithm, key);
  if (scheme.before.length > 0) hmac.update(textOf(scheme.before, timestamp));
  hmac.update(body);
  if (scheme.after.length > 0) hmac.update(textOf(scheme.after, timestamp));
  // By way of a text: the buffer that `digest()` gives costs more than both conversions.
  return Buffer.from(hmac.digest("binary"), "binary");
}

/**
 * The key that made a signature, if one of them did. Compares in constant time, and asks every key,
 * so that the time taken does not tell which one matched.
 */
export function matchKey(
  scheme: ResolvedScheme,
  keys: readonly Key[],
  request: Signed & { readonly signature: Uint8Array },
): Key | undefined {
  // timingSafeEqual throws on unequal lengths; a truncated signature must not match its own beginning either.
  if (request.signature.length !== scheme.signature.bytes) return undefined;
  let matched: Key | undefined;
  for (const key of keys) {
    if (timingSafeEqual(macOf(scheme, key.key, request), request.signature)) matched ??= key;
  }
  return matched;
}

/**
 * The headers that make a body a signed request, for tests and senders of one's own.
 *
 * @throws UsageError `secret-missing` for an empty secret, `time-invalid` for a time before 1970 or no time at all
 * @see protocol 5
 * @example
 * await fetch(url, { method: "POST", body, headers: sign(body, { secret }) });
 */
export function sign(body: Uint8Array | string, options: SignOptions): Record<string, string> {
  const { secret, at = new Date(), scheme = serviceScheme } = options;
  const resolved = resolveScheme(scheme);
  const { signature, timestamp: time } = resolved;
  const timestamp = time === undefined ? "" : timestampOf(at, time.unit);
  const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
  const mac = macOf(resolved, toKey(secret, "default").key, { timestamp, body: bytes });
  const headers: Record<string, string> = { [signature.header]: signature.prefix + mac.toString(signature.encoding) };
  if (time !== undefined) headers[time.header] = timestamp;
  return headers;
}

function textOf(parts: readonly TextPart[], timestamp: string): string {
  let text = "";
  for (const part of parts) text += part === "timestamp" ? timestamp : part.text;
  return text;
}

function timestampOf(at: Date, unit: "seconds" | "milliseconds"): string {
  const ms = at.getTime();
  if (!(ms >= 0)) {
    throw new UsageError("time-invalid", `The time to sign is ${String(at)}, expected a Date of 1970 or later.`, {
      fix: "Leave `at` out to sign with the present time.",
    });
  }
  return String(unit === "seconds" ? Math.floor(ms / 1000) : ms);
}

function describe(value: unknown): string {
  if (typeof value === "string") return value === "" ? "empty" : "only white space";
  return value instanceof Uint8Array ? "empty" : `of type ${value === null ? "null" : typeof value}`;
}
