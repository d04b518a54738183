import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort, send, type Answered } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { binaryOf } from "./binaries.ts";
import { bundle, FOR_NODE, FOR_WORKERS } from "./bundle.ts";
import { startProgram } from "./program.ts";
import { startWorkerd } from "./workerd.ts";

const SECRET = "a secret of the shop";
const root = join(import.meta.dirname, "../..");

const body = deliveryOf("m-1");

function deliveryOf(...ids: readonly string[]): string {
  const payloads = ids.map((id) => ({ id, changeType: "created" }));
  return JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads });
}

function deliver(url: string, text: string, secret = SECRET): Promise<Answered> {
  return send(url, { body: text, headers: signedHeaders(text, { secret }) });
}

describe("examples/fetch.ts, unchanged", () => {
  test.each([
    [
      "deno",
      (port: number) => ["serve", "--allow-all", "--no-prompt", "--conditions=hookline-source", `--port=${port}`],
    ],
    ["bun", () => ["--conditions=hookline-source"]],
  ] as const)("on %s", async (runtime, argsOf) => {
    const port = await freePort();
    const env = { SIGNING_SECRET: SECRET, PORT: String(port) };
    const program = startProgram(binaryOf(runtime), [...argsOf(port), "examples/fetch.ts"], { env });
    onTestFinished(() => program.end());
    await program.says(/http:\/\/\S+/);
    const url = `http://127.0.0.1:${port}/webhooks`;
    expect(await deliver(url, body)).toMatchObject({ status: 200, body: "" });
    await program.says(/account 2002: created message m-1/);
    expect(await deliver(url, body, "another")).toMatchObject({ status: 401 });
    // The default logger.
    await program.says(/"code":"signature-wrong"/);
    expect(await deliver(url.replace("webhooks", "other"), body)).toMatchObject({ status: 404 });
  });
});

describe("examples/workers.ts, bundled, on workerd with a queue", () => {
  test("stores a delivery in the queue, and handles it as the consumer", async () => {
    const [main, broker] = await Promise.all(
      ["examples/workers.ts", "test/mounts/queue-broker.ts"].map(async (entry) => {
        const { code } = await bundle({ ...FOR_WORKERS, entryPoints: [join(root, entry)] });
        return code;
      }),
    );
    const workers = startWorkerd(
      {
        main: {
          code: main ?? "",
          bindings: {},
          otherBindings: [`(name = "SIGNING_SECRET", text = "${SECRET}")`, '(name = "DELIVERIES", queue = "broker")'],
        },
        broker: {
          code: broker ?? "",
          bindings: {},
          otherBindings: ['(name = "CONSUMER", service = "main")'],
          flags: ["service_binding_extra_handlers"],
        },
      },
      { http: '"main"' },
    );
    onTestFinished(() => workers.end());
    const url = `${await workers.urlOf("http")}webhooks`;
    expect(await deliver(url, body)).toMatchObject({ status: 200, body: "" });
    await workers.program.says(/account 2002: created message m-1/);
    await workers.program.says(/consumed: .*"outcome":"ok"/);
    expect(
      (await Promise.all(["m-2", "m-3", "m-4"].map((id) => deliver(url, deliveryOf(id))))).map(({ status }) => status),
    ).toEqual([200, 200, 200]);
    for (const id of ["m-2", "m-3", "m-4"]) await workers.program.says(new RegExp(`created message ${id}`));
    expect(await deliver(url, body, "another")).toMatchObject({ status: 401 });
    // The default logger, on the console.
    await workers.program.says(/signature-wrong/);
    expect(await deliver(url.replace("webhooks", "other"), body)).toMatchObject({ status: 404 });
  });
});

describe("examples/aws-lambda.ts, bundled, on Node", () => {
  test("answers an event of a function URL", async () => {
    const { code } = await bundle({ ...FOR_NODE, entryPoints: [join(root, "examples/aws-lambda.ts")] });
    // Outside the repository, so that imports missing in the bundle fail.
    const folder = mkdtempSync(join(tmpdir(), "hookline-lambda-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "index.mjs"), code);
    const event = {
      version: "2.0",
      rawPath: "/",
      rawQueryString: "",
      headers: signedHeaders(body, { secret: SECRET }),
      requestContext: { http: { method: "POST", path: "/" }, stage: "$default" },
      body,
      isBase64Encoded: false,
    };
    const script = `import(${JSON.stringify(pathToFileURL(join(folder, "index.mjs")).href)})
      .then(({ handler }) => handler(${JSON.stringify(event)}, {}))
      .then(({ statusCode }) => console.log("answered " + statusCode));`;
    const program = startProgram(process.execPath, ["--eval", script], { env: { SIGNING_SECRET: SECRET } });
    onTestFinished(() => program.end());
    await program.says(/account 2002: created message m-1/);
    expect(await program.says(/answered (\d+)/)).toBe("200");
  });
});
