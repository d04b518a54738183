import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredDelivery } from "hookline";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { bodyOf } from "../support/make-delivery.ts";
import { startFakeSqs, type FakeSqs, type FakeSqsOptions } from "../support/queues/fake-sqs.ts";
import { buildFunctions, deployReceiver, FOLDER, template, urlEvent, type Deployed } from "./lambda-queue-stack.ts";
import { lintTemplate, parseTemplate, type Values } from "./lambda-queue-template.ts";

const text = readFileSync(join(FOLDER, "template.yaml"), "utf8");
const programs = ["receiver.ts", "consumer.ts", "worker.ts"];
const functions = ["Receiver", "Consumer"];

describe("the stack file", () => {
  test("holds against the schemas of CloudFormation and SAM", () => {
    expect(lintTemplate(template)).toEqual([]);
  });

  test.each([
    ["VisibilityTimeout: 180", "VisibilityTimeOut: 180", "Queue.VisibilityTimeOut: there is no such property"],
    ["VisibilityTimeout: 180", "VisibilityTimeout: 3min", 'Queue.VisibilityTimeout: got "3min", expected integer'],
    ["FifoQueue: true", 'FifoQueue: "true"', 'Queue.FifoQueue: got "true", expected boolean'],
    ["AuthType: NONE", "InvokeMode: BUFFERED", "Receiver.FunctionUrlConfig.AuthType: is missing"],
    ["MemorySize: 512", "Memory: 512", "Receiver.Memory: there is no such property"],
    ["FunctionName: !Ref Consumer", "BisectBatchOnFunctionError: true", "QueueToConsumer.FunctionName: is missing"],
    ["[ReportBatchItemFailures]", "Report", 'QueueToConsumer.FunctionResponseTypes: got "Report", expected array'],
    ["!Ref Subnets", "!Ref AlarmTopic", "Consumer.VpcConfig.SubnetIds: got a reference, expected array"],
    ["- Version:", "- Versions:", "Receiver.Policies.0.Versions: there is no such property"],
    [
      "QUEUE_URL: !Ref Queue",
      "QUEUE_URL: !Ref Que",
      ".resources.Receiver.Properties.Environment.Variables.QUEUE_URL: there is no Que",
    ],
    [
      "!GetAtt DeadLetters.Arn",
      "!GetAtt DeadLetters.Url",
      ".resources.Queue.Properties.RedrivePolicy.deadLetterTargetArn: there is no DeadLetters.Url",
    ],
    [
      "!GetAtt ReceiverUrl.FunctionUrl",
      "!GetAtt ConsumerUrl.FunctionUrl",
      ".outputs.Url.Value: there is no ConsumerUrl.FunctionUrl",
    ],
    ["${AWS::StackName}.fifo", "${AWS::Stack}.fifo", ".resources.Queue.Properties.QueueName: there is no AWS::Stack"],
    ["AWS::CloudWatch::Alarm", "AWS::CloudWatch::Alert", "DeadLettersAlarm: there is no AWS::CloudWatch::Alert"],
  ])("would be refused with a mistake: %s as %s", (from, to, finding) => {
    expect(text).toContain(from);
    expect(lintTemplate(parseTemplate(text.replace(from, to)))).toContain(finding);
  });

  test("would be refused with a parameter that nothing uses, and with a tag that is unknown", () => {
    expect(lintTemplate(parseTemplate(text.replaceAll("!Ref AlarmTopic", "arn")))).toEqual([
      "Parameters.AlarmTopic: is not used",
    ]);
    expect(() => parseTemplate(text.replace("!Ref Queue", "!Reff Queue"))).toThrow("Unresolved tag: !Reff");
  });

  test("has FIFO queues, in which an account's messages stay in order and a message with the same text is another one", () => {
    for (const name of ["Queue", "DeadLetters"])
      expect(propertiesOf(name)).toMatchObject({
        FifoQueue: true,
        ContentBasedDeduplication: false,
        QueueName: { "Fn::Sub": expect.stringMatching(/\.fifo$/) as string },
        MessageRetentionPeriod: 14 * 24 * 60 * 60,
      });
    expect(propertiesOf("Queue")["RedrivePolicy"]).toMatchObject({
      deadLetterTargetArn: { "Fn::GetAtt": "DeadLetters.Arn" },
    });
  });

  test("hides a message at least six times as long as the consumer may take, and for three hours in all", () => {
    const { VisibilityTimeout: hiddenSeconds, RedrivePolicy: redrive } = propertiesOf("Queue");
    expect(hiddenSeconds).toBeGreaterThanOrEqual(6 * (propertiesOf("Consumer")["Timeout"] as number));
    expect(hiddenSeconds * redrive.maxReceiveCount).toBe(3 * 60 * 60);
  });

  test("lets the consumer report single messages, of batches as large as a FIFO queue's may be", () => {
    expect(propertiesOf("QueueToConsumer")).toMatchObject({
      EventSourceArn: { "Fn::GetAtt": "Queue.Arn" },
      FunctionName: { Ref: "Consumer" },
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      BatchSize: 10,
    });
  });

  test("never invokes the consumer more often at once than may run", () => {
    const { ReservedConcurrentExecutions: most } = propertiesOf("Consumer");
    expect(propertiesOf("QueueToConsumer")["ScalingConfig"]).toEqual({ MaximumConcurrency: most });
    expect(propertiesOf("Receiver")["ReservedConcurrentExecutions"]).toBeGreaterThan(0);
  });

  test("gives the receiver more time than a store may take", () => {
    expect(propertiesOf("Receiver")["Timeout"]).toBeGreaterThan(5);
  });

  test("has a URL for the receiver alone, which the signature protects", () => {
    expect(propertiesOf("Receiver")["FunctionUrlConfig"]).toEqual({ AuthType: "NONE" });
    expect(propertiesOf("Consumer")["FunctionUrlConfig"]).toBeUndefined();
  });

  test("allows each function its own half of the queue, and nothing else", () => {
    const allowed = (name: string) => {
      const { Role: role, Policies: policies } = propertiesOf(name);
      expect(role).toBeUndefined();
      return (policies as readonly Values[]).flatMap(({ Statement: statements }) => statements as unknown[]);
    };
    const queue = { "Fn::GetAtt": "Queue.Arn" };
    expect(allowed("Receiver")).toEqual([{ Effect: "Allow", Action: "sqs:SendMessage", Resource: queue }]);
    expect(allowed("Consumer")).toEqual([
      {
        Effect: "Allow",
        Action: ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
        Resource: queue,
      },
    ]);
  });

  test.each(functions)("names an export of a file, and sets each variable that it reads: %s", (name) => {
    const { Handler: handler, Environment: environment } = propertiesOf(name);
    const [file, exported] = (handler as string).split(".");
    const program = readFileSync(join(FOLDER, `${file}.ts`), "utf8");
    expect(program).toContain(`export const ${exported} = `);
    const [, read = ""] = program.match(/const \{ (.+) \} = process\.env;/) ?? [];
    expect(Object.keys(environment.Variables as object)).toEqual(read.split(", ").map((one) => one.split(":")[0]));
    expect(program.match(/process\.env/g)).toHaveLength(1);
  });

  test("has no secret in it", () => {
    for (const name of functions)
      for (const [variable, value] of Object.entries(propertiesOf(name)["Environment"].Variables as Values))
        if (variable !== "QUEUE_URL") expect(value).toMatch(/^\{\{resolve:secretsmanager:hookline\/[a-z-]+\}\}$/);
  });

  test("notifies about dead letters, and about messages that stay", () => {
    const watched = (name: string) => {
      const { Namespace, MetricName, Dimensions, AlarmActions } = propertiesOf(name);
      expect([Namespace, AlarmActions]).toEqual(["AWS/SQS", [{ Ref: "AlarmTopic" }]]);
      return [MetricName, Dimensions[0].Value["Fn::GetAtt"]];
    };
    expect(watched("DeadLettersAlarm")).toEqual(["ApproximateNumberOfMessagesVisible", "DeadLetters.QueueName"]);
    expect(watched("AgeAlarm")).toEqual(["ApproximateAgeOfOldestMessage", "Queue.QueueName"]);
  });
});

describe("the programs", () => {
  test.each(programs)("are short: %s", (name) => {
    expect(readFileSync(join(FOLDER, name), "utf8").split("\n").length).toBeLessThan(30);
  });

  test("are all of which the README speaks, with its numbers", () => {
    const readme = readFileSync(join(FOLDER, "README.md"), "utf8");
    for (const name of [...programs, "template.yaml", "DeadLettersAlarm", "AgeAlarm"])
      expect(readme).toContain(`\`${name}\``);
    const reserved = functions.map((name) => propertiesOf(name)["ReservedConcurrentExecutions"] as number);
    expect(readme).toContain(`The functions take ${reserved[0]! + reserved[1]!} of the account's`);
    expect(readme).toContain(`opens at most ${3 * reserved[1]!} connections: 3 for each of ${reserved[1]} instances`);
    const { VisibilityTimeout: hiddenSeconds, RedrivePolicy: redrive } = propertiesOf("Queue");
    expect(hiddenSeconds).toBe(180);
    expect(readme).toContain(`come again every three minutes, ${redrive.maxReceiveCount} times`);
    expect(propertiesOf("AgeAlarm")["Threshold"]).toBe(10 * 60);
    expect(readme).toContain(
      `--target=${String(template.Globals.Function["Runtime"]).replace(/^nodejs(\d+)\.x$/, "node$1")} `,
    );
  });
});

describe("the receiver, as it is deployed", () => {
  let build: ReturnType<typeof buildFunctions>;
  beforeAll(() => {
    build = buildFunctions();
  });
  afterAll(() => build.remove());

  async function deployed(options: FakeSqsOptions = {}): Promise<Deployed & { readonly sqs: FakeSqs }> {
    const sqs = await startFakeSqs({ fifo: true, ...options });
    onTestFinished(() => sqs.close());
    return { folder: build.folder, sqs };
  }

  test.each([false, true])("answers 200 when the queue has the delivery (base64: %s)", async (isBase64Encoded) => {
    const { sqs, ...rest } = await deployed();
    const receiver = deployReceiver({ sqs, ...rest });
    const body = bodyOf({ accountId: 7 });

    expect(await receiver.invoke(urlEvent(body, { isBase64Encoded }))).toMatchObject({ statusCode: 200, body: "" });

    const [message] = sqs.receive();
    const delivery = JSON.parse(message?.body ?? "") as StoredDelivery;
    expect(Buffer.from(delivery.bodyBase64, "base64").toString()).toBe(body);
    expect(message?.attributes["MessageGroupId"]).toBe("account-7");
    expect(receiver.log()).not.toContain("process-may-freeze");
  });

  test("answers 401 to another's signature, and the queue gets nothing", async () => {
    const { sqs, ...rest } = await deployed();
    const receiver = deployReceiver({ sqs, ...rest });
    expect(await receiver.invoke(urlEvent(bodyOf(), { secret: "another" }))).toMatchObject({ statusCode: 401 });
    expect(sqs.size).toBe(0);
  });

  test("answers 503 to what the queue refuses, so that the service delivers again", async () => {
    const receiver = deployReceiver(await deployed({ refuses: () => true }));
    expect(await receiver.invoke(urlEvent(bodyOf()))).toMatchObject({ statusCode: 503 });
  });
});

function propertiesOf(name: string): Values {
  return template.Resources[name]?.Properties ?? {};
}
