import { createReceiver, forwardInbox, type Receiver } from "hookline";

/** The used part of a queue's binding. */
export interface QueueLike {
  send(body: unknown, options: { contentType: "json" }): Promise<unknown>;
}

/** The bindings of wrangler.jsonc; the secret is one of the Worker's. */
export interface Env {
  readonly SIGNING_SECRET: string;
  /** What the events are for. */
  readonly APP_URL: string;
  readonly DELIVERIES: QueueLike;
  readonly DEAD: QueueLike;
}

/** A message holds 128,000 bytes, and a body is a third longer in it: base64. The rest is for what is beside the body. */
const MAX_BODY_BYTES = 90_000;

let receiver: Receiver<"network"> | undefined;

/** Bindings come with a request. */
export function receiverOf({ SIGNING_SECRET: secret, APP_URL: app, DELIVERIES: queue }: Env): Receiver<"network"> {
  if (receiver !== undefined) return receiver;
  // On Workers each request stores its own delivery, so there is nothing to put into one batch.
  const inbox = forwardInbox((deliveries) =>
    Promise.allSettled(deliveries.map((delivery) => queue.send(delivery, { contentType: "json" }))),
  );
  receiver = createReceiver({ secret, inbox, maxBodyBytes: MAX_BODY_BYTES });
  receiver.on("email", async (event, { idempotencyKey, signal }) => {
    const headers = { "idempotency-key": idempotencyKey };
    const { ok, status } = await fetch(`${app}/messages/${event.id}`, { method: "POST", headers, signal });
    if (!ok) throw new Error(`The application answered ${status}.`);
  });
  return receiver;
}
