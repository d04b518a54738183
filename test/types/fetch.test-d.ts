// The fetch mount fits what takes a fetch function, and is refused where its inbox would not outlive the function.
import { serve } from "@hono/node-server";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { fetchReceiver } from "hookline/fetch";
import { sqliteInbox } from "hookline/sqlite";

const memory = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });
declare const network: Receiver<"network">;
declare const chance: boolean;

export const handle: (request: Request) => Promise<Response> = fetchReceiver(network);
serve({ fetch: fetchReceiver(memory, { runtime: "long-lived", path: chance ? "/webhooks" : undefined }) });
fetchReceiver(network, { source: ({ headers }) => headers.get("host") ?? undefined, waitUntil: undefined });
fetchReceiver(memory, { answer: "after-handlers", timeoutMs: 20_000, waitUntil: (work) => void work });

// @ts-expect-error -- a memory inbox does not outlive the function
fetchReceiver(memory);
// @ts-expect-error -- nor does a file, whatever is waited for
fetchReceiver(createReceiver({ secret: "s", inbox: sqliteInbox("inbox.db") }), { waitUntil: () => {} });
// @ts-expect-error -- there is one runtime that needs to be said
fetchReceiver(memory, { runtime: "function" });
// @ts-expect-error -- a deadline belongs to it
fetchReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- a misspelt option
fetchReceiver(network, { paths: "/webhooks" });
