// A Lambda function freezes after its answer: only what outlives it may be mounted.
import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { lambdaReceiver, type LambdaHandler, type LambdaResultLike } from "hookline/aws-lambda";
import { sqliteInbox } from "hookline/sqlite";
import type { Equal, Expect } from "./support.ts";

const secret = process.env["SIGNING_SECRET"];
const memory = createReceiver({ secret, inbox: memoryInbox() });
const disk = createReceiver({ secret, inbox: sqliteInbox("inbox.db") });
const queue = createReceiver({ secret, inbox: forwardInbox(async () => {}) });

/** As AWS's own types have it: the callback is there for handlers of old. */
type AwsHandler<Event, Result> = (
  event: Event,
  context: AwsContext,
  callback: (error?: Error | string | null, result?: Result) => void,
) => void | Promise<Result>;
interface AwsContext {
  callbackWaitsForEmptyEventLoop: boolean;
  functionName: string;
  awsRequestId: string;
  getRemainingTimeInMillis(): number;
}
interface RestEvent {
  httpMethod: string;
  path: string;
  pathParameters: { [name: string]: string | undefined } | null;
}
interface RestResult {
  statusCode: number;
  headers?: { [header: string]: boolean | number | string } | undefined;
  multiValueHeaders?: { [header: string]: (boolean | number | string)[] } | undefined;
  body: string;
  isBase64Encoded?: boolean | undefined;
}

export const handler: LambdaHandler = lambdaReceiver(queue);
export const aws: AwsHandler<RestEvent, RestResult> = lambdaReceiver(queue);
lambdaReceiver(queue, { path: "/webhooks", source: (event: RestEvent) => event.pathParameters?.["app"] });
lambdaReceiver(queue, { path: undefined, source: undefined });
for (const receiver of [memory, disk, queue]) {
  lambdaReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000, path: "/webhooks", source: "crm" });
}
export type Fits = [
  Expect<Equal<Awaited<ReturnType<typeof handler>>, LambdaResultLike>>,
  // The runtime looks at the number of parameters.
  Expect<Equal<Parameters<LambdaHandler>["length"], 2>>,
];

// @ts-expect-error -- an inbox in memory does not outlive the function
lambdaReceiver(memory);
// @ts-expect-error -- nor does a file
lambdaReceiver(disk, { path: "/webhooks" });
// @ts-expect-error -- a deadline is wanted
lambdaReceiver(memory, { answer: "after-handlers" });
// @ts-expect-error -- there is no such place in a Lambda function
lambdaReceiver(queue, { waitUntil: () => {} });
// @ts-expect-error -- a Lambda function is not long-lived
lambdaReceiver(memory, { runtime: "long-lived" });
