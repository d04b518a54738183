// A function behind a URL: it answers 200 when SQS has the delivery, and nothing runs after the answer.
import { SQSClient } from "@aws-sdk/client-sqs";
import { createReceiver } from "hookline";
import { lambdaReceiver } from "hookline/aws-lambda";
import { sqsInbox } from "hookline/sqs";

const { SIGNING_SECRET: secret, QUEUE_URL: queueUrl = "" } = process.env;
const receiver = createReceiver({ secret, inbox: sqsInbox(new SQSClient({}), { queueUrl }) });

export const handler = lambdaReceiver(receiver);
