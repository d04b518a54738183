import express5, { type ErrorRequestHandler, type RequestHandler } from "express";
import express4 from "express4";
import { expressReceiver, keepRawBody } from "hookline/express";
import { once } from "node:events";
import { Agent, type RequestListener } from "node:http";
import supertest from "supertest";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, serve } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { ACKNOWLEDGED, deciding, deliver, DELIVERY, receiving, reply, SECRET } from "./harness.ts";
import { mountSuite } from "./suite.ts";

const versions = [
  ["express 5", express5],
  ["express 4", express4 as unknown as typeof express5],
] as const;

const signed = { "Content-Type": "application/json", ...signedHeaders(DELIVERY, { secret: SECRET }) };
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const text = { "Content-Type": "text/plain" };

for (const [name, express] of versions) {
  mountSuite(name, (receiver, options) => express().use(expressReceiver(receiver, options)));

  /** An app that would spoil the answer in every way it can, were it asked. */
  function spoiling(mount: RequestHandler, ...before: RequestHandler[]) {
    const spoil = vi.fn<RequestHandler>((_req, res) => void res.status(422).send("after"));
    const spoilError = vi.fn<ErrorRequestHandler>((_error, _req, res, _next) => void res.status(422).send("error"));
    const app = express()
      .use(...before, mount)
      .use(spoil, spoilError);
    return { app, spoil, spoilError };
  }

  describe(`${name}: in an app`, () => {
    test("a route, a prefix, a router in a router: each gets its deliveries", async () => {
      const { receiver, bodies } = receiving();
      const app = express();
      app.post("/route", expressReceiver(receiver));
      app.use("/prefix", expressReceiver(receiver));
      app.use("/outer", express.Router().use("/inner", express.Router().post("/mail", expressReceiver(receiver))));
      for (const path of ["/route", "/route/?a=1", "/prefix", "/prefix/below", "/outer/inner/mail"]) {
        await supertest(app).post(path).set(signed).send(DELIVERY).expect(200, "").expect("Content-Length", "0");
      }
      await supertest(app).get("/route").expect(404);
      await supertest(app).get("/prefix").expect(405).expect("Allow", "POST");
      expect(bodies()).toEqual(Array.from({ length: 5 }, () => DELIVERY));
    });

    test("a path is that of the whole URL, also behind a prefix; the rest passes on", async () => {
      const { receiver } = receiving();
      const app = express();
      app.use(
        "/hooks",
        expressReceiver(receiver, { path: "/hooks/mail" }),
        expressReceiver(receiver, { path: "/hooks/crm" }),
      );
      app.use((req, res) => void res.send(`passed ${req.url}`));
      await supertest(app).post("/hooks/mail?a=1").set(signed).send(DELIVERY).expect(200, "");
      await supertest(app).post("/hooks/crm").set(signed).send(DELIVERY).expect(200, "");
      await supertest(app).post("/mail").set(signed).send(DELIVERY).expect(200, "passed /mail");
      await supertest(app).get("/hooks/other").expect(200, "passed /hooks/other");
    });

    test("a body passes on unread with a request that is not for the mount", async () => {
      const app = express();
      app.use(expressReceiver(receiving().receiver, { path: "/webhooks" }), express.json());
      app.post("/api", (req, res) => void res.json(req.body));
      await supertest(app).post("/api").send({ a: 1 }).expect(200, { a: 1 });
    });

    test("a source function is asked with the route's parameters", async () => {
      const { receiver, stored } = receiving();
      const app = express();
      const router = express.Router({ mergeParams: true });
      router.post("/mail", expressReceiver(receiver, { source: (req) => req.params["tenant"] }));
      app.use("/tenants/:tenant", router);
      await supertest(app).post("/tenants/crm%20eu/mail").set(signed).send(DELIVERY).expect(200);
      expect(stored).toMatchObject([{ source: "crm eu" }]);
    });
  });

  describe(`${name}: what is around the mount`, () => {
    test("before it cannot change the answer, by status, headers or body", async () => {
      const { receiver } = receiving();
      const { app, spoil } = spoiling(expressReceiver(receiver), (_req, res, next) => {
        res.status(201).type("html").set({ "Content-Length": "7", "X-Frame-Options": "DENY" });
        res.statusMessage = "Made";
        next();
      });
      await supertest(app)
        .post("/?validationToken=%3Cb%3E")
        .set(signedHeaders("", { secret: SECRET }))
        .expect(200, "<b>")
        .expect("Content-Type", "text/plain; charset=utf-8")
        .expect("X-Frame-Options", "DENY");
      const answer = await supertest(app).post("/").set(signed).send(DELIVERY).expect(200, "");
      expect(answer.headers).not.toHaveProperty("content-type");
      expect(spoil).not.toHaveBeenCalled();
    });

    test("after it is not reached, whatever was decided", async () => {
      for (const status of [200, 401, 422, 500, 503] as const) {
        const { app, spoil, spoilError } = spoiling(expressReceiver(deciding(async () => reply(status))));
        await supertest(app).post("/").set(signed).send(DELIVERY).expect(status, "");
        expect(spoil).not.toHaveBeenCalled();
        expect(spoilError).not.toHaveBeenCalled();
      }
    });

    test("gets no error of a receiver that fails with a status", async () => {
      const failed = Object.assign(new Error("no"), { status: 422, statusCode: 422, expose: true });
      const { app, spoilError } = spoiling(expressReceiver(deciding(() => Promise.reject(failed))));
      await supertest(app).post("/").set(signed).send(DELIVERY).expect(503, "");
      expect(spoilError).not.toHaveBeenCalled();
    });

    test("cannot send a second answer later", async () => {
      const { receiver } = receiving();
      const app = express();
      const late = vi.fn<(error: unknown) => void>();
      app.use((_req, res, next) => {
        res.on("finish", () => {
          try {
            res.status(422).json({});
          } catch (error) {
            late(error);
          }
        });
        next();
      }, expressReceiver(receiver));
      await supertest(app).post("/").set(signed).send(DELIVERY).expect(200, "");
      await eventually(() =>
        expect(late).toHaveBeenCalledWith(expect.objectContaining({ code: "ERR_HTTP_HEADERS_SENT" })),
      );
    });

    test("hears the end of every answer, also of one that was given early", async () => {
      // The rest of the body is in time, however long the machine takes.
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const ended: Promise<number>[] = [];
      const log: RequestHandler = (_req, res, next) => {
        ended.push(once(res, "finish").then(() => res.statusCode));
        next();
      };
      const { port, url } = await serve(express().use(log, expressReceiver(receiving().receiver)));
      await deliver(url);
      const wire = await dial(port);
      wire.write(headersText({ "Content-Length": "5" }));
      await once(wire.socket, "data");
      expect(wire.text()).toMatch(/^HTTP\/1\.1 401 /);
      wire.write("12345");
      expect(await Promise.all(ended)).toEqual([200, 401]);
    });
  });

  describe(`${name}: a parser that runs before the mount`, () => {
    async function behind(...parsers: RequestHandler[]) {
      const own = receiving();
      const app: RequestListener = express().use(...parsers, expressReceiver(own.receiver));
      return { ...own, ...(await serve(app)) };
    }

    test.each<[string, RequestHandler, Record<string, string>]>([
      ["json", express.json(), {}],
      ["urlencoded", express.urlencoded({ extended: true }), form],
      ["one that keeps the text of something else", express.json({ strict: false, reviver: () => "x" }), {}],
    ])("and keeps no bytes (%s): 500, and the log says what to change", async (_, parser, headers) => {
      const { url, log, stored } = await behind(parser);
      for (let round = 0; round < 3; round += 1) {
        expect(await deliver(url, DELIVERY, { headers })).toMatchObject({ status: 500, body: "" });
      }
      expect(stored).toEqual([]);
      const [line] = log.of("body-consumed");
      expect(line).toMatchObject({ level: "error", facts: { status: 500 } });
      expect(line?.facts["fix"]).toContain(
        'Move `app.post("/webhooks", expressReceiver(receiver))` above `app.use(express.json())`',
      );
      expect(line?.facts["fix"]).toContain("express.json({ verify: keepRawBody })");
    });

    test.each<[string, RequestHandler, Record<string, string>]>([
      ["json with keepRawBody", express.json({ verify: keepRawBody }), {}],
      ["urlencoded with keepRawBody", express.urlencoded({ extended: false, verify: keepRawBody }), form],
      ["raw", express.raw({ type: "*/*" }), {}],
      ["text", express.text({ type: "*/*" }), {}],
    ])("and leaves the bytes (%s): 200, and the log warns once", async (_, parser, headers) => {
      const { url, log, bodies } = await behind(parser);
      const other = DELIVERY.replace("m-1", "日本語 é");
      for (const body of [DELIVERY, other]) expect(await deliver(url, body, { headers })).toMatchObject(ACKNOWLEDGED);
      expect(bodies()).toEqual([DELIVERY, other]);
      expect(log.of("parsed-before")).toMatchObject([
        { level: "warn", facts: { fix: expect.stringContaining("above `app.use(express.json())`") } },
      ]);
    });

    test.each<[string, string | Buffer, Record<string, string>]>([
      ["bytes that are no text", Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), text],
      ["another charset", '{"a":"é"}', { "Content-Type": "text/plain; charset=latin1" }],
    ])("and loses some of them (%s): 500, not a signature that seems wrong", async (_, body, headers) => {
      const { url, receiver } = await behind(express.text());
      expect(await deliver(url, body, { headers })).toMatchObject({ status: 500 });
      expect(receiver.stats().refused).toEqual({ "body-consumed": 1 });
    });

    test("and has nothing to do with this body: it is read as if there were none", async () => {
      const { url, log, bodies } = await behind(express.json(), express.urlencoded({ extended: true }), express.text());
      expect(await deliver(url, DELIVERY, { headers: { "Content-Type": "application/octet-stream" } })).toMatchObject(
        ACKNOWLEDGED,
      );
      expect(bodies()).toEqual([DELIVERY]);
      expect(log.lines).toEqual([]);
    });

    test("does not hurt an empty body: the handshake goes on", async () => {
      const { url, log } = await behind(express.json(), express.urlencoded({ extended: true }));
      for (const headers of [
        text,
        { "Content-Type": "application/json" },
        { "Transfer-Encoding": "chunked", ...text },
      ]) {
        const answer = await deliver(url, "", { path: "/?validationToken=abc", headers });
        expect(answer).toMatchObject({ status: 200, body: "abc" });
      }
      expect(log.lines).toEqual([]);
    });

    test("keeps the connection, whatever came of it", async () => {
      const { url, connections } = await behind(express.json());
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      onTestFinished(() => agent.destroy());
      for (let round = 0; round < 3; round += 1) {
        expect(await deliver(url, DELIVERY, { agent })).toMatchObject({
          status: 500,
          headers: { connection: "keep-alive" },
        });
      }
      expect(connections()).toBe(1);
    });

    test("may look at the body where the mount reads it too", async () => {
      let seen = 0;
      const { url, bodies, log } = await behind((req, _res, next) => {
        req.on("data", (chunk: Buffer) => (seen += chunk.length));
        next();
      });
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
      expect(seen).toBe(DELIVERY.length);
      expect(bodies()).toEqual([DELIVERY]);
      expect(log.lines).toEqual([]);
    });
  });
}
