import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DELIVERY, SECRET } from "../adapters/harness.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import type { HttpSubject } from "../suites/http/http-subject.ts";
import { eventually } from "../support/eventually.ts";
import { send, type Answered, type Sent } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { buildNextApp, startNextApp, typeErrorsOf, type NextServer } from "./next-app.ts";

let server: NextServer;
const folder = mkdtempSync(join(tmpdir(), "hookline-"));

beforeAll(async () => {
  await buildNextApp();
  const INBOX = join(folder, "inbox.db");
  server = await startNextApp({ SIGNING_SECRET: SECRET, NEXT_MANUAL_SIG_HANDLE: "true", INBOX });
});

afterAll(async () => {
  await server?.end("SIGKILL");
  rmSync(folder, { recursive: true });
});

const platform = { ownHeaders: ["vary"] };
const ownPath = { path: "the path of an API route is that of its file" };
const behind = { ...ownPath, streams: "Next reads a body to its end before what passes a proxy goes on" };

describe.each<readonly [string, HttpSubject]>([
  ["the app router", at("/probed", {})],
  ["the app router, behind a proxy and a rewrite", at("/behind/probed", behind)],
  ["the pages router", at("/api/probed", ownPath)],
  ["the pages router, behind a proxy and a rewrite", at("/behind/api/probed", behind)],
])("Next, built: %s", (_, subject) => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});

describe("Next, built", () => {
  test("the example's route and instrumentation have one receiver", async () => {
    expect(await deliver("/webhooks")).toMatchObject({ status: 200, body: "" });
    await eventually(() => expect(server.printed()).toContain("account 2002: created message m-1, attempt 1"));
    expect(await deliver("/webhooks", "", { path: "/webhooks?validationToken=a+b" })).toMatchObject({ body: "a b" });
    expect(await deliver("/webhooks", DELIVERY, { headers: signed("another") })).toMatchObject({ status: 401 });
  });

  test("methods that a route does not export are refused by Next", async () => {
    for (const method of ["GET", "HEAD", "PUT"])
      expect(await send(`${server.url}/webhooks`, { method })).toMatchObject({ status: 405, body: "" });
    expect(await send(`${server.url}/webhooks`, { method: "OPTIONS" })).toMatchObject({ status: 204 });
  });

  test("Next redirects a trailing slash, so a subscription's URL must not have one", async () => {
    expect(await deliver("/webhooks/")).toMatchObject({ status: 308, headers: { location: "/webhooks" } });
  });

  test("`after` runs waiting jobs, in the app router", async () => {
    expect(await deliver("/after")).toMatchObject({ status: 200, body: "" });
    await eventually(() => expect(server.printed()).toContain("after the answer: message m-1"));
  });

  test("a path is compared with the URL before rewrites", async () => {
    for (const [own, path, status] of [
      ["/api/probed", "/api/probed?a=1", 401],
      ["/api/probed", "/behind/api/probed", 404],
      ["/behind/api/probed", "/behind/api/probed", 401],
      ["/probed", "/behind/probed", 404],
      ["/behind/probed", "/behind/probed?a=1", 401],
    ] as const) {
      await control({ secret: SECRET, tell: server.url, options: { path: own } });
      expect(await send(server.url + path, { body: DELIVERY })).toMatchObject({ status });
    }
  });

  test("a body consumed by the parser is 500, and the log says what to export", async () => {
    expect(await deliver("/api/parsed")).toMatchObject({ status: 500, body: "" });
    await eventually(() => expect(server.printed()).toContain("export const config = { api: { bodyParser: false } };"));
    // The bytes of a text body survive.
    const headers = { "Content-Type": "text/plain" };
    expect(await deliver("/api/parsed", DELIVERY, { headers })).toMatchObject({ status: 200, body: "" });
  });

  test("the mounts fit Next's own types", async () => {
    expect(await typeErrorsOf(FITS)).toBe("");
    expect(await typeErrorsOf(`${FITS}\nnextPagesReceiver(own);`)).toContain("does not outlive the function");
  });

  test("the example ends on SIGTERM when its receiver is closed", async () => {
    expect(await server.end("SIGTERM")).toBe(0);
  });
});

const FITS = `
import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { nextPagesReceiver, nextReceiver } from "hookline/next";
import type { NextApiHandler, NextApiRequest, PageConfig } from "next";
import { after, type NextRequest } from "next/server";

const own = createReceiver({ secret: "s", inbox: memoryInbox() });
const network = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}) });

export const POST: (request: NextRequest) => Promise<Response> = nextReceiver(network, { waitUntil: after });
export const handlers: readonly NextApiHandler[] = [
  nextPagesReceiver(network),
  nextPagesReceiver(own, { runtime: "long-lived", source: (req) => req.query?.["tenant"]?.toString() }),
  nextPagesReceiver(own, { answer: "after-handlers", timeoutMs: 1, source: (req: NextApiRequest) => req.cookies["tenant"] }),
];
export const config: PageConfig = { api: { bodyParser: false } };
`;

/** A route of the shared app: the cases run one after another, and each configures the route first. */
function at(path: string, lacks: HttpSubject["lacks"]): HttpSubject {
  return {
    platform,
    lacks,
    async serve(app) {
      await control(app);
      const shutDown = async (): Promise<void> => void (await send(`${server.url}/control`, { method: "DELETE" }));
      return { url: server.url + path, shutDown, close() {} };
    },
  };
}

async function control(app: object): Promise<void> {
  expect(await send(`${server.url}/control`, { body: JSON.stringify(app) })).toMatchObject({ status: 200 });
}

function deliver(path: string, body = DELIVERY, how: Sent = {}): Promise<Answered> {
  const headers = { "Content-Type": "application/json", ...signed(body), ...how.headers };
  return send(server.url + path, { body, ...how, headers });
}

function signed(body: string): Record<string, string> {
  return signedHeaders(body, { secret: SECRET });
}
