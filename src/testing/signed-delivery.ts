import { toBody, type Sendable } from "../emulator/wire/delivery-body.ts";
import { signRequest } from "../emulator/wire/sign-request.ts";
import type { RawRequest } from "../ingest/types.ts";

export type { Sendable };

/** Options of a signature. */
export interface SigningOptions {
  /** The receiver's secret. */
  secret: string;
  /** The time of the signature. @default now */
  at?: Date | undefined;
}

/** A request of the service, for `receiver.receive`; `toRequest()` makes one for `fetch`. */
export interface SignedDelivery extends RawRequest {
  /** Signature, timestamp and content type. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Makes a new Request at each call. */
  toRequest(): Request;
}

/**
 * Makes a signed request: for `receiver.receive`, for a mount under test, or with `toRequest()` for `fetch`.
 *
 * @param event an event, several of one delivery, `{ wire }` for any body, or `{ validationToken }` for the handshake
 * @param options the receiver's secret, the time of the signature, and the receiver's URL or a path, by default
 * `http://localhost/webhooks`
 * @throws UsageError `events-not-combinable` for events that cannot come in one delivery, `secret-missing`, `time-invalid`
 * @see protocol 5
 * @example
 * const reply = await receiver.receive(signedDelivery(sample("email.created"), { secret }));
 * const response = await fetch(signedDelivery(sample("email.created"), { secret, url }).toRequest());
 */
export function signedDelivery(
  event: Sendable | { readonly validationToken: string },
  { secret, at, url = "/webhooks" }: SigningOptions & { url?: string | undefined },
): SignedDelivery {
  const isHandshake = typeof event === "object" && "validationToken" in event;
  const body = isHandshake ? new Uint8Array(0) : toBody(event);
  const target = new URL(url, "http://localhost");
  if (isHandshake) target.searchParams.append("validationToken", event.validationToken);
  const headers = {
    ...signRequest(body, { secret, at: at ?? new Date() }),
    "Content-Type": isHandshake ? "text/plain; charset=utf-8" : "application/json",
  };
  return {
    method: "POST",
    url: target.href,
    headers,
    body,
    toRequest: () => new Request(target, { method: "POST", headers, body }),
  };
}
