import type { StoredDelivery } from "hookline";
import { bodyOf } from "../make-delivery.ts";
import { signedHeaders } from "../sign.ts";

/** A delivery whose signature is another one's: no retry helps. */
export function poisonedDelivery(number: number, secret: string): StoredDelivery {
  const body = bodyOf({ payloads: [{ id: `poison-${number}`, changeType: "updated" }] });
  const at = new Date();
  const headers = Object.entries(signedHeaders("another body", { secret, at }));
  return {
    id: `poison-${number}`,
    receivedAt: at.toISOString(),
    sentAt: at.toISOString(),
    signedBy: "default",
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)])),
    bodyBase64: Buffer.from(body).toString("base64"),
  };
}
