// Cloudflare Queues: the same Worker receives and consumes. It ran on workerd, with the queues of miniflare: that shows the limits of
// a message, retries and the dead-letter queue, but no storage and no throughput.
import { workersReceiver, type WorkersContextLike } from "hookline/workers";
import { consume, type Batch } from "./consumer.ts";
import { receiverOf, type Env } from "./receiver.ts";

export default {
  fetch: (request: Request, env: Env, ctx: WorkersContextLike): Promise<Response> =>
    workersReceiver(receiverOf(env), { path: "/webhooks" })(request, env, ctx),

  queue: (batch: Batch, env: Env): Promise<void> => consume(batch, receiverOf(env), env.DEAD),
};
