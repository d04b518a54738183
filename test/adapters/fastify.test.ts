import { fastify, type FastifyInstance, type FastifyRequest } from "fastify";
import type { MountOptions, Receiver } from "hookline";
import { fastifyReceiver } from "hookline/fastify";
import { once } from "node:events";
import { Agent } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, send } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import {
  ACKNOWLEDGED,
  deciding,
  deliver,
  DELIVERY,
  receiving,
  reply,
  SECRET,
  signedAndMeasured,
  type Receiving,
} from "./harness.ts";
import { mountSuite } from "./suite.ts";

describe("the table of answers", () => {
  const cases = checkHttpAdapter({
    async serve({ receiver, options }) {
      const app = fastify();
      await app.register(fastifyReceiver(receiver, options));
      const url = await app.listen({ port: 0, host: "127.0.0.1" });
      return { url, close: () => (app.server.closeAllConnections(), app.close()) };
    },
    lacks: { afterHandlers: "a server that goes on after its answers has an inbox" },
  });
  for (const { name, run } of cases) test(name, run);
});

mountSuite("fastify", (receiver, options) => {
  // A mount without a path is for the prefix alone; here for all there is.
  const app = fastify();
  void app.register(fastifyReceiver(receiver, { path: "/*", ...options }));
  return (req, res) => void app.ready().then(() => app.routing(req, res));
});

describe("in an app", () => {
  test("for a path, below a prefix, in a plugin: each gets its deliveries, and the rest is not ours", async () => {
    const { receiver, bodies } = receiving();
    const app = fastify();
    await app.register(fastifyReceiver(receiver, { path: "/webhooks" }));
    await app.register(fastifyReceiver(receiver), { prefix: "/prefix" });
    const inner = async (own: FastifyInstance) => {
      await own.register(fastifyReceiver(receiver, { path: "/mail" }));
    };
    await app.register(inner, { prefix: "/inner" });
    const url = await listen(app);
    for (const path of ["/webhooks", "/prefix", "/prefix/", "/inner/mail?a=1"]) {
      expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
    }
    for (const path of ["/", "/webhooks/", "/webhooks/below", "/inner", "/prefix/mail"]) {
      expect(await deliver(url, DELIVERY, { path })).toMatchObject({ status: 404 });
    }
    expect(bodies()).toHaveLength(4);
  });

  test("a source function is asked with the request and its route's parameters", async () => {
    const { receiver, stored } = receiving();
    const app = fastify();
    const source = (req: FastifyRequest<{ Params: { app: string } }>) => `${req.params.app} of ${req.routeOptions.url}`;
    await app.register(fastifyReceiver(receiver, { path: "/:app", source }), { prefix: "/hooks" });
    await deliver(await listen(app), DELIVERY, { path: "/hooks/crm" });
    expect(stored).toMatchObject([{ source: "crm of /hooks/:app" }]);
  });

  test("other routes keep their parser and their limit", async () => {
    const { receiver, bodies } = receiving();
    const app = fastify({ bodyLimit: 100 });
    await app.register(fastifyReceiver(receiver, { path: "/webhooks" }));
    app.post("/other", (request) => ({ got: request.body }));
    const url = await listen(app);
    const json = { "Content-Type": "application/json" };
    expect(await send(`${url}/other`, { body: '{"a":1}', headers: json })).toMatchObject({
      status: 200,
      body: '{"got":{"a":1}}',
    });
    const long = JSON.stringify({ text: "x".repeat(200) });
    expect(await send(`${url}/other`, { body: long, headers: json })).toMatchObject({ status: 413 });
    expect(await deliver(url, long, { path: "/webhooks" })).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([long]);
  });

  test("every method that the app lets through gets 405, its own ones too", async () => {
    const app = fastify();
    app.addHttpMethod("PROPFIND", { hasBody: true });
    const { url } = await mounted(receiving().receiver, app);
    for (const method of app.supportedMethods.filter((one) => one !== "POST")) {
      expect(await send(url, { method, headers: { "Content-Type": "text/plain" } })).toMatchObject({
        status: 405,
        body: "",
        headers: { allow: "POST" },
      });
    }
    expect(app.supportedMethods).toContain("PROPFIND");
  });

  test.each(["", "nothing that is one", "application/json; charset=latin1", "a/b; c"])(
    "the content type %j is as good as another",
    async (type) => {
      const own = receiving();
      const { url } = await mounted(own.receiver);
      expect(await deliver(url, DELIVERY, { headers: { "Content-Type": type } })).toMatchObject(ACKNOWLEDGED);
      expect(own.bodies()).toEqual([DELIVERY]);
    },
  );

  test("a request without a connection, as `inject` makes them, is answered too", async () => {
    const { receiver, bodies } = receiving();
    const app = fastify();
    await app.register(fastifyReceiver(receiver));
    const headers = signedHeaders(DELIVERY, { secret: SECRET });
    const answer = await app.inject({ method: "POST", url: "/", headers, payload: DELIVERY });
    expect(answer).toMatchObject({ statusCode: 200, body: "" });
    // It was not taken for one whose body is still to come.
    expect(answer.headers["connection"]).not.toBe("close");
    expect(await app.inject({ method: "POST", url: "/", payload: DELIVERY })).toMatchObject({ statusCode: 401 });
    expect(bodies()).toEqual([DELIVERY]);
  });

  test("over HTTP/2 answers and refuses", async () => {
    const { receiver, bodies } = receiving();
    const app = fastify({ http2: true });
    await app.register(fastifyReceiver(receiver));
    await app.listen({ port: 0, host: "127.0.0.1" });
    const client = connect(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
    onTestFinished(async () => {
      client.destroy();
      await app.close();
    });
    for (const [headers, status] of [
      [signedHeaders(DELIVERY, { secret: SECRET }), 200],
      [{}, 401],
    ] as const) {
      const stream = client.request({ ":method": "POST", ...headers });
      const closed = once(stream, "close");
      stream.end(DELIVERY);
      const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
      expect(answer[":status"]).toBe(status);
      stream.resume();
      await closed;
    }
    expect(bodies()).toEqual([DELIVERY]);
  });
});

describe("what is around the mount", () => {
  const no = Object.assign(new Error("no"), { statusCode: 422 });
  const around: [string, (app: FastifyInstance) => unknown][] = [
    ["a status set before", (app) => app.addHook("onRequest", async (_, res) => void res.code(201))],
    ["a type and a length set before", (app) => app.addHook("onRequest", withHeaders)],
    ["a preParsing hook that fails", (app) => app.addHook("preParsing", () => Promise.reject(no))],
    ["a preValidation hook that fails", (app) => app.addHook("preValidation", () => Promise.reject(no))],
    ["a preHandler hook that answers", (app) => app.addHook("preHandler", (_, res) => res.code(204).send())],
    ["a preSerialization hook", (app) => app.addHook("preSerialization", async () => ({ error: "none" }))],
    ["an onSend hook", (app) => app.addHook("onSend", async (_, res) => void res.code(422))],
    ["an onSend hook that fails", (app) => app.addHook("onSend", () => Promise.reject(no))],
    ["an error handler", (app) => app.setErrorHandler((_error, _, res) => res.code(422).send("no"))],
    ["a serializer", (app) => app.setReplySerializer(() => "serialized")],
    ["a validator", (app) => app.setValidatorCompiler(() => () => ({ error: no }))],
    ["parsers taken away", (app) => app.removeAllContentTypeParsers()],
    [
      "a parser that fails",
      (app) => {
        app.removeContentTypeParser("application/json");
        app.addContentTypeParser("application/json", (_, _body, done) => done(no));
      },
    ],
  ];

  test.each(around)("cannot change an answer: %s", async (_, add) => {
    for (const status of [200, 401, 422, 503] as const) {
      const app = fastify();
      add(app);
      const { url } = await mounted(
        deciding(async () => reply(status)),
        app,
      );
      const answer = await deliver(url);
      expect(answer).toMatchObject({ status, body: "", headers: { "content-length": "0" } });
      expect(answer.headers).not.toHaveProperty("content-type");
    }
  });

  test("may answer on its own where it is an `onRequest` hook of the same context, and only there", async () => {
    const own = receiving();
    const app = fastify();
    app.addHook("onRequest", async (request, res) => {
      if (request.headers["x-limited"] !== undefined) return res.code(429).send();
    });
    await app.register(fastifyReceiver(own.receiver));
    await app.register(async (beside) => {
      beside.addHook("onRequest", () => Promise.reject(no));
      beside.get("/other", () => "other");
    });
    const url = await listen(app);
    expect(await deliver(url, DELIVERY, { headers: { "X-Limited": "yes" } })).toMatchObject({ status: 429 });
    expect(own.stored).toEqual([]);
    expect(await send(`${url}/other`, { method: "GET" })).toMatchObject({ status: 422 });
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
  });

  test("sees the status that was decided", async () => {
    const statuses: number[] = [];
    const app = fastify();
    app.addHook("onResponse", async (_, res) => void statuses.push(res.statusCode));
    const { url } = await mounted(receiving().receiver, app);
    await deliver(url);
    await send(url, { body: DELIVERY });
    await eventually(() => expect(statuses).toEqual([200, 401]));
  });

  test("does not end a request that takes its time: a timeout for handlers", async () => {
    let keep = (): void => {};
    const stored = new Promise<void>((resolve) => (keep = resolve));
    let timed = 0;
    const app = fastify({ handlerTimeout: 20 });
    app.get("/slow", () => stored);
    const { url } = await mounted(
      deciding(async () => {
        // One that begins later is over first.
        timed = (await send(`${url}/slow`, { method: "GET" })).status;
        return reply(200);
      }),
      app,
    );
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    expect(timed).toBe(503);
    keep();
  });
});

describe("a hook that reads before the mount", () => {
  async function behind(leave: (bytes: Buffer) => object): Promise<Receiving & { readonly url: string }> {
    const own = receiving();
    const app = fastify();
    app.addHook("onRequest", async ({ raw }) => void Object.assign(raw, leave(await buffer(raw))));
    return { ...own, ...(await mounted(own.receiver, app)) };
  }

  test("and keeps no bytes: 500, and the log says what to change", async () => {
    const { url, log, stored } = await behind(() => ({}));
    expect(await deliver(url)).toMatchObject({ status: 500, body: "" });
    expect(stored).toEqual([]);
    expect(log.of("body-consumed")).toMatchObject([
      {
        level: "error",
        facts: { fix: expect.stringContaining("Add the `onRequest` hook that reads `request.raw` in a plugin") },
      },
    ]);
  });

  test.each<[string, (bytes: Buffer) => object]>([
    ["rawBody", (rawBody) => ({ rawBody })],
    ["body", (body) => ({ body })],
  ])("and leaves the bytes in `%s` of Node's request: 200, and the log warns", async (_, leave) => {
    const { url, log, bodies } = await behind(leave);
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([DELIVERY]);
    expect(log.of("parsed-before")).toMatchObject([
      { level: "warn", facts: { fix: expect.stringContaining("fastifyReceiver") } },
    ]);
  });
});

describe("an app that closes", () => {
  test("answers the request that is open, and 503 to what still comes on its connections", async () => {
    const own = receiving();
    const app = fastify();
    const { url, port } = await mounted(own.receiver, app);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const wire = await dial(port);
    wire.write(headersText(signedAndMeasured(DELIVERY)));
    wire.write(DELIVERY.slice(0, 7));
    await eventually(async () => expect(await connectionsOf(app)).toBe(1));
    // The request is in when a later one has been answered.
    expect(await deliver(url, DELIVERY, { agent })).toMatchObject(ACKNOWLEDGED);
    const closed = app.close();
    wire.write(DELIVERY.slice(7));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/));
    wire.socket.destroy();
    await closed;
    expect(own.bodies()).toEqual([DELIVERY, DELIVERY]);
  });
});

/** An app that listens until the test ends, with the mount at its root. */
async function mounted(
  receiver: Receiver,
  app: FastifyInstance = fastify(),
  options: MountOptions<FastifyRequest> = {},
): Promise<{ readonly url: string; readonly port: number }> {
  await app.register(fastifyReceiver(receiver, options));
  const url = await listen(app);
  return { url, port: Number(new URL(url).port) };
}

async function listen(app: FastifyInstance): Promise<string> {
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return app.listen({ port: 0, host: "127.0.0.1" });
}

async function withHeaders(_: unknown, { raw }: { readonly raw: { setHeader(name: string, value: string): unknown } }) {
  raw.setHeader("Content-Type", "text/html");
  raw.setHeader("Content-Length", "7");
}

function connectionsOf({ server }: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
