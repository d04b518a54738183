// The mount fits what Cloudflare's own types say of a Worker, whose shape stands here: those types replace the global ones.
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { workersReceiver } from "hookline/workers";

interface ExecutionContext {
  waitUntil(promise: Promise<any>): void; // oxlint-disable-line typescript/no-explicit-any -- as Cloudflare has it
  passThroughOnException(): void;
  readonly props: unknown;
}

interface ExportedHandler<E> {
  fetch?: (request: Request, env: E, ctx: ExecutionContext) => Response | Promise<Response>;
}

interface Env {
  readonly SIGNING_SECRET: string;
}

const memory = createReceiver({
  secret: ({ platform }) => (platform as { env: Env }).env.SIGNING_SECRET,
  inbox: memoryInbox(),
});
declare const network: Receiver<"network">;

export const worker: ExportedHandler<Env> = { fetch: workersReceiver(network) };
export const after: ExportedHandler<Env> = {
  fetch: workersReceiver(memory, {
    answer: "after-handlers",
    timeoutMs: 20_000,
    source: ({ url }) => new URL(url).host,
  }),
};
workersReceiver(network, { path: "/webhooks", source: "crm" });

// @ts-expect-error -- a memory inbox does not outlive the Worker
workersReceiver(memory);
// @ts-expect-error -- a Worker is no process of one's own
workersReceiver(memory, { runtime: "long-lived" });
// @ts-expect-error -- a deadline belongs to it
workersReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- where work goes is the Worker's own context
workersReceiver(network, { waitUntil: () => {} });
