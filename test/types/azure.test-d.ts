// The mount fits the real programming model of Azure Functions, and only what outlives a function may be mounted.
import { app, type HttpHandler, type HttpRequest, type HttpResponseInit } from "@azure/functions";
import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { azureReceiver, type AzureRequestLike, type AzureResponseLike } from "hookline/azure";
import { sqliteInbox } from "hookline/sqlite";
import type { Expect, Fits } from "./support.ts";

const secret = process.env["SIGNING_SECRET"];
const memory = createReceiver({ secret, inbox: memoryInbox() });
const disk = createReceiver({ secret, inbox: sqliteInbox("inbox.db") });
const queue = createReceiver({ secret, inbox: forwardInbox(async () => {}) });

app.http("webhooks", { methods: ["POST"], authLevel: "anonymous", handler: azureReceiver(queue) });
app.post("webhooks", azureReceiver(queue, { path: "/api/webhooks", source: ({ params }) => params["app"] }));
app.post("webhooks", azureReceiver(queue, { path: undefined, source: undefined }));
app.post("webhooks", azureReceiver(queue, { source: (request: HttpRequest) => request.query.get("app") ?? undefined }));
export const mounted: HttpHandler = azureReceiver(queue);
for (const receiver of [memory, disk, queue]) {
  app.post("webhooks", azureReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000, source: "crm" }));
}
export type AzureFits = [
  Expect<Fits<HttpRequest, AzureRequestLike>>,
  Expect<Fits<AzureResponseLike, HttpResponseInit>>,
];

// @ts-expect-error -- an inbox in memory does not outlive the function
azureReceiver(memory);
// @ts-expect-error -- nor does a file
azureReceiver(disk, { path: "/webhooks" });
// @ts-expect-error -- a deadline is wanted
azureReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- a function is not long-lived
azureReceiver(memory, { runtime: "long-lived" });
