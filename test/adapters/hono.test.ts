import { getRequestListener } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { HTTPException } from "hono/http-exception";
import { poweredBy } from "hono/powered-by";
import { prettyJSON } from "hono/pretty-json";
import { secureHeaders } from "hono/secure-headers";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { honoReceiver } from "hookline/hono";
import type { RequestListener } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { inProcess } from "../suites/http-subjects.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import { eventually } from "../support/eventually.ts";
import { toFetchOptions } from "../support/fetch-options.ts";
import { dial, headersText, send, serve, type Served } from "../support/http.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { signedHeaders } from "../support/sign.ts";
import { deciding, deliver, DELIVERY, receiving, reply, SECRET, signedAndMeasured, type Receiving } from "./harness.ts";

const LONG_LIVED = { runtime: "long-lived" } as const;

function listenerOf(app: Hono): RequestListener {
  // The server's own Request and Response would stay in the test's process.
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  return (req, res) => void listener(req, res);
}

const subject = inProcess((app) => listenerOf(new Hono().use(honoReceiver(app.receiver, toFetchOptions(app.options)))));

describe.concurrent("hono", () => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});

describe("hono: in an app", () => {
  test("for a path, in a route, in an app of an app: each gets its deliveries", async () => {
    const { receiver, bodies } = receiving();
    const mount = honoReceiver(receiver, LONG_LIVED);
    const below = new Hono()
      .basePath("/api")
      .all("/mail", honoReceiver(receiver, { ...LONG_LIVED, path: "/v1/api/mail" }));
    const app = new Hono()
      .use(honoReceiver(receiver, { ...LONG_LIVED, path: "/webhooks" }))
      .post("/route", mount)
      .route("/v1", below)
      .get("/", (c) => c.text("the app"));
    const { url } = await serve(listenerOf(app));
    for (const path of ["/webhooks", "/route", "/v1/api/mail?a=1"]) {
      expect(await deliver(url, DELIVERY, { path })).toMatchObject({ status: 200, body: "" });
    }
    expect(await send(url, { method: "GET", path: "/v1/api/mail" })).toMatchObject({
      status: 405,
      headers: { allow: "POST" },
    });
    expect(await send(url, { method: "GET" })).toMatchObject({ status: 200, body: "the app" });
    expect(bodies()).toEqual([DELIVERY, DELIVERY, DELIVERY]);
  });

  test("what it passed on to answers as ever: another route, notFound, onError", async () => {
    const app = new Hono()
      .use(honoReceiver(receiving().receiver, { ...LONG_LIVED, path: "/webhooks" }))
      .post("/other", (c) => c.json({ other: true }, 201))
      .post("/broken", () => {
        throw new HTTPException(409, { message: "conflict" });
      })
      .notFound((c) => c.text("nothing here", 404));
    const { url } = await serve(listenerOf(app));
    expect(await deliver(url, DELIVERY, { path: "/other" })).toMatchObject({ status: 201, body: '{"other":true}' });
    expect(await deliver(url, DELIVERY, { path: "/broken" })).toMatchObject({ status: 409, body: "conflict" });
    expect(await deliver(url, DELIVERY, { path: "/webhooks/" })).toMatchObject({ status: 404, body: "nothing here" });
  });

  test("a source function is asked with the context, so also with a route's parameters", async () => {
    const { receiver, stored } = receiving();
    const mount = honoReceiver(receiver, { ...LONG_LIVED, source: (c) => c.req.param("tenant") });
    const { url } = await serve(listenerOf(new Hono().post("/hooks/:tenant", mount)));
    await deliver(url, DELIVERY, { path: "/hooks/crm" });
    expect(stored).toMatchObject([{ source: "crm" }]);
  });

  test("a refusal goes out while the body is still to come", async () => {
    const { port } = await behind();
    const wire = await dial(port);
    wire.write(headersText({ "Content-Length": "1000" }));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/));
  });

  test("a client that goes away is no error of the app, and others go on", async () => {
    const failed = vi.fn<(error: Error) => Response>(() => new Response("failed", { status: 500 }));
    const { receiver } = receiving();
    const { port, url } = await serve(listenerOf(new Hono().use(honoReceiver(receiver, LONG_LIVED)).onError(failed)));
    const wire = await dial(port);
    wire.write(headersText(signedAndMeasured(DELIVERY)) + DELIVERY.slice(0, 5));
    await eventually(() => expect(wire.socket.writableLength).toBe(0));
    wire.socket.destroy();
    await eventually(() => expect(receiver.stats().refused).toEqual({ "body-cut-off": 1 }));
    expect(await deliver(url)).toMatchObject({ status: 200 });
    expect(failed).not.toHaveBeenCalled();
  });
});

describe("hono: what is around the mount", () => {
  const around: [string, MiddlewareHandler][] = [
    ["a status set before", async (c, next) => (c.status(201), next())],
    ["a header set before", async (c, next) => (c.header("Content-Type", "text/html"), next())],
    ["secureHeaders", secureHeaders()],
    ["etag", etag()],
    ["compress", compress({ threshold: 0 })],
    ["cors", cors()],
    ["prettyJSON", prettyJSON({ force: true })],
    ["poweredBy", poweredBy()],
  ];
  test.each(around)("changes neither status nor body of an answer: %s", async (_, middleware) => {
    for (const [status, body] of [
      [200, ""],
      [200, "token"],
      [401, ""],
      [422, ""],
      [503, ""],
    ] as const) {
      const receiver = deciding(async () => reply(status, body, body === "" ? {} : { "Content-Type": "text/plain" }));
      const { url } = await serve(listenerOf(new Hono().use(middleware).use(honoReceiver(receiver, LONG_LIVED))));
      const answer = await deliver(url);
      expect([answer.status, answer.body]).toEqual([status, body]);
      expect(answer.headers["content-type"]).toBe(body === "" ? undefined : "text/plain");
    }
  });

  test("is no place for the app's error handler: an answer is no error, nor is a receiver that rejects", async () => {
    const failed = vi.fn<(error: Error) => Response>(() => new Response("teapot", { status: 418 }));
    for (const receiver of [deciding(async () => reply(500)), deciding(() => Promise.reject(new Error("broken")))]) {
      const { url } = await serve(listenerOf(new Hono().onError(failed).use(honoReceiver(receiver, LONG_LIVED))));
      expect([500, 503]).toContain((await deliver(url)).status);
    }
    expect(failed).not.toHaveBeenCalled();
  });
});

describe("hono: a body that something reads before", () => {
  const stored: [string, MiddlewareHandler][] = [
    ["as text", async (c, next) => (await c.req.text(), next())],
    ["as JSON", async (c, next) => (await c.req.json(), next())],
    ["as bytes", async (c, next) => (await c.req.bytes(), next())],
    ["without waiting", async (c, next) => (void c.req.text(), next())],
    ["from a clone", async (c, next) => (await c.req.raw.clone().text(), next())],
    ["to count it", bodyLimit({ maxSize: 100_000 })],
  ];
  test.each(stored)("%s is whole: 200", async (_, middleware) => {
    const { url, bodies } = await behind(middleware);
    expect(await deliver(url)).toMatchObject({ status: 200, body: "" });
    expect(bodies()).toEqual([DELIVERY]);
  });

  test("as bytes is whole whatever it is, also where it came in chunks", async () => {
    const { url, stored: deliveries } = await behind(async (c, next) => (await c.req.arrayBuffer(), next()));
    const body = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
    await deliver(url, body);
    await deliver(url, body, { headers: { "Transfer-Encoding": "chunked" } });
    expect(deliveries.map(({ bodyBase64 }) => bodyBase64)).toEqual([body.toString("base64"), body.toString("base64")]);
  });

  test.each<[string, string | Buffer]>([
    ["bytes that are no text", Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
    ["a byte order mark", "\uFEFF{}"],
  ])("as text, and lost some of it (%s): 500, not a signature that seems wrong", async (_, body) => {
    const { url, receiver } = await behind(async (c, next) => (await c.req.text(), next()));
    expect(await deliver(url, body)).toMatchObject({ status: 500, body: "" });
    expect(receiver.stats().refused).toEqual({ "body-consumed": 1 });
  });

  test("past Hono is gone: 500, and the log says what to change", async () => {
    const { url, log } = await behind(async (c, next) => (await c.req.raw.text(), next()));
    expect(await deliver(url)).toMatchObject({ status: 500, body: "" });
    const [line] = log.of("body-consumed");
    expect(line?.facts["fix"]).toContain('`app.all("/webhooks", honoReceiver(receiver))` above');
    expect(line?.facts["fix"]).toContain("c.req.arrayBuffer()");
  });

  test.each<[string, MiddlewareHandler]>([
    ["as text", async (c, next) => (await c.req.text(), next())],
    ["past Hono", async (c, next) => (await c.req.raw.text(), next())],
  ])("and that is empty, %s: the handshake goes on", async (_, middleware) => {
    const { url } = await behind(middleware);
    const answer = await deliver(url, "", { path: "/?validationToken=abc", headers: { "Content-Type": "text/plain" } });
    expect(answer).toMatchObject({ status: 200, body: "abc" });
  });
});

/** As if its inbox were elsewhere: what a mount does after its answer is the same. */
function outliving(receiver: Receiver): Receiver<"network"> {
  return receiver as Receiver<"network">;
}

describe("hono: on a platform that gives a context of execution", () => {
  const env = { SIGNING_SECRET: SECRET };
  const url = "https://hooks.example/";
  const init = { method: "POST", headers: signedHeaders(DELIVERY, { secret: SECRET }), body: DELIVERY };

  test("secrets come from its bindings, and work after the answer goes to its waitUntil", async () => {
    const receiver: Receiver = createReceiver({
      secret: ({ platform }) => (platform as { env: typeof env }).env.SIGNING_SECRET,
      inbox: memoryInbox(),
      log: logRecorder().logger,
    });
    const handled: string[] = [];
    receiver.on("email.created", ({ id }) => void handled.push(id));
    onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
    const waited: Promise<unknown>[] = [];
    const ctx = {
      waitUntil: (work: Promise<unknown>) => void waited.push(work),
      passThroughOnException() {},
      props: {},
    };
    const app = new Hono().all("*", honoReceiver(outliving(receiver)));
    expect((await app.request(url, init, env, ctx)).status).toBe(200);
    expect(await waited[0]).toBeInstanceOf(Response);
    await Promise.all(waited);
    expect(handled).toEqual(["m-1"]);
  });

  test("one that takes no work now changes no answer", async () => {
    const waitUntil = (): never => {
      throw new Error("the response has been sent");
    };
    const app = new Hono().all("*", honoReceiver(outliving(receiving().receiver)));
    const ctx = { waitUntil, passThroughOnException() {}, props: {} };
    expect((await app.request(url, init, env, ctx)).status).toBe(200);
  });

  test("a server of one's own is not asked for any", async () => {
    const asked = vi.fn<() => void>();
    const app = new Hono().all("*", (c, next) => {
      Object.defineProperty(c, "executionCtx", { get: asked });
      return honoReceiver(receiving().receiver, LONG_LIVED)(c, next);
    });
    expect((await app.request(url, init)).status).toBe(200);
    expect(asked).not.toHaveBeenCalled();
  });

  test("without one the answer is the same", async () => {
    const { receiver, bodies } = receiving();
    const app = new Hono().all("*", honoReceiver(outliving(receiver)));
    expect((await app.request(url, init)).status).toBe(200);
    expect(bodies()).toEqual([DELIVERY]);
  });
});

/** An app with the mount behind something else. */
async function behind(...before: readonly MiddlewareHandler[]): Promise<Receiving & Served> {
  const own = receiving();
  const app = new Hono();
  for (const middleware of before) app.use(middleware);
  return { ...own, ...(await serve(listenerOf(app.use(honoReceiver(own.receiver, LONG_LIVED))))) };
}
