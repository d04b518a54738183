import { createHash, createHmac } from "node:crypto";
import type { AnyEvent, Context } from "../../index.ts";

/** Servers refuse longer headers. */
const LONGEST_ID = 500;

/**
 * The request that hands an event to an app: `deploy/gateway/event.schema.json` describes its body.
 *
 * @param secrets each makes one signature
 * @param now milliseconds since the epoch
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function toEventRequest(
  event: AnyEvent,
  { attempt, merged, idempotencyKey }: Pick<Context, "attempt" | "merged" | "idempotencyKey">,
  { secrets, now }: { readonly secrets: readonly Uint8Array[]; readonly now: number },
) {
  const body = JSON.stringify({ type: event.type, attempt, merged, event });
  const id = toId(idempotencyKey);
  const timestamp = String(Math.floor(now / 1_000));
  const signatures = secrets.map(
    (secret) => `v1,${createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64")}`,
  );
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "User-Agent": "hookline",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
  return { headers, body };
}

/** The key itself, but for what a header cannot hold: the id of a meeting is in the key of its booking. */
function toId(key: string): string {
  const plain = key.replaceAll(/[^\x21-\x7E]/gu, encodeURIComponent);
  return plain.length <= LONGEST_ID ? plain : createHash("sha256").update(key).digest("hex");
}
