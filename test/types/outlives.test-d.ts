// Where a process may freeze after the answer, only what outlives it may be mounted.
import { createReceiver, forwardInbox, memoryInbox, type AfterHandlers, type OutlivesFunction } from "hookline";
import { fetchReceiver, type FetchOptions } from "hookline/fetch";
import { sqliteInbox } from "hookline/sqlite";
import type { Equal, Expect } from "./support.ts";

const secret = process.env["SIGNING_SECRET"];
const memory = createReceiver({ secret, inbox: memoryInbox() });
const disk = createReceiver({ secret, inbox: sqliteInbox("inbox.db") });
const queue = createReceiver({ secret, inbox: forwardInbox(async () => {}) });
const slowQueue = createReceiver({ secret, inbox: forwardInbox(async () => {}, { storage: "disk" }) });
const handlers: AfterHandlers = { answer: "after-handlers", timeoutMs: 20_000 };

export type OfANetwork = Expect<Equal<OutlivesFunction<"network">, unknown>>;
export const fits: (request: Request) => Promise<Response> = fetchReceiver(queue);
fetchReceiver(queue, { path: "/webhooks", source: (request) => request.headers.get("x-tenant") ?? undefined });
fetchReceiver(queue, { waitUntil: (work) => void work });
for (const receiver of [memory, disk, slowQueue]) {
  fetchReceiver(receiver, { runtime: "long-lived" });
  fetchReceiver(receiver, handlers);
  fetchReceiver(receiver, { ...handlers, path: "/webhooks", source: "crm", waitUntil: undefined });
}
fetchReceiver(queue, handlers);
fetchReceiver(queue, { runtime: "long-lived" });

// @ts-expect-error -- an inbox in memory does not outlive the function
fetchReceiver(memory);
// @ts-expect-error -- nor does a file
fetchReceiver(disk, { path: "/webhooks" });
// @ts-expect-error -- nor a queue that says that it is on this machine's disk
fetchReceiver(slowQueue);
// @ts-expect-error -- waitUntil is speed, not safety
fetchReceiver(memory, { waitUntil: (work: Promise<unknown>) => void work });
// @ts-expect-error -- a deadline is wanted
fetchReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- another runtime is not known
fetchReceiver(memory, { runtime: "edge" });
// @ts-expect-error -- there is no such answer
fetchReceiver(queue, { answer: "at-once", timeoutMs: 1 });

export const options: FetchOptions = { path: undefined, source: undefined, waitUntil: undefined };
