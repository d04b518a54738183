// A stub of Cloudflare Queues: each message is delivered at once, as a batch of one, and not stored.

interface Message {
  readonly id: string;
  readonly timestamp: Date;
  readonly body: unknown;
  readonly attempts: number;
}

interface Env {
  readonly CONSUMER: { queue(name: string, messages: readonly Message[]): Promise<object> };
}

export default {
  async fetch(
    request: Request,
    { CONSUMER }: Env,
    ctx: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    const message = { id: crypto.randomUUID(), timestamp: new Date(), body: await request.json(), attempts: 1 };
    const consumed = CONSUMER.queue("deliveries", [message]);
    ctx.waitUntil(consumed.then((result) => console.log(`consumed: ${JSON.stringify(result)}`)));
    return Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: 0 } } });
  },
};
