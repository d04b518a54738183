// A receiver on Cloudflare Workers: a delivery is in a queue before it is answered, and the same Worker consumes the queue.
// wrangler.jsonc: "compatibility_flags": ["nodejs_compat"], and the queue, by the name of `DELIVERIES`, as producer and consumer.
import { createReceiver, forwardInbox, type Receiver, type StoredDelivery } from "hookline";
import { workersReceiver, type WorkersContextLike } from "hookline/workers";

interface Env {
  readonly SIGNING_SECRET: string;
  /** A message holds 128 KB, with the body as base64: put longer deliveries into R2 and send their key. */
  readonly DELIVERIES: { send(delivery: StoredDelivery): Promise<unknown> };
}

interface Batch {
  readonly messages: readonly { body: StoredDelivery; attempts: number; ack(): void; retry(options: object): void }[];
}

let receiver: Receiver<"network"> | undefined;

function receiverOf({ SIGNING_SECRET: secret, DELIVERIES: queue }: Env): Receiver<"network"> {
  const inbox = forwardInbox((deliveries) => Promise.all(deliveries.map((one) => queue.send(one))).then(() => {}));
  return (receiver ??= createReceiver({ secret, inbox, maxBodyBytes: 90_000 }).on("email.created", (event) => {
    console.log(`account ${event.accountId}: created message ${event.id}`);
  }));
}

export default {
  fetch: (request: Request, env: Env, ctx: WorkersContextLike): Promise<Response> =>
    workersReceiver(receiverOf(env), { path: "/webhooks" })(request, env, ctx),

  async queue(batch: Batch, env: Env): Promise<void> {
    for (const message of batch.messages) {
      await receiverOf(env)
        .handle(message.body)
        .then(() => message.ack())
        .catch(() => message.retry({ delaySeconds: Math.min(2 ** (message.attempts - 1), 900) }));
    }
  },
};
