// An HTTP function of Google Cloud. It answers 200 when its handlers are done, else 503, and the service redelivers: nothing
// is lost when the process freezes after the answer.
// Try it: SIGNING_SECRET=whsec npx functions-framework --source=gcp.ts --target=webhooks
// and then: SIGNING_SECRET=whsec npx hookline send email.created --to http://localhost:8080/
import { http } from "@google-cloud/functions-framework";
import { createReceiver, memoryInbox } from "hookline";
import { gcpReceiver } from "hookline/gcp";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });

receiver.on("email.created", (event) => {
  console.log(`account ${event.accountId}: created message ${event.id}`);
});

// With Pub/Sub the answer need not wait: let `forwardInbox((deliveries) => …)` publish, leave `answer` out, and let another
// function call `receiver.handle(delivery)`.
http("webhooks", gcpReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000 }));
