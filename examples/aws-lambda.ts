// A Lambda function behind a function URL, an API Gateway API or a load balancer. It answers 200 when its handlers are done,
// else 503, and the service redelivers: nothing is lost when the process freezes after the answer. Bundle it,
// after `npm install --save-dev esbuild`: npx esbuild aws-lambda.ts --bundle --platform=node --outfile=index.cjs
import { createReceiver, memoryInbox } from "hookline";
import { lambdaReceiver } from "hookline/aws-lambda";

const receiver = createReceiver({ secret: process.env["SIGNING_SECRET"], inbox: memoryInbox() });

receiver.on("email.created", (event) => {
  console.log(`account ${event.accountId}: created message ${event.id}`);
});

// The function's timeout should be longer. With an SQS queue the answer need not wait: let
// `forwardInbox((deliveries) => …)` send to it, leave `answer` out, and let another function call `receiver.handle(delivery)`.
export const handler = lambdaReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000 });
