// A function of Vercel, `api/webhooks.ts`. It answers 200 when its handlers are done, else 503, and the service redelivers:
// nothing is lost when the process freezes after the answer.
import { createReceiver, memoryInbox } from "hookline";
import { fetchReceiver } from "hookline/fetch";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });

receiver.on("email.created", (event) => {
  console.log(`account ${event.accountId}: created message ${event.id}`);
});

// The function's maxDuration should be longer. With a queue the answer need not wait: let `forwardInbox((deliveries) => …)`
// send to it, leave `answer` out, and let the queue's consumer call `receiver.handle(delivery)`.
export const POST = fetchReceiver(receiver, { answer: "after-handlers", timeoutMs: 8_000 });
