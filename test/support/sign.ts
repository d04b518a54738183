import { createHmac } from "node:crypto";

export interface Signing {
  readonly secret: string;
  /** @default now */
  readonly at?: Date | undefined;
}

/** The service's two signature headers, made by Node's own HMAC without our code. */
export function signedHeaders(body: Uint8Array | string, { secret, at = new Date() }: Signing): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  return { "X-Aurinko-Request-Timestamp": timestamp, "X-Aurinko-Signature": signatureOf(body, { secret, timestamp }) };
}

/** The signature alone, for any timestamp text. */
export function signatureOf(
  body: Uint8Array | string,
  { secret, timestamp }: { readonly secret: string; readonly timestamp: string },
): string {
  return createHmac("sha256", secret).update(`v0:${timestamp}:`).update(body).digest("hex");
}
