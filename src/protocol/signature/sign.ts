import { timingSafeEqual } from "node:crypto";
import { UsageError } from "../../errors.ts";
import type { HmacKey } from "./hmac.ts";
import { toKey, type Key } from "./secrets.ts";
import {
  resolveScheme,
  serviceScheme,
  type ResolvedScheme,
  type SignatureScheme,
  type TextPart,
} from "./signature-scheme.ts";

/** What a signature is computed over. */
interface Signed {
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

/** The message authentication code of a request: over the scheme's texts and the body, in order. */
export function macOf({ algorithm, before, after }: ResolvedScheme, key: HmacKey, { timestamp, body }: Signed): Buffer {
  return key.mac(algorithm, { before: textOf(before, timestamp), body, after: textOf(after, timestamp) });
}

/** The key that made a signature, if any. Compares in constant time, and with every key, so that the time does not tell which one matched. */
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
 * The headers of a signed request, for tests and for your own sender.
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
