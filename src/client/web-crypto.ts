const utf8 = new TextEncoder();

/** HMAC-SHA256 by Web Crypto, which every runtime has. */
export async function hmacSha256(secret: string, message: string): Promise<Uint8Array> {
  const signature = await crypto.subtle.sign("HMAC", await toKey(secret, "sign"), utf8.encode(message));
  return new Uint8Array(signature);
}

/** Compares in constant time. */
export async function isHmacSha256(
  secret: string,
  message: string,
  signature: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  return crypto.subtle.verify("HMAC", await toKey(secret, "verify"), signature, utf8.encode(message));
}

function toKey(secret: string, usage: "sign" | "verify"): ReturnType<typeof crypto.subtle.importKey> {
  return crypto.subtle.importKey("raw", utf8.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, [usage]);
}

export function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Also of the alphabet for URLs. @throws Error for anything else */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Of the alphabet for URLs, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Of a text. */
export function toBase64UrlText(text: string): string {
  return toBase64Url(utf8.encode(text));
}

/** `Authorization` for a name and a password. */
export function toBasic(name: string, password: string): string {
  return `Basic ${toBase64(utf8.encode(`${name}:${password}`))}`;
}
