import { createReceiver, memoryInbox, type MountOptions, type Receiver, type Reply } from "hookline";
import { Agent, type RequestListener } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { deferred } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, pour, send, serve, type Served } from "../support/http.ts";
import { invalidSources } from "../support/invalid-sources.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { signedHeaders } from "../support/sign.ts";
import {
  ACKNOWLEDGED,
  bytesOf,
  deciding,
  deliver,
  DELIVERY,
  receiving,
  reply,
  SECRET,
  signedAndMeasured,
  type Receiving,
} from "./harness.ts";

/** What every mount takes, whatever its framework's request is. */
type PlainMountOptions = Pick<MountOptions, "path"> & { source?: string | (() => string | undefined) };

/** Makes the listener of an app that is nothing but the mount. */
export type MakeListener = (receiver: Receiver, options?: PlainMountOptions) => RequestListener;

const ALL_STATUSES = [200, 400, 401, 405, 408, 413, 415, 422, 500, 503] satisfies Reply["status"][];

/** What every mount over `node:http` must do. */
export function mountSuite(name: string, makeListener: MakeListener): void {
  async function started(
    options: Parameters<typeof receiving>[0] = {},
    mount: PlainMountOptions = {},
  ): Promise<Receiving & Served> {
    const own = receiving(options);
    return { ...own, ...(await serve(makeListener(own.receiver, mount))) };
  }

  function keepingAgent(): Agent {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    return agent;
  }

  describe(`${name}: an answer`, () => {
    test("to a signed delivery is exactly 200 with an empty body, and the delivery is stored", async () => {
      const { url, bodies } = await started();
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
      expect(bodies()).toEqual([DELIVERY]);
    });

    test("to a handshake is the token as plain text, and nothing guesses another type", async () => {
      const { url, stored } = await started();
      const answer = await deliver(url, "", {
        path: "/?validationToken=a%20b%2Bc%3Cb%3E",
        headers: { "Content-Type": "text/plain" },
      });
      expect(answer).toMatchObject({
        status: 200,
        body: "a b+c<b>",
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "x-content-type-options": "nosniff",
          "content-length": "8",
        },
      });
      expect(stored).toEqual([]);
    });

    test.each(ALL_STATUSES)("%i is sent as it was decided: its status, headers and body", async (status) => {
      const decided = reply(status, "ä decided text", {
        "X-Decided": "yes",
        "Content-Type": "text/plain; charset=utf-8",
      });
      const { url } = await serve(makeListener(deciding(async () => decided)));
      expect(await deliver(url)).toMatchObject({
        status,
        body: "ä decided text",
        headers: { "x-decided": "yes", "content-type": "text/plain; charset=utf-8", "content-length": "15" },
      });
    });

    test("to a method that is not POST is 405 with Allow", async () => {
      const { url } = await started();
      for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        expect(await send(url, { method })).toMatchObject({ status: 405, body: "", headers: { allow: "POST" } });
      }
      expect(await send(url, { method: "PUT", body: "{}" })).toMatchObject({ status: 405 });
    });

    test("to HEAD has headers alone, and the connection goes on", async () => {
      const { url, connections } = await started();
      const agent = keepingAgent();
      expect(await send(url, { method: "HEAD", agent })).toMatchObject({ status: 405, headers: { allow: "POST" } });
      expect(await deliver(url, DELIVERY, { agent })).toMatchObject(ACKNOWLEDGED);
      expect(connections()).toBe(1);
    });

    test("to a compressed body is 415", async () => {
      const { url } = await started();
      expect(await deliver(url, DELIVERY, { headers: { "Content-Encoding": "gzip" } })).toMatchObject({ status: 415 });
    });

    test("of a gate that decided so is 422, and it is the only way to one", async () => {
      const { url, receiver } = await started();
      receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe("the account was deleted"));
      expect(await deliver(url)).toMatchObject({ status: 422, body: "" });
    });

    test("stays 200 when the handler then fails with a status of its own", async () => {
      const attempted = deferred();
      const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: logRecorder().logger });
      receiver.on("email.created", () => {
        attempted.resolve();
        throw Object.assign(new Error("cannot be processed"), { status: 422, statusCode: 422, expose: true });
      });
      await receiver.start();
      onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
      const { url } = await serve(makeListener(receiver));
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
      await attempted.promise;
      expect(receiver.stats().answered).toEqual({ 200: 1 });
    });

    test.each([
      ["rejects", () => Promise.reject(new Error("broken"))],
      [
        "throws",
        () => {
          throw new Error("broken");
        },
      ],
    ])("of a receiver that %s is 503: nothing was acknowledged", async (_, decide) => {
      const { url } = await serve(makeListener(deciding(decide)));
      expect(await deliver(url)).toMatchObject({ status: 503, body: "", headers: { "retry-after": "10" } });
    });

    test.each([
      ["before", async () => {}],
      ["after", bytesOf],
    ])("that cannot be written is a closed connection, %s the body was read", async (_, read) => {
      const receiver = deciding(async (request) => {
        await read(request);
        return reply(200, "", { "X-Bad": "line\nbreak" });
      });
      const { url } = await serve(makeListener(receiver));
      await expect(deliver(url)).rejects.toMatchObject({ code: "ECONNRESET" });
    });
  });

  describe(`${name}: a refusal before the body was read`, () => {
    test("is 401 as soon as the headers are in, and closes the connection", async () => {
      const { port } = await started();
      const wire = await dial(port);
      wire.write(headersText({ "Content-Length": "1000" }));
      await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n[^]*\r\n\r\n$/));
      expect(wire.text()).toMatch(/\r\nConnection: close\r\n/i);
      wire.write("x".repeat(1000));
      await wire.closed;
      expect(wire.text().match(/HTTP\/1\.1/g)).toHaveLength(1);
    });

    test("goes out with its body", async () => {
      const { port } = await serve(
        makeListener(deciding(async () => reply(400, "no", { "Content-Type": "text/plain" }))),
      );
      const wire = await dial(port);
      wire.write(headersText({ "Content-Length": "10" }));
      await eventually(() =>
        expect(wire.text()).toMatch(/^HTTP\/1\.1 400 [^]*\r\nContent-Length: 2\r\n[^]*\r\n\r\nno$/i),
      );
    });

    test("does not wait for a client that is silent", async () => {
      const { port } = await started();
      const wire = await dial(port);
      wire.write(headersText({ "Content-Length": "1000" }));
      await wire.closed;
      expect(wire.text()).toMatch(/^HTTP\/1\.1 401 /);
    });

    test("takes a little more of the body, not all of it", async () => {
      const { port, bytesReceived: taken } = await started();
      const wire = await dial(port);
      const length = 256 * 1024 * 1024;
      wire.write(headersText({ "Content-Length": String(length) }));
      await pour(wire, length);
      await wire.closed;
      expect(taken()).toBeLessThan(length / 16);
    });

    test("keeps the connection where the body had come with the headers", async () => {
      const { url, connections } = await started();
      const agent = keepingAgent();
      for (let round = 0; round < 3; round += 1) {
        expect(await send(url, { body: DELIVERY, agent })).toMatchObject({
          status: 401,
          headers: { connection: "keep-alive" },
        });
        expect(await deliver(url, DELIVERY, { agent })).toMatchObject(ACKNOWLEDGED);
      }
      expect(connections()).toBe(1);
    });

    test("leaves a client alone that goes away meanwhile", async () => {
      const { port, url, receiver } = await started();
      const wire = await dial(port);
      wire.write(headersText({ "Content-Length": "1000" }));
      await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 /));
      wire.socket.destroy();
      await wire.closed;
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
      expect(receiver.stats().answered).toEqual({ 200: 1, 401: 1 });
    });
  });

  describe(`${name}: a body`, () => {
    test.each([
      ["in another script than Latin", '{"subject":"日本語 é 😀"}'],
      ["that begins with a byte order mark", "\uFEFF{}"],
      ["of white space", " \r\n\t"],
      ["with the characters that JSON escapes", '{"a":"\u0000\u2028\\u0041"}'],
      ["of 64 KiB", "x".repeat(64 * 1024)],
      ["of 64 KiB and one byte", "x".repeat(64 * 1024 + 1)],
      ["of half a MiB", "x".repeat(512 * 1024)],
    ])("%s is stored as it came, with its length declared and in chunks", async (_, body) => {
      const { url, bodies } = await started();
      expect(await deliver(url, body)).toMatchObject(ACKNOWLEDGED);
      expect(await deliver(url, body, { headers: { "Transfer-Encoding": "chunked" } })).toMatchObject(ACKNOWLEDGED);
      expect(bodies()).toEqual([body, body]);
    });

    test("that is no text is stored byte for byte", async () => {
      const { url, stored } = await started();
      const body = Buffer.from(Array.from({ length: 512 }, (_byte, at) => at % 256));
      expect(await deliver(url, body)).toMatchObject(ACKNOWLEDGED);
      expect(stored.map(({ bodyBase64 }) => bodyBase64)).toEqual([body.toString("base64")]);
    });

    test("of nothing is empty, however it is said", async () => {
      const { port, bodies } = await started();
      for (const [headers, body] of [
        [{ "Content-Length": "0" }, ""],
        [{}, ""],
        [{ "Transfer-Encoding": "chunked" }, "0\r\n\r\n"],
      ] as const) {
        const wire = await dial(port);
        wire.write(headersText({ ...signedHeaders("", { secret: SECRET }), ...headers }) + body);
        await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/));
      }
      expect(bodies()).toEqual(["", "", ""]);
    });

    test("in two pieces with a pause is one body", async () => {
      const { port, bodies } = await started();
      const wire = await dial(port);
      wire.write(headersText(signedAndMeasured(DELIVERY)));
      await eventually(() => expect(wire.socket.bytesWritten).toBeGreaterThan(0));
      wire.write(DELIVERY.slice(0, 7));
      await eventually(() => expect(wire.socket.writableLength).toBe(0));
      wire.write(DELIVERY.slice(7));
      await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n/));
      expect(bodies()).toEqual([DELIVERY]);
    });

    test("is only sent on where the sender asks first (Expect: 100-continue)", async () => {
      const { port, bodies } = await started();
      const wire = await dial(port);
      wire.write(headersText({ ...signedAndMeasured(DELIVERY), Expect: "100-continue" }));
      await eventually(() => expect(wire.text()).toBe("HTTP/1.1 100 Continue\r\n\r\n"));
      wire.write(DELIVERY);
      await eventually(() => expect(wire.text()).toMatch(/\r\n\r\nHTTP\/1\.1 200 OK\r\n/));
      expect(bodies()).toEqual([DELIVERY]);
    });

    test("over the limit is 413, by its declared length or by what came", async () => {
      const { url, port } = await started({ maxBodyBytes: 100_000 });
      const wire = await dial(port);
      wire.write(headersText({ ...signedHeaders("", { secret: SECRET }), "Content-Length": "100001" }));
      await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 413 [^]*\r\nConnection: close\r\n/i));
      const over = "x".repeat(100_001);
      expect(await deliver(url, over, { headers: { "Transfer-Encoding": "chunked" } })).toMatchObject({ status: 413 });
      expect(await deliver(url, over.slice(1))).toMatchObject(ACKNOWLEDGED);
    });

    test("without end is refused, and the connection ends", async () => {
      const { port, bytesReceived: taken } = await started({ maxBodyBytes: 100_000 });
      const wire = await dial(port);
      wire.write(headersText({ ...signedHeaders("", { secret: SECRET }), "Transfer-Encoding": "chunked" }));
      await pour(wire, 256 * 1024 * 1024, { chunked: true });
      await wire.closed;
      expect(taken()).toBeLessThan(16 * 1024 * 1024);
    });

    test("that does not come in time is 408", async () => {
      const { port } = await started({ bodyTimeoutMs: 20 });
      for (const headers of [
        signedAndMeasured(DELIVERY),
        { ...signedAndMeasured(DELIVERY), "Content-Length": "100000" },
      ]) {
        const wire = await dial(port);
        wire.write(headersText(headers) + DELIVERY.slice(0, 5));
        await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 408 [^]*\r\nConnection: close\r\n/i));
      }
    });

    test("that was cut off is not stored and not answered, and others go on", async () => {
      const { port, url, receiver, stored } = await started();
      for (const length of [DELIVERY.length, 100_000]) {
        const wire = await dial(port);
        wire.write(
          headersText({ ...signedAndMeasured(DELIVERY), "Content-Length": String(length) }) + DELIVERY.slice(0, 5),
        );
        await eventually(() => expect(wire.socket.writableLength).toBe(0));
        wire.socket.destroy();
        await wire.closed;
        expect(wire.text()).toBe("");
      }
      await eventually(() => expect(receiver.stats().refused).toEqual({ "body-cut-off": 2 }));
      expect(stored).toEqual([]);
      expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    });

    test("beside many headers is a body like any other", async () => {
      const { url } = await started();
      const headers = Object.fromEntries(
        Array.from({ length: 150 }, (_header, at) => [`X-Other-${at}`, "v".repeat(40)]),
      );
      expect(await deliver(url, DELIVERY, { headers })).toMatchObject(ACKNOWLEDGED);
    });
  });

  describe(`${name}: requests`, () => {
    test("at once are answered each by its own fate", async () => {
      const { url, stored } = await started();
      const bodies = Array.from({ length: 60 }, (_body, at) => JSON.stringify({ at, text: "x".repeat(at * 3_000) }));
      const answers = await Promise.all(
        bodies.map((body, at) =>
          deliver(url, body, at % 3 === 0 ? { headers: { "X-Aurinko-Signature": "0".repeat(64) } } : {}),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(bodies.map((_body, at) => (at % 3 === 0 ? 401 : 200)));
      expect(stored).toHaveLength(40);
    });

    test("one after another share a connection, whatever they were answered", async () => {
      const { url, connections } = await started();
      const agent = keepingAgent();
      for (const secret of [SECRET, "wrong", SECRET]) {
        const headers = signedHeaders(DELIVERY, { secret });
        expect(await send(url, { body: DELIVERY, headers, agent })).toMatchObject({
          status: secret === SECRET ? 200 : 401,
        });
      }
      expect(connections()).toBe(1);
    });

    test("whose client is gone when it is decided are left alone", async () => {
      const decided = deferred<Reply>();
      const receiver = deciding(async (request) => {
        await bytesOf(request);
        return decided.promise;
      });
      const { port, server } = await serve(makeListener(receiver));
      const wire = await dial(port);
      wire.write(headersText(signedAndMeasured(DELIVERY)) + DELIVERY);
      await eventually(() => expect(receiver.seen).toHaveLength(1));
      wire.socket.destroy();
      await eventually(() => expect(connectionsOf(server)).resolves.toBe(0));
      decided.resolve(reply(200));
      const next = deciding(async () => reply(200));
      const other = await serve(makeListener(next));
      expect(await deliver(other.url)).toMatchObject(ACKNOWLEDGED);
    });
  });

  describe(`${name}: options`, () => {
    test("path: other paths pass on, whatever the query says", async () => {
      const { url, stored } = await started({}, { path: "/webhooks/mail" });
      for (const path of [
        "/",
        "/webhooks",
        "/webhooks/mail/",
        "/webhooks/mailbox",
        "/x?/webhooks/mail",
        "//webhooks/mail",
      ]) {
        expect(await deliver(url, DELIVERY, { path })).toMatchObject({ status: 404 });
      }
      expect(stored).toEqual([]);
      for (const path of [
        "/webhooks/mail",
        "/webhooks/mail?a=/b",
        "/webhooks/mail?",
        "http://hooks.example/webhooks/mail?a=1",
      ]) {
        expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
      }
      expect(stored).toHaveLength(4);
    });

    test("path: one that no request can have is refused at once", () => {
      const { receiver } = receiving();
      for (const path of ["", "webhooks", "/webhooks?a=1", "https://example.com/webhooks", "/a#b"]) {
        expect(() => makeListener(receiver, { path })).toThrow(expect.objectContaining({ code: "option-invalid" }));
      }
    });

    test("source: a text is stored with the delivery", async () => {
      const { url, stored } = await started({}, { source: "crm" });
      await deliver(url);
      expect(stored).toMatchObject([{ source: "crm" }]);
    });

    test("source: a function is asked once the headers have passed", async () => {
      const source = vi.fn<() => string>(() => "shop");
      const { url, stored } = await started({}, { source });
      await send(url, { body: DELIVERY });
      expect(source).not.toHaveBeenCalled();
      await deliver(url);
      expect(stored).toMatchObject([{ source: "shop" }]);
    });

    test("source: one that throws acknowledges nothing", async () => {
      const source = (): never => {
        throw new Error("no such application");
      };
      const { url, stored } = await started({}, { source });
      expect(await deliver(url)).toMatchObject({ status: 503 });
      expect(stored).toEqual([]);
    });

    test.each(invalidSources)("source: one that gives %s is 503, and named in the log", async (got, source) => {
      const { url, stored, log, receiver } = await started({}, { source: source as () => string });
      expect(await deliver(url)).toMatchObject({ status: 503, body: "" });
      expect(receiver.stats().refused).toEqual({ internal: 1 });
      expect(stored).toEqual([]);
      expect(log.of("internal")).toMatchObject([
        { level: "error", facts: { err: { message: expect.stringContaining(`\`source\` gave ${got}`) } } },
      ]);
    });

    test("none: method, whole URL and headers are handed on as they came", async () => {
      const receiver = deciding(async () => reply(200));
      const { url } = await serve(makeListener(receiver));
      await send(url, { method: "PATCH", path: "/a//b/../c?d=%20&d=2", headers: { "X-Twice": ["1", "2"] } });
      expect(receiver.seen[0]).not.toHaveProperty("source");
      expect(receiver.seen).toMatchObject([
        { method: "PATCH", url: "/a//b/../c?d=%20&d=2", headers: { "x-twice": "1, 2" } },
      ]);
    });
  });
}

function connectionsOf(server: Served["server"]): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
