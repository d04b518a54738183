import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver, forwardInbox, type StoredDelivery } from "hookline";
import { expect, test } from "vitest";
import { pageOf } from "../docs/pages.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { lintTemplate, parseTemplate, type Values } from "./lambda-queue-template.ts";

const folder = join(import.meta.dirname, "../../examples/lambda-only");
const text = readFileSync(join(folder, "template.yaml"), "utf8");
const template = parseTemplate(text);
const propertiesOf = (name: string): Values => template.Resources[name]?.Properties ?? {};

test("the stack file holds against the schemas of CloudFormation and SAM, and needs no database", () => {
  expect(lintTemplate(template)).toEqual([]);
  expect(text).not.toMatch(/DATABASE_URL|VpcConfig/);
  expect(text.match(/secretsmanager:\S+(?=\}\})/g)).toEqual(["secretsmanager:hookline/signing-secret"]);
});

test("a message is hidden six times as long as the consumer may take, and comes again for a day", () => {
  const { VisibilityTimeout: hidden, RedrivePolicy: redrive, FifoQueue: isFifo } = propertiesOf("Queue");
  const { Timeout: timeout } = propertiesOf("Consumer");
  expect(hidden).toBe(6 * (timeout as number));
  expect((hidden as number) * redrive.maxReceiveCount).toBe(24 * 60 * 60);
  expect(isFifo).toBe(true);
  expect(propertiesOf("QueueToConsumer")).toMatchObject({
    BatchSize: 1,
    FunctionResponseTypes: ["ReportBatchItemFailures"],
  });
  const program = readFileSync(join(folder, "consumer.ts"), "utf8");
  expect(Number(/timeoutMs: ([\d_]+)/.exec(program)?.[1]?.replace("_", ""))).toBeLessThan((timeout as number) * 1_000);
  const { text: page } = pageOf("docs/deploy/lambda-only.md");
  expect(page).toContain(`comes again after ${(hidden as number) / 60} minutes`);
  expect(page).toContain(`${redrive.maxReceiveCount} times in a day`);
});

test("the function for subscriptions of the page fits into the stack file", () => {
  const [, added = ""] = /```yaml\n(.*?)```/s.exec(pageOf("docs/deploy/lambda-only.md").text) ?? [];
  const { Resources: resources } = parseTemplate(added);
  expect(Object.keys(resources)).toEqual(["Subscriptions"]);
  expect(lintTemplate({ ...template, Resources: { ...template.Resources, ...resources } })).toEqual([]);
});

test("the consumer runs the handlers, and reports what failed", async () => {
  const { handler } = await import("../../examples/lambda-only/consumer.ts");
  const stored: StoredDelivery[] = [];
  const front = createReceiver({
    secret: "s",
    inbox: forwardInbox(async (deliveries) => void stored.push(...deliveries)),
    log: false,
  });
  const request = signedRequest(bodyOf({ payloads: [change("m-1", "created")] }), { secret: "s", at: new Date() });
  expect(await front.receive(request)).toMatchObject({ status: 200 });
  await front.close();
  const record = (messageId: string, body: string): object => ({
    messageId,
    body,
    eventSource: "aws:sqs",
    attributes: { MessageGroupId: messageId },
  });
  const event = { Records: [record("1", JSON.stringify(stored[0])), record("2", "no delivery")] };
  expect(await handler(event as never)).toEqual({ batchItemFailures: [{ itemIdentifier: "2" }] });
});
