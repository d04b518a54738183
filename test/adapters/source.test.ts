import { HttpRequest, InvocationContext } from "@azure/functions";
import { Hono } from "hono";
import type { MountOptions, Receiver } from "hookline";
import { lambdaReceiver } from "hookline/aws-lambda";
import { azureReceiver } from "hookline/azure";
import { fetchReceiver } from "hookline/fetch";
import { honoReceiver } from "hookline/hono";
import { workersReceiver } from "hookline/workers";
import { describe, expect, test } from "vitest";
import { invalidSources } from "../support/invalid-sources.ts";
import { signedHeaders } from "../support/sign.ts";
import { DELIVERY, receiving, SECRET } from "./harness.ts";

// The mounts over `node:http` are held to the same in suite.ts.

type Ask = (receiver: Receiver<"network">, options: Pick<MountOptions, "source">) => Promise<number>;

const headers = (): Record<string, string> => signedHeaders(DELIVERY, { secret: SECRET });
const url = "https://hooks.example/";
const request = (): Request => new Request(url, { method: "POST", headers: headers(), body: DELIVERY });

const mounts: Readonly<Record<string, Ask>> = {
  fetch: async (receiver, options) => (await fetchReceiver(receiver, options)(request())).status,
  hono: async (receiver, options) => (await new Hono().use(honoReceiver(receiver, options)).fetch(request())).status,
  workers: async (receiver, options) =>
    (await workersReceiver(receiver, options)(request(), {}, { waitUntil() {} })).status,
  azure: async (receiver, options) => {
    const asked = new HttpRequest({ method: "POST", url, headers: headers(), body: { string: DELIVERY } });
    return (await azureReceiver(receiver, options)(asked, new InvocationContext())).status;
  },
  "aws-lambda": async (receiver, options) => {
    const event = { rawPath: "/", requestContext: { http: { method: "POST" } }, headers: headers(), body: DELIVERY };
    return (await lambdaReceiver(receiver, options)(event, {})).statusCode;
  },
};

describe.each(Object.entries(mounts))("%s: a source that gives", (_mount, ask) => {
  test.each(invalidSources)("%s is 503, and named in the log", async (got, source) => {
    const { receiver, stored, log } = receiving();
    expect(await ask(receiver, { source: source as () => string })).toBe(503);
    expect(stored).toEqual([]);
    expect(log.of("internal")).toMatchObject([
      { level: "error", facts: { err: { message: expect.stringContaining(`\`source\` gave ${got}`) } } },
    ]);
  });

  test("a text is stored with the delivery", async () => {
    const { receiver, stored } = receiving();
    expect(await ask(receiver, { source: () => "crm" })).toBe(200);
    expect(stored).toMatchObject([{ source: "crm" }]);
  });
});
