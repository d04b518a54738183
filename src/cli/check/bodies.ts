/** What the probes are about, so that whoever sees them knows them again. */
export const MARK = "hookline-check";

/** Whose deliveries the probes pretend to be. */
export interface Origin {
  readonly account: number;
  readonly subscription: number;
}

const encoder = new TextEncoder();

/**
 * A message that never was is gone: of all kinds the one that a handler does least with. Its JSON has spaces and an escape that nobody
 * writes again the same way, so that a body that was parsed and written anew has another signature.
 */
export function deliveryBody(origin: Origin, extra = ""): Uint8Array {
  const entry = `{ "id": "${MARK}", "changeType": "deleted", "attributes": { "threadId": "\\u00e9 日本" }${extra} }`;
  return encoder.encode(`{ ${envelope(origin, "/email/messages")}, "payloads": [${entry}] }`);
}

/** A delivery that is about so many bytes long. */
export function longBody(origin: Origin, bytes: number): Uint8Array {
  return deliveryBody(origin, `, "filler": "${"x".repeat(bytes - deliveryBody(origin, ', "filler": ""').length)}"`);
}

/** It breaks off. */
export function brokenBody(origin: Origin): Uint8Array {
  return encoder.encode(`{ ${envelope(origin, `/${MARK}`)}, "payloads": [`);
}

/** JSON that no version of the service has sent yet. */
export function unknownBody(origin: Origin): Uint8Array {
  return encoder.encode(`{ ${envelope(origin, `/${MARK}`)}, "somethingNew": [1] }`);
}

function envelope({ subscription, account }: Origin, resource: string): string {
  return `"subscription": ${subscription}, "accountId": ${account}, "resource": "${resource}"`;
}
