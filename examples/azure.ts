// An HTTP function of Azure, programming model v4. It answers 200 when its handlers are done, else 503, and the service sends
// again: nothing is lost when the process stops after the answer.
import { app } from "@azure/functions";
import { createReceiver, memoryInbox } from "hookline";
import { azureReceiver } from "hookline/azure";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });

receiver.on("email.created", (event) => {
  console.log(`account ${event.accountId}: created message ${event.id}`);
});

// With a storage queue the answer need not wait: let `forwardInbox((deliveries) => …)` send to it, leave `answer` out, and
// let another function call `receiver.handle(delivery)`.
app.http("webhooks", {
  methods: ["POST"],
  // The signature authenticates: the service has no Azure key.
  authLevel: "anonymous",
  handler: azureReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000 }),
});
