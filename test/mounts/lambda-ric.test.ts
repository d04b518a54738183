// Lambda's runtime for Node is the real one, aws-lambda-ric, but for its native part: see rapid-client.mjs.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import type { LambdaResultLike } from "../../adapters/http/aws-lambda.ts";
import { deliver, SECRET } from "../adapters/harness.ts";
import { gateways, listenerOf } from "../adapters/lambda-gateways.ts";
import { startNode, type Child } from "../cli/child.ts";
import type { ProbedOptions } from "../suites/http/http-subject.ts";
import { serve } from "../support/http.ts";
import { bundle, FOR_NODE } from "./bundle.ts";
import { serveRuntimeApi, type RuntimeApi } from "./runtime-api.ts";

const root = mkdtempSync(join(tmpdir(), "hookline-"));
const runtime = "test/mounts/node_modules/aws-lambda-ric/index.mjs";

beforeAll(async () => {
  const { code } = await bundle({ ...FOR_NODE, format: "cjs", entryPoints: [join(import.meta.dirname, "lambda.ts")] });
  writeFileSync(join(root, "index.cjs"), code);
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Function {
  readonly api: RuntimeApi;
  readonly child: Child;
  /** The URL of the gateway. */
  readonly url: string;
  /** Its output: stored and handled deliveries. */
  readonly output: readonly object[];
}

/** A process of the runtime with the function in it, behind an HTTP API. */
async function started(options: ProbedOptions = {}, { name = "handler", leftMs = 60_000 } = {}): Promise<Function> {
  const output: object[] = [];
  const queue = await serve((req, res) => {
    void json(req).then((one) => {
      output.push(one as object);
      res.end();
    });
  });
  const api = await serveRuntimeApi();
  const child = startNode(["--import=./test/mounts/rapid-client.mjs", runtime], {
    AWS_LAMBDA_RUNTIME_API: api.address,
    AWS_LAMBDA_NODEJS_USE_ALTERNATIVE_CLIENT_1: "true",
    AWS_LAMBDA_FUNCTION_NAME: "webhooks",
    AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "128",
    AWS_LAMBDA_LOG_GROUP_NAME: "group",
    AWS_LAMBDA_LOG_STREAM_NAME: "stream",
    LAMBDA_TASK_ROOT: root,
    _HANDLER: `index.${name}`,
    PROBED_APP: JSON.stringify({ secret: SECRET, tell: queue.url, storeTimeoutMs: 30_000, options }),
  });
  onTestFinished(() => child.kill("SIGKILL"));
  const { url } = await serve(
    listenerOf(gateways["an HTTP API, or a function URL"], async (event: object) => {
      const died = child.ended.then(() => Promise.reject(new Error(child.err())));
      const outcome = await Promise.race([api.invoke(event, { leftMs }), died]);
      if ("error" in outcome) throw new Error(outcome.error.errorMessage);
      return outcome.response as LambdaResultLike;
    }),
  );
  return { api, child, url, output };
}

function mail(id: string): string {
  const payloads = [{ id, changeType: "created" }];
  return JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads });
}

test("one process stores deliveries one after another, answers the handshake, and refuses", async () => {
  const { url, output, child } = await started();
  for (const id of ["m-1", "m-日本"]) expect(await deliver(url, mail(id))).toMatchObject({ status: 200, body: "" });
  expect(await deliver(url, "", { path: "/?validationToken=a+b" })).toMatchObject({ status: 200, body: "a b" });
  expect(await deliver(url, mail("m-3"), { headers: { "X-Aurinko-Signature": "0".repeat(64) } })).toMatchObject({
    status: 401,
  });
  const bodies = ["m-1", "m-日本"].map((id) => Buffer.from(mail(id)).toString("base64"));
  expect(output).toMatchObject(bodies.map((bodyBase64) => ({ stored: [{ bodyBase64 }] })));
  expect(child.err()).toBe("");
});

test("after the handlers: 200 when they are done, 503 when one failed, and then everything runs again", async () => {
  const { url, output } = await started({ answer: "after-handlers", timeoutMs: 20_000 });
  expect(await deliver(url, mail("m-1"))).toMatchObject({ status: 200 });
  for (const _ of [1, 2]) expect(await deliver(url, mail("fails"))).toMatchObject({ status: 503 });
  expect(output).toEqual([{ handled: "m-1" }]);
});

test("handlers get the remaining time of the invocation, so that it still answers", async () => {
  const { url, output } = await started({ answer: "after-handlers", timeoutMs: 600_000 }, { leftMs: 3_000 });
  expect(await deliver(url, mail("late"))).toMatchObject({ status: 503, headers: { "retry-after": "10" } });
  expect(output).toEqual([]);
});

test("an event that is no request fails its invocation, and the process continues", async () => {
  const { api, url } = await started();
  const outcome = await api.invoke({ Records: [{ eventSource: "aws:sqs" }] });
  expect(outcome).toMatchObject({
    error: { errorType: "UsageError", errorMessage: expect.stringContaining("receiver.handle(delivery)") },
  });
  expect(await deliver(url, mail("m-1"))).toMatchObject({ status: 200 });
});

test("the runtime refuses a handler of three parameters, which the mount's is not", async () => {
  const { api, child } = await started({}, { name: "ofOld" });
  await vi.waitFor(() => expect(api.initErrors).toMatchObject([{ errorType: "Runtime.CallbackHandlerDeprecated" }]), {
    timeout: 50_000,
  });
  await child.ended;
});
