import { readFileSync } from "node:fs";
import { join } from "node:path";
import { app, HttpRequest, HttpResponse, InvocationContext, type HttpFunctionOptions } from "@azure/functions";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startNode } from "../cli/child.ts";
import { freePort, send } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";

const SECRET = "a secret of the shop";

const PRINTED = "account 2002: created message m-1";

const body = JSON.stringify({
  subscription: 1001,
  accountId: 2002,
  resource: "/email/messages",
  payloads: [{ id: "m-1", changeType: "created" }],
});

beforeEach(() => {
  vi.stubEnv("SIGNING_SECRET", SECRET);
  const print = vi.spyOn(console, "log").mockImplementation(() => {});
  onTestFinished(() => {
    vi.unstubAllEnvs();
    print.mockRestore();
  });
});

describe("the examples of functions", () => {
  test.each(["aws-lambda.ts", "azure.ts", "gcp.ts"])("are short: %s", (name) => {
    const text = readFileSync(join(import.meta.dirname, "../../examples", name), "utf8");
    expect(text.split("\n").length).toBeLessThan(40);
  });

  test("handle, and then answer: aws-lambda.ts", async () => {
    const { handler } = await import("../../examples/aws-lambda.ts");
    const event = (secret: string): object => ({
      version: "2.0",
      rawPath: "/",
      rawQueryString: "",
      headers: signedHeaders(body, { secret }),
      requestContext: { http: { method: "POST", path: "/" }, stage: "$default" },
      body,
      isBase64Encoded: false,
    });
    expect(await handler(event(SECRET), {})).toMatchObject({ statusCode: 200, body: "" });
    expect(vi.mocked(console.log).mock.calls).toEqual([[PRINTED]]);
    expect(await handler(event("another"), {})).toMatchObject({ statusCode: 401 });
  });

  test("handle, and then answer: azure.ts", async () => {
    const registered: HttpFunctionOptions[] = [];
    const register = vi.spyOn(app, "http").mockImplementation((_name, options) => void registered.push(options));
    onTestFinished(() => register.mockRestore());
    await import("../../examples/azure.ts");
    expect(registered).toMatchObject([{ methods: ["POST"], authLevel: "anonymous" }]);
    const ask = async (secret: string): Promise<number> => {
      const init = { method: "POST", url: "http://localhost/api/webhooks", body: { string: body } };
      const request = new HttpRequest({ ...init, headers: signedHeaders(body, { secret }) });
      return new HttpResponse(await registered[0]?.handler(request, new InvocationContext())).status;
    };
    expect(await ask(SECRET)).toBe(200);
    expect(vi.mocked(console.log).mock.calls).toEqual([[PRINTED]]);
    expect(await ask("another")).toBe(401);
  });

  test("handle, and then answer, in the framework's own program: gcp.ts", async () => {
    const program = ["node_modules/.bin/functions-framework", "--source=examples/gcp.ts", "--target=webhooks"];
    const child = startNode(program, { SIGNING_SECRET: SECRET, PORT: String(await freePort()) });
    const [, url = ""] = await child.says("out", /URL: (http:\S+)\n/);
    const headers = { "Content-Type": "application/json" };
    const ask = (secret: string) => send(url, { body, headers: { ...headers, ...signedHeaders(body, { secret }) } });
    expect(await ask(SECRET)).toMatchObject({ status: 200, body: "" });
    await child.says("out", new RegExp(PRINTED));
    expect(await ask("another")).toMatchObject({ status: 401 });
    child.kill("SIGTERM");
    await child.ended;
  });
});
