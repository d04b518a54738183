import { bodyParser } from "@koa/bodyparser";
import { Router } from "@koa/router";
import { koaReceiver } from "hookline/koa";
import Koa3 from "koa";
import Koa2 from "koa2";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect, createServer as createH2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import supertest from "supertest";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, serve } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { ACKNOWLEDGED, deciding, deliver, DELIVERY, receiving, reply, SECRET } from "./harness.ts";
import { mountSuite } from "./suite.ts";

type H2Listener = (req: Http2ServerRequest, res: Http2ServerResponse) => void;

const versions = [
  ["koa 3", Koa3],
  ["koa 2", Koa2 as unknown as typeof Koa3],
] as const;

const signed = { "Content-Type": "application/json", ...signedHeaders(DELIVERY, { secret: SECRET }) };

for (const [name, Koa] of versions) {
  /** It would print what it gets as an error, and a client that goes away is one to it. */
  function quiet(): Koa3 {
    return Object.assign(new Koa(), { silent: true });
  }

  mountSuite(name, (receiver, options) => listenerOf(quiet().use(koaReceiver(receiver, options))));

  describe(`${name}: in an app`, () => {
    test("for a path, in a router, in a router with a prefix: each gets its deliveries", async () => {
      const { receiver, bodies } = receiving();
      const app = quiet().use(koaReceiver(receiver, { path: "/webhooks" }));
      const router = new Router().post("/route", koaReceiver(receiver));
      const prefixed = new Router({ prefix: "/prefix" }).all("/mail", koaReceiver(receiver, { path: "/prefix/mail" }));
      app.use(router.routes()).use(prefixed.routes());
      for (const path of ["/webhooks", "/route", "/prefix/mail?a=1"]) {
        await supertest(app.callback())
          .post(path)
          .set(signed)
          .send(DELIVERY)
          .expect(200, "")
          .expect("Content-Length", "0");
      }
      await supertest(app.callback()).get("/prefix/mail").expect(405).expect("Allow", "POST");
      expect(bodies()).toEqual([DELIVERY, DELIVERY, DELIVERY]);
    });

    test("a path is that of the URL as it came, whatever middleware made of it; the rest passes on", async () => {
      const { receiver, stored } = receiving();
      const app = quiet()
        .use((ctx, next) => {
          ctx.url = "/";
          return next();
        })
        .use(koaReceiver(receiver, { path: "/webhooks" }))
        .use((ctx) => {
          ctx.body = `passed ${ctx.originalUrl}`;
        });
      await supertest(app.callback()).post("/webhooks?a=1").set(signed).send(DELIVERY).expect(200, "");
      await supertest(app.callback()).post("/other").set(signed).send(DELIVERY).expect(200, "passed /other");
      expect(stored).toHaveLength(1);
    });

    test("an error of what it passed on to is passed back", async () => {
      const app = quiet()
        .use(koaReceiver(receiving().receiver, { path: "/webhooks" }))
        .use((ctx) => ctx.throw(409, "conflict"));
      await supertest(app.callback()).post("/other").expect(409, "conflict");
    });

    test("a source function is asked with the context, so also with a router's parameters", async () => {
      const { receiver, stored } = receiving();
      const router = new Router().post(
        "/:tenant/mail",
        koaReceiver(receiver, { source: (ctx) => ctx.params?.["tenant"] }),
      );
      const app = quiet().use(router.routes());
      await supertest(app.callback()).post("/crm/mail").set(signed).send(DELIVERY).expect(200);
      expect(stored).toMatchObject([{ source: "crm" }]);
    });

    test("over HTTP/2 answers and refuses without a word that only HTTP/1 has", async () => {
      const warned = vi.fn<(warning: Error) => void>();
      process.on("warning", warned);
      const { receiver, bodies } = receiving();
      const server = createH2Server(listenerOf(quiet().use(koaReceiver(receiver))) as unknown as H2Listener).listen(
        0,
        "127.0.0.1",
      );
      await once(server, "listening");
      const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      onTestFinished(() => {
        process.off("warning", warned);
        client.destroy();
        server.close();
      });
      for (const [headers, status, ends] of [
        [signed, 200, true],
        [{}, 401, true],
        [{}, 401, false],
      ] as const) {
        const stream = client.request({ ":method": "POST", ...headers });
        const closed = once(stream, "close");
        if (ends) stream.end(DELIVERY);
        else stream.write(DELIVERY);
        const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
        expect(answer[":status"]).toBe(status);
        stream.resume();
        // One whose client goes on sending is ended from here.
        await closed;
      }
      expect(bodies()).toEqual([DELIVERY]);
      expect(warned.mock.calls).toEqual([]);
    });
  });

  describe(`${name}: what is around the mount`, () => {
    const around: [string, Koa3.Middleware][] = [
      ["a status set before", (ctx, next) => ((ctx.status = 201), next())],
      ["an empty body set before", (ctx, next) => ((ctx.body = null), next())],
      ["a body set before", (ctx, next) => ((ctx.body = { done: false }), next())],
      ["a type and a length set before", (ctx, next) => ((ctx.type = "html"), (ctx.length = 7), next())],
      ["a message set before", (ctx, next) => ((ctx.message = "Made"), next())],
      ["a status set after", (ctx, next) => next().then(() => (ctx.status = 204))],
      ["an empty body set after", (ctx, next) => next().then(() => (ctx.body = null))],
      ["a body set after", (ctx, next) => next().then(() => (ctx.body = { error: "none" }))],
      ["a 422 thrown after", (ctx, next) => next().then(() => ctx.throw(422))],
      ["an error with a status thrown after", (_ctx, next) => next().then(() => Promise.reject(withStatus(422)))],
      ["`respond` set after", (ctx, next) => next().then(() => ((ctx.respond = true), (ctx.status = 422)))],
    ];

    test.each(around)("cannot change an answer: %s", async (_, middleware) => {
      for (const status of [200, 401, 422, 503] as const) {
        const app = quiet()
          .use(middleware)
          .use(koaReceiver(deciding(async () => reply(status))));
        const { url } = await serve(listenerOf(app));
        const answer = await deliver(url);
        expect(answer).toMatchObject({ status, body: "", headers: { "content-length": "0" } });
        expect(answer.headers).not.toHaveProperty("content-type");
      }
    });

    test.each(around)("cannot change an answer that was given before the body came: %s", async (_, middleware) => {
      const app = quiet().use(middleware).use(koaReceiver(receiving().receiver));
      const { port } = await serve(listenerOf(app));
      const wire = await dial(port);
      wire.write(headersText({ "Content-Length": "5" }));
      await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n[^]*\r\n\r\n$/));
      wire.write("12345");
      await wire.closed;
      expect(wire.text().match(/HTTP\/1\.1/g)).toHaveLength(1);
    });

    test("sees the status that was decided", async () => {
      const statuses: number[] = [];
      const app = quiet()
        .use((ctx, next) => next().then(() => void statuses.push(ctx.status)))
        .use(koaReceiver(receiving().receiver));
      const { url } = await serve(listenerOf(app));
      await deliver(url);
      await deliver(url, DELIVERY, { headers: { "X-Aurinko-Signature": "0".repeat(64) } });
      expect(statuses).toEqual([200, 401]);
    });

    test("after it is not reached", async () => {
      const after = vi.fn<Koa3.Middleware>();
      const app = quiet().use(koaReceiver(receiving().receiver)).use(after);
      await supertest(app.callback()).post("/").set(signed).send(DELIVERY).expect(200);
      expect(after).not.toHaveBeenCalled();
    });
  });

  describe(`${name}: a parser that runs before the mount`, () => {
    async function behind(parser: Koa3.Middleware) {
      const own = receiving();
      return { ...own, ...(await serve(listenerOf(quiet().use(parser).use(koaReceiver(own.receiver))))) };
    }

    test("and leaves the text: 200, and the log warns once", async () => {
      const { url, log, bodies } = await behind(bodyParser());
      const other = DELIVERY.replace("m-1", "日本語 é");
      for (const body of [DELIVERY, other]) expect(await deliver(url, body)).toMatchObject(ACKNOWLEDGED);
      expect(bodies()).toEqual([DELIVERY, other]);
      expect(log.of("parsed-before")).toMatchObject([
        { level: "warn", facts: { fix: expect.stringContaining("above `app.use(bodyParser())`") } },
      ]);
    });

    test.each<[string, (bytes: Buffer) => Record<string, unknown>]>([
      ["as a Buffer in `body`", (body) => ({ body })],
      ["as a text in `body`", (bytes) => ({ body: bytes.toString() })],
      ["as bytes of another kind in `rawBody`", (bytes) => ({ rawBody: new Uint8Array(bytes), body: {} })],
    ])("and leaves the bytes %s: 200", async (_, leave) => {
      const { url, bodies } = await behind(async (ctx, next) => {
        Object.assign(ctx.request, leave(await buffer(ctx.req)));
        await next();
      });
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
      expect(bodies()).toEqual([DELIVERY]);
    });

    test("and leaves the bytes on Node's request, as function platforms do: 200", async () => {
      const { url, bodies } = await behind(async (ctx, next) => {
        Object.assign(ctx.req, { rawBody: await buffer(ctx.req) });
        await next();
      });
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
      expect(bodies()).toEqual([DELIVERY]);
    });

    test("and leaves nothing: 500, and the log says what to change", async () => {
      const { url, log, stored } = await behind(async (ctx, next) => {
        Object.assign(ctx.request, { body: JSON.parse((await buffer(ctx.req)).toString()) as unknown });
        await next();
      });
      expect(await deliver(url)).toMatchObject({ status: 500, body: "" });
      expect(stored).toEqual([]);
      const [line] = log.of("body-consumed");
      expect(line?.facts["fix"]).toContain(
        'Move `app.use(koaReceiver(receiver, { path: "/webhooks" }))` above `app.use(bodyParser())`',
      );
      expect(line?.facts["fix"]).toContain("ctx.request.rawBody");
    });

    test.each<[string, string | Buffer]>([
      ["bytes that are no text", Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
      ["a byte order mark", "\uFEFF{}"],
    ])("and loses some of them (%s): 500, not a signature that seems wrong", async (_, body) => {
      const { url, receiver } = await behind(bodyParser({ enableTypes: ["text"] }));
      expect(await deliver(url, body, { headers: { "Content-Type": "text/plain" } })).toMatchObject({ status: 500 });
      expect(receiver.stats().refused).toEqual({ "body-consumed": 1 });
    });

    test("and has nothing to do with this body: it is read as if there were none", async () => {
      const { url, log } = await behind(bodyParser());
      const headers = { "Content-Type": "application/octet-stream" };
      expect(await deliver(url, DELIVERY, { headers })).toMatchObject(ACKNOWLEDGED);
      expect(log.lines).toEqual([]);
    });

    test("does not hurt an empty body: the handshake goes on", async () => {
      const { url, log } = await behind(bodyParser({ enableTypes: ["json", "form", "text"] }));
      for (const type of ["text/plain", "application/json"]) {
        const answer = await deliver(url, "", { path: "/?validationToken=abc", headers: { "Content-Type": type } });
        expect(answer).toMatchObject({ status: 200, body: "abc" });
      }
      expect(log.lines).toEqual([]);
    });
  });
}

/** Koa's own listener gives a promise, which nobody who calls it waits for. */
function listenerOf(app: Koa3): RequestListener {
  const listener = app.callback();
  return (req, res) => void listener(req, res);
}

function withStatus(status: number): Error {
  return Object.assign(new Error("no"), { status, statusCode: status, expose: true });
}
