import { sign } from "../protocol/signature.ts";
import type { RawRequest } from "../receiver/raw.ts";
import { toWire, type Sendable } from "./wire.ts";

export interface SigningOptions {
  /** The secret that the receiver has. */
  secret: string;
  /** When it is signed. @default now */
  at?: Date | undefined;
}

/** A request of the service, as a mount hands it in; `toRequest()` gives it for `fetch`. */
export type SignedDelivery = RawRequest & { toRequest(): Request };

/**
 * A signed request: for `receiver.receive`, for a mount under test, or with `toRequest()` for `fetch`.
 *
 * @param event an event, several of one delivery, `{ wire }` for any body, or `{ validationToken }` for the handshake
 * @throws UsageError `events-apart`, `secret-missing`
 * @example
 * const reply = await receiver.receive(signedDelivery(sample("email.created"), { secret }));
 */
export function signedDelivery(
  event: Sendable | { readonly validationToken: string },
  { secret, at, url = "http://localhost/webhooks" }: SigningOptions & { url?: string | undefined },
): SignedDelivery {
  const greets = "validationToken" in event;
  const text = greets ? "" : JSON.stringify(toWire(event));
  const target = new URL(url);
  if (greets) target.searchParams.append("validationToken", event.validationToken);
  const headers = {
    ...sign(text, { secret, at }),
    "Content-Type": greets ? "text/plain; charset=utf-8" : "application/json",
  };
  return {
    method: "POST",
    url: target.href,
    headers,
    body: new TextEncoder().encode(text),
    toRequest: () => new Request(target, { method: "POST", headers, body: text }),
  };
}
