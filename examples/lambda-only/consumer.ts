// A function behind the queue: it runs the handlers, and a message is deleted when they have ended well. No database.
import { createReceiver, memoryInbox } from "hookline";
import { sqsConsumer } from "hookline/sqs";

// Nothing is stored here: the queue holds a delivery until its handlers have ended. The function in front has verified it.
const receiver = createReceiver({ secret: undefined, inbox: memoryInbox() });

receiver.on(
  "email",
  (event, ctx) => ctx.log.info({ account: event.accountId, message: event.id }, event.changeType),
  { timeoutMs: 20_000 }, // shorter than the function's timeout
);

export const handler = sqsConsumer(receiver, { by: "handle" });
