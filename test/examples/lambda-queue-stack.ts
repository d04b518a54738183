import { fork, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SqsBatchResponse, SqsEventLike } from "hookline/sqs";
import { onTestFinished } from "vitest";
import type { LambdaResultLike } from "../../adapters/http/aws-lambda.ts";
import type { FakeSqs } from "../support/queues/fake-sqs.ts";
import { signedHeaders } from "../support/sign.ts";
import { parseTemplate } from "./lambda-queue-template.ts";

const root = join(import.meta.dirname, "../..");
export const FOLDER = join(root, "examples/lambda-queue");
export const SECRET = "a secret of the shop";

export const template = parseTemplate(readFileSync(join(FOLDER, "template.yaml"), "utf8"));

/** The files that are deployed, made by the README's command. */
export function buildFunctions(): { readonly folder: string; remove(): void } {
  const readme = readFileSync(join(FOLDER, "README.md"), "utf8");
  const [, command] = readme.match(/^npx esbuild (.+)$/m) ?? [];
  if (command === undefined) throw new Error("The README has no command that builds the functions.");
  const folder = mkdtempSync(join(tmpdir(), "hookline-functions-"));
  const args = command.replace("--outdir=dist", `--outdir=${folder}`).split(" ");
  // Here the package is not installed, but its sources are there.
  args.push("--conditions=hookline-source", "--log-level=warning");
  const { status, stderr } = spawnSync(join(root, "node_modules/.bin/esbuild"), args, {
    cwd: FOLDER,
    encoding: "utf8",
  });
  if (status !== 0 || stderr !== "") throw new Error(`esbuild ended with ${status}: ${stderr}`);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** What a function of the stack is connected to. */
export interface Deployed {
  readonly folder: string;
  readonly sqs: FakeSqs;
  readonly database?: string;
}

/** The variables that the stack file sets. */
function variablesOf(name: string, { sqs, database = "" }: Deployed): Record<string, string> {
  const values: Readonly<Record<string, string>> = {
    "{{resolve:secretsmanager:hookline/signing-secret}}": SECRET,
    "{{resolve:secretsmanager:hookline/database-url}}": database,
    '{"Ref":"Queue"}': sqs.queueUrl,
  };
  const given = template.Resources[name]?.Properties["Environment"].Variables as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(given).map(([variable, value]) => [
      variable,
      values[typeof value === "string" ? value : JSON.stringify(value)] ?? "",
    ]),
  );
}

interface DeployedFunction<E, R> {
  invoke(event: E): Promise<R>;
  /** What its instances have printed. */
  log(): string;
}

/** A function of the stack file. Each instance has one invocation at a time, and is frozen between two. */
function deploy<E extends object, R>(name: string, deployed: Deployed): DeployedFunction<E, R> {
  const { Handler: handler, Timeout: timeoutSeconds } = template.Resources[name]!.Properties;
  const [file, exported] = (handler as string).split(".") as [string, string];
  const env = {
    PATH: process.env["PATH"],
    AWS_LAMBDA_FUNCTION_NAME: name,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_ENDPOINT_URL_SQS: deployed.sqs.endpoint,
    ...variablesOf(name, deployed),
  };
  const frozen: Instance[] = [];
  let log = "";

  function start(): Instance {
    const args = [join(deployed.folder, `${file}.js`), exported, String(timeoutSeconds)];
    const child = fork(join(import.meta.dirname, "lambda-queue-runtime.ts"), args, { env, stdio: "pipe" });
    onTestFinished(() => void child.kill("SIGKILL"));
    for (const output of [child.stdout!, child.stderr!]) output.on("data", (text) => (log += String(text)));
    const ended = once(child, "exit").then(() => {
      throw new Error(`An instance of ${name} ended:\n${log}`);
    });
    ended.catch(() => {});
    return { child, ended };
  }

  return {
    async invoke(event) {
      const instance = frozen.pop() ?? start();
      const { child, ended } = instance;
      child.kill("SIGCONT");
      child.send(event);
      const [answer] = (await Promise.race([once(child, "message"), ended])) as [{ result?: R; error?: string }];
      child.kill("SIGSTOP");
      frozen.push(instance);
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.result as R;
    },
    log: () => log,
  };
}

interface Instance {
  readonly child: ChildProcess;
  /** Rejects when it ends. */
  readonly ended: Promise<never>;
}

export function deployReceiver(deployed: Deployed): DeployedFunction<object, LambdaResultLike> {
  return deploy("Receiver", deployed);
}

/** With what an event source mapping adds to a message. */
export function deployConsumer(deployed: Deployed): DeployedFunction<SqsEventLike, SqsBatchResponse> {
  const consumer = deploy<object, SqsBatchResponse>("Consumer", deployed);
  return { ...consumer, invoke: ({ Records: records }) => consumer.invoke({ Records: records.map(toSqsRecord) }) };
}

function toSqsRecord(message: SqsEventLike["Records"][number]): object {
  const now = String(Date.now());
  return {
    ...message,
    attributes: {
      AWSTraceHeader: "Root=1-5e3d83e1-e6f4d8f8e6f4d8f8e6f4d8f8",
      SentTimestamp: now,
      SenderId: "AROAEXAMPLE:stack-Receiver",
      ApproximateFirstReceiveTimestamp: now,
      ...message.attributes,
    },
    messageAttributes: {},
    md5OfBody: "e4e68fb7bd0e697a0ae8f1bb342846b3",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:eu-central-1:123456789012:stack.fifo",
    awsRegion: "eu-central-1",
  };
}

/** What a function URL makes of a signed request: payload format 2.0. */
export function urlEvent(body: string, { secret = SECRET, isBase64Encoded = false } = {}): object {
  const headers = {
    ...signedHeaders(body, { secret }),
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "X-Amzn-Trace-Id": "Root=1-5e3d83e1-e6f4d8f8e6f4d8f8e6f4d8f8",
    "X-Forwarded-For": "203.0.113.7",
    "X-Forwarded-Port": "443",
    "X-Forwarded-Proto": "https",
    Host: "abcdefghijklmnop.lambda-url.eu-central-1.on.aws",
  };
  return {
    version: "2.0",
    routeKey: "$default",
    rawPath: "/",
    rawQueryString: "",
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    requestContext: {
      accountId: "anonymous",
      apiId: "abcdefghijklmnop",
      domainName: headers.Host,
      domainPrefix: "abcdefghijklmnop",
      http: { method: "POST", path: "/", protocol: "HTTP/1.1", sourceIp: "203.0.113.7", userAgent: "sender/1.0" },
      requestId: "e1506fd5-9e7b-434f-bd42-4f8fa224b599",
      routeKey: "$default",
      stage: "$default",
      time: "12/Mar/2026:19:03:58 +0000",
      timeEpoch: 1_773_342_238_123,
    },
    body: isBase64Encoded ? Buffer.from(body).toString("base64") : body,
    isBase64Encoded,
  };
}
