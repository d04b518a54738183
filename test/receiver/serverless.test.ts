import { createReceiver, forwardInbox, memoryInbox, type Inbox } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { functionPlatform } from "../../src/receiver/serverless.ts";
import { problemsOf, toReported } from "../support/health.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { signedRequest } from "../support/make-delivery.ts";

const SECRET = "a signing secret";

describe("a function platform", () => {
  test.each([
    ["AWS Lambda", { AWS_LAMBDA_FUNCTION_NAME: "hooks" }],
    ["Vercel", { VERCEL: "1" }],
    ["Netlify", { NETLIFY: "true" }],
    ["Azure Functions", { FUNCTIONS_WORKER_RUNTIME: "node" }],
    ["Google Cloud Functions", { FUNCTION_TARGET: "hooks", K_SERVICE: "hooks" }],
    ["Google Cloud Run", { K_SERVICE: "hooks" }],
    ["Deno Deploy", { DENO_DEPLOYMENT_ID: "abc" }],
    [undefined, { HOME: "/root", VERCEL: "" }],
  ])("%s is known by its environment", (name, env) => {
    expect(functionPlatform(env, "Node.js/24")).toBe(name);
  });

  test("of Workers is known by its navigator", () => {
    expect(functionPlatform({}, "Cloudflare-Workers")).toBe("Cloudflare Workers");
  });
});

const signed = () => signedRequest("{}", { secret: SECRET, at: new Date() });

/** A receiver in a process that looks like one of AWS Lambda. */
function onLambda(inbox: Inbox = memoryInbox()) {
  vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "hooks");
  onTestFinished(() => void vi.unstubAllEnvs());
  const log = logRecorder();
  const receiver = createReceiver({ secret: SECRET, inbox, log: log.logger });
  receiver.on("email", () => {});
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  return { receiver, log, told: () => problemsOf(receiver, "process-may-freeze") };
}

const TOLD = toReported("process-may-freeze", "Found AWS Lambda, and an inbox that stores in memory.");

describe("a receiver whose process may freeze after the answer", () => {
  test("has a problem once it starts on an inbox that is lost with the process; logged once", async () => {
    const { receiver, log, told } = onLambda();
    expect(await told()).toEqual([]);
    await receiver.start();
    await receiver.receive(signed());
    expect(await told()).toEqual([TOLD]);
    expect(log.of("process-may-freeze")).toMatchObject([{ level: "error", facts: { fix: TOLD.fix } }]);
  });

  test("has a problem once it stores a delivery there for later", async () => {
    const { receiver, told } = onLambda();
    await receiver.receive(signed());
    expect(await told()).toEqual([TOLD]);
  });

  test("says so of a file, too", async () => {
    const { receiver, told } = onLambda(forwardInbox(async () => {}, { storage: "disk" }));
    await receiver.receive(signed());
    expect((await told())[0]?.message).toContain("stores in a file");
  });

  test("has no problem if a queue stores, or the answer waits for the handlers", async () => {
    const queued = onLambda(forwardInbox(async () => {}));
    await queued.receiver.receive(signed());
    expect(await queued.told()).toEqual([]);
    const waiting = onLambda();
    const answering = { answer: "after-handlers", timeoutMs: 1_000 } as const;
    expect(await waiting.receiver.receive(signed(), answering)).toMatchObject({
      status: 200,
    });
    expect(await waiting.told()).toEqual([]);
  });
});
