import { sign } from "../protocol/sign.ts";
import type { RawRequest } from "../ingest/types.ts";
import { toBody, type Sendable } from "./wire.ts";

/** How a delivery is signed. */
export interface SigningOptions {
  /** The secret that the receiver has. */
  secret: string;
  /** When it is signed. @default now */
  at?: Date | undefined;
}

/** A request of the service, as a mount hands it in; `toRequest()` gives it for `fetch`. */
export interface SignedDelivery extends RawRequest {
  /** The two signed ones, and the content type. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /** A new one every time. */
  toRequest(): Request;
}

/**
 * A signed request: for `receiver.receive`, for a mount under test, or with `toRequest()` for `fetch`.
 *
 * @param event an event, several of one delivery, `{ wire }` for any body, or `{ validationToken }` for the handshake
 * @param options the receiver's secret, when it is signed, and the receiver's URL or a path, by default
 * `http://localhost/webhooks`
 * @throws UsageError `events-apart` for events that cannot come together, `secret-missing`, `time-invalid`
 * @see protocol 5
 * @example
 * const reply = await receiver.receive(signedDelivery(sample("email.created"), { secret }));
 * const response = await fetch(signedDelivery(sample("email.created"), { secret, url }).toRequest());
 */
export function signedDelivery(
  event: Sendable | { readonly validationToken: string },
  { secret, at, url = "/webhooks" }: SigningOptions & { url?: string | undefined },
): SignedDelivery {
  const greets = "validationToken" in event;
  const body = greets ? new Uint8Array(0) : toBody(event);
  const target = new URL(url, "http://localhost");
  if (greets) target.searchParams.append("validationToken", event.validationToken);
  const headers = {
    ...sign(body, { secret, at }),
    "Content-Type": greets ? "text/plain; charset=utf-8" : "application/json",
  };
  return {
    method: "POST",
    url: target.href,
    headers,
    body,
    toRequest: () => new Request(target, { method: "POST", headers, body }),
  };
}
