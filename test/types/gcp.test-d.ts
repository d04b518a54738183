// The mount fits the real Functions Framework, and only what outlives a function may be mounted.
import { http, type HttpFunction, type Request } from "@google-cloud/functions-framework";
import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { gcpReceiver } from "hookline/gcp";
import { sqliteInbox } from "hookline/sqlite";

const secret = process.env["SIGNING_SECRET"];
const memory = createReceiver({ secret, inbox: memoryInbox() });
const disk = createReceiver({ secret, inbox: sqliteInbox("inbox.db") });
const queue = createReceiver({ secret, inbox: forwardInbox(async () => {}) });

http("webhooks", gcpReceiver(queue));
http("webhooks", gcpReceiver(queue, { path: "/webhooks", source: "crm" }));
http("webhooks", gcpReceiver(queue, { path: undefined, source: (request) => String(request.headers["x-app"]) }));
http("webhooks", gcpReceiver(queue, { source: (request: Request) => request.get("x-app") }));
export const mounted: HttpFunction = gcpReceiver(queue);
for (const receiver of [memory, disk, queue]) {
  http("webhooks", gcpReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000, path: "/webhooks" }));
}

// @ts-expect-error -- an inbox in memory does not outlive the function
gcpReceiver(memory);
// @ts-expect-error -- nor does a file
gcpReceiver(disk, { path: "/webhooks" });
// @ts-expect-error -- a deadline is wanted
gcpReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- a function is not long-lived
gcpReceiver(memory, { runtime: "long-lived" });
// @ts-expect-error -- a source is a text
gcpReceiver(queue, { source: () => 1 });
