// A Lambda function with only a mount.
import { lambdaReceiver, type LambdaResultLike } from "../../adapters/http/aws-lambda.ts";
import type { ProbedApp } from "../suites/http/http-subject.ts";
import { createProbedReceiver } from "../suites/http/probed-receiver.ts";

const app = JSON.parse(process.env["PROBED_APP"] ?? "") as Omit<ProbedApp, "receiver">;
const receiver = createProbedReceiver(app);
const { answer, timeoutMs = 0, ...rest } = app.options;

export const handler =
  answer === undefined ? lambdaReceiver(receiver, rest) : lambdaReceiver(receiver, { ...rest, answer, timeoutMs });

/** A callback-style handler, as for runtimes before Node 24. */
export const ofOld = (event: unknown, context: object, _callback: unknown): Promise<LambdaResultLike> =>
  handler(event, context);
