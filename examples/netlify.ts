// A function of Netlify, `netlify/functions/webhooks.ts`. It answers 200 when its handlers are done, else 503, and the service
// sends again: nothing is lost when the process freezes after the answer.
import { createReceiver, memoryInbox } from "hookline";
import { fetchReceiver } from "hookline/fetch";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });

receiver.on("email.created", (event) => {
  console.log(`account ${event.accountId}: created message ${event.id}`);
});

// Netlify ends a function after 10 s or more. With a queue the answer need not wait: let `forwardInbox((deliveries) => …)`
// send to it, leave `answer` out, and let a background function call `receiver.handle(delivery)`.
export default fetchReceiver(receiver, { answer: "after-handlers", timeoutMs: 8_000 });

export const config = { path: "/webhooks" };
