import { nodeReceiver } from "hookline/node";
import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred, turns, until } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, send, serve } from "../support/http.ts";
import { ACKNOWLEDGED, bytesOf, deciding, deliver, DELIVERY, receiving, reply, signedAndMeasured } from "./harness.ts";
import { mountSuite } from "./suite.ts";

mountSuite("node", (receiver, options) => nodeReceiver(receiver, options));

describe("node", () => {
  test("answers another path 404 with an empty body, and the connection goes on", async () => {
    const { url, connections } = await serve(nodeReceiver(receiving().receiver, { path: "/webhooks" }));
    const agent = keepingAgent();
    for (const method of ["GET", "POST", "HEAD"]) {
      const sent = method === "POST" ? { method, agent, body: DELIVERY } : { method, agent };
      expect(await send(url, sent)).toMatchObject({ status: 404, body: "", headers: { "content-length": "0" } });
    }
    expect(connections()).toBe(1);
  });

  test("hands the request to a `source` that is a function", async () => {
    const { receiver, stored } = receiving();
    const { url } = await serve(nodeReceiver(receiver, { source: (req) => req.url?.split("/")[1] }));
    await deliver(url, DELIVERY, { path: "/crm/webhooks" });
    expect(stored).toMatchObject([{ source: "crm" }]);
  });

  test("compares and hands on the original URL where a small router has cut it", async () => {
    const receiver = deciding(async () => reply(200));
    const mount = nodeReceiver(receiver, { path: "/hooks/mail" });
    const { url } = await serve((req, res) => mount(Object.assign(req, { originalUrl: req.url, url: "/mail" }), res));
    expect(await deliver(url, DELIVERY, { path: "/hooks/mail?a=1" })).toMatchObject(ACKNOWLEDGED);
    expect(receiver.seen).toMatchObject([{ url: "/hooks/mail?a=1" }]);
  });

  test("takes the bytes that a function platform read and left on `rawBody`", async () => {
    const { receiver, bodies, log } = receiving();
    const mount = nodeReceiver(receiver);
    const { url } = await serve((req, res) => {
      void buffer(req).then((rawBody) =>
        mount(Object.assign(req, { rawBody, body: JSON.parse(rawBody.toString()) as unknown }), res),
      );
    });
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([DELIVERY, DELIVERY]);
    expect(log.of("parsed-before")).toHaveLength(1);
  });

  test("says what to change where other code read the body and left nothing", async () => {
    const { receiver, log } = receiving();
    const mount = nodeReceiver(receiver);
    const { url } = await serve((req, res) => {
      req.on("data", () => {}).on("end", () => mount(req, res));
    });
    expect(await deliver(url)).toMatchObject({ status: 500, body: "" });
    expect(log.of("body-consumed")).toMatchObject([
      { facts: { fix: expect.stringContaining("req.rawBody = buffer") } },
    ]);
  });

  test("knows an ended stream that never gave a byte for an empty body", async () => {
    const { receiver, bodies } = receiving();
    const mount = nodeReceiver(receiver);
    const { url } = await serve((req, res) => {
      req.on("end", () => mount(req, res)).resume();
    });
    expect(await deliver(url, "", { headers: { "Transfer-Encoding": "chunked" } })).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([""]);
  });

  test("does not take text for bytes where other code set an encoding on the stream", async () => {
    const { receiver, log } = receiving();
    const mount = nodeReceiver(receiver);
    const { url } = await serve((req, res) => mount(req.setEncoding("utf8"), res));
    expect(await deliver(url)).toMatchObject({ status: 500 });
    expect(log.of("body-consumed")).toHaveLength(1);
  });

  test("knows an empty body for what it is, whatever was done to the stream", async () => {
    const { receiver, bodies } = receiving();
    const mount = nodeReceiver(receiver);
    const { url } = await serve((req, res) => mount(req.setEncoding("utf8"), res));
    expect(await deliver(url, "")).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([""]);
  });

  test.each([
    ["came whole before the answer", false],
    ["was answered by somebody else before it came whole", true],
  ])("goes on with a connection whose body was refused half-way and %s", async (_, answeredElsewhere) => {
    const refused = deferred();
    const decides = deferred();
    const receiver = deciding(async ({ body }) => {
      if (typeof body !== "function" || receiver.seen.length > 1) return reply(200);
      const count = (): never => {
        throw new Error("no room");
      };
      await body({ maxBytes: 1_000, signal: new AbortController().signal, count }).catch(() => refused.resolve());
      await decides.promise;
      return reply(503);
    });
    const mount = nodeReceiver(receiver);
    const seen: { req: IncomingMessage; res: ServerResponse }[] = [];
    // So small that what nobody takes stops the socket.
    const server = createServer({ highWaterMark: 16 }, (req, res) => {
      seen.push({ req, res });
      mount(req, res);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const wire = await dial((server.address() as AddressInfo).port);
    wire.write(headersText(signedAndMeasured(DELIVERY)) + DELIVERY.slice(0, 5));
    await refused.promise;
    if (answeredElsewhere) {
      seen[0]?.res.writeHead(503).end();
      wire.write(DELIVERY.slice(5, 60));
      await turns();
      decides.resolve();
      wire.write(DELIVERY.slice(60));
    } else {
      wire.write(DELIVERY.slice(5));
      await until(() => seen[0]?.req.complete === true);
      decides.resolve();
    }
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 503 [^]*Connection: keep-alive\r\n/));
    wire.write(headersText(signedAndMeasured("")));
    await eventually(() => expect(wire.text()).toMatch(/HTTP\/1\.1 200 OK\r\n/));
  });

  test("shares the stream with a listener added in the same turn", async () => {
    const { receiver, bodies } = receiving();
    const mount = nodeReceiver(receiver);
    let seen = 0;
    const { url } = await serve((req, res) => {
      req.on("data", (chunk: Buffer) => (seen += chunk.length));
      mount(req, res);
    });
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([DELIVERY]);
    expect(seen).toBe(DELIVERY.length);
  });

  test("does not read half a body where other code began to read before the receiver", async () => {
    const receiver = deciding(async (request) => {
      await new Promise((resolve) => setImmediate(resolve));
      return bytesOf(request).then(
        () => reply(200),
        (error: { code: string }) => reply(error.code === "body-consumed" ? 500 : 400),
      );
    });
    const mount = nodeReceiver(receiver);
    const { url } = await serve((req, res) => {
      mount(req, res);
      req.resume();
    });
    expect(await deliver(url)).toMatchObject({ status: 500 });
  });

  test("leaves an answer alone that other code gave before the receiver decided", async () => {
    const receiver = deciding(async (request) => {
      await bytesOf(request);
      await new Promise((resolve) => setImmediate(resolve));
      return reply(422);
    });
    const mount = nodeReceiver(receiver);
    const { url, connections } = await serve((req, res) => {
      mount(req, res);
      res.writeHead(503).write("bu");
      void turns().then(() => res.end("sy"));
    });
    const agent = keepingAgent();
    for (let round = 0; round < 2; round += 1) {
      expect(await deliver(url, DELIVERY, { agent })).toMatchObject({ status: 503, body: "busy" });
    }
    expect(receiver.seen).toHaveLength(2);
    expect(connections()).toBe(1);
  });

  test("cuts off a 200 that earlier middleware began, where the answer is none", async () => {
    const answers = [503, 422, 200] as const;
    let round = 0;
    const mount = nodeReceiver(deciding(async () => reply(answers[round++] ?? 200)));
    const { url } = await serve((req, res) => {
      res.writeHead(200).write("beg");
      mount(req, res);
      void turns().then(() => res.end("un"));
    });
    await expect(deliver(url)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
    await expect(deliver(url)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
    expect(await deliver(url)).toMatchObject({ status: 200, body: "begun" });
  });

  test("is not misled by what was set on the response before", async () => {
    const mount = nodeReceiver(deciding(async () => reply(200, "token", { "Content-Type": "text/plain" })));
    const { url } = await serve((req, res) => {
      res.statusCode = 204;
      res.statusMessage = "Something Else";
      res.setHeader("Content-Length", "999");
      res.setHeader("Content-Encoding", "gzip");
      res.setHeader("Transfer-Encoding", "chunked");
      res.setHeader("ETag", '"1"');
      res.setHeader("Content-Type", "text/html");
      res.setHeader("X-Stored", "yes");
      mount(req, res);
    });
    const answer = await deliver(url);
    expect(answer).toMatchObject({
      status: 200,
      body: "token",
      headers: { "content-length": "5", "content-type": "text/plain", "x-stored": "yes" },
    });
    for (const name of ["content-encoding", "transfer-encoding", "etag"])
      expect(answer.headers).not.toHaveProperty(name);
  });
});

/** One connection, stored. */
function keepingAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}
