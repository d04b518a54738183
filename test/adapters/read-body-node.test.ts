import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, createServer as createH2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { readBodyNode } from "../../adapters/http/shared/read-body-node.ts";
import { deferred, turns } from "../support/event-loop.ts";
import { dial, headersText, send, serve } from "../support/http.ts";

type Limits = Parameters<typeof readBodyNode>[1];

/** What the reader leaves must be what it found: these are the events it may listen to. */
const EVENTS = ["data", "end", "close", "error", "aborted", "readable", "pause", "resume"];

function listenersOf(req: IncomingMessage): Record<string, number> {
  return Object.fromEntries(EVENTS.map((event) => [event, req.listenerCount(event)]));
}

/** A server that reads each body under these limits and tells what came of it. */
async function reading(limits: Partial<Limits> = {}) {
  const counted: number[] = [];
  const begun = deferred<IncomingMessage>();
  const outcome = deferred<{
    bytes?: Uint8Array;
    error?: unknown;
    before: object;
    after: object;
    flowing: boolean | null;
  }>();
  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const before = listenersOf(req);
    const reads = readBodyNode(req, {
      maxBytes: 1_000_000,
      signal: new AbortController().signal,
      count: (bytes) => void counted.push(bytes),
      ...limits,
    });
    begun.resolve(req);
    const result = await reads.then(
      (bytes) => ({ bytes }),
      (error: unknown) => ({ error }),
    );
    outcome.resolve({ ...result, before, after: listenersOf(req), flowing: req.readableFlowing });
    res.end();
  }
  const served = await serve((req, res) => void handle(req, res));
  return { ...served, counted, begun: begun.promise, outcome: outcome.promise };
}

const SHORT = "x".repeat(100);
const LONG = "x".repeat(200_000);

const kinds: [string, string, Record<string, string>][] = [
  ["a short body of declared length", SHORT, {}],
  ["a long body of declared length", LONG, {}],
  ["a body in chunks", SHORT, { "Transfer-Encoding": "chunked" }],
];

describe.each(kinds)("the reader of %s", (_, body, headers) => {
  test("gives its bytes, counts all of them, and leaves no listener", async () => {
    const { url, outcome, counted } = await reading();
    await send(url, { body, headers });
    const { bytes, before, after } = await outcome;
    expect(Buffer.from(bytes ?? []).toString()).toBe(body);
    expect(counted.reduce((sum, one) => sum + one, 0)).toBe(body.length);
    expect(after).toEqual(before);
  });

  test("refuses more than it may take, and stops the stream", async () => {
    const { url, outcome } = await reading({ maxBytes: body.length - 1 });
    await send(url, { body, headers }).catch(() => {});
    const { error, before, after, flowing } = await outcome;
    expect(error).toMatchObject({ name: "BodyError", code: "body-too-large" });
    expect(after).toEqual(before);
    expect(flowing).not.toBe(true);
  });

  test("takes exactly as much as it may", async () => {
    const { url, outcome } = await reading({ maxBytes: body.length });
    await send(url, { body, headers });
    expect((await outcome).bytes).toHaveLength(body.length);
  });

  test("ends with what `count` throws, and stops the stream", async () => {
    const full = new Error("no room");
    const { url, outcome } = await reading({
      count: () => {
        throw full;
      },
    });
    await send(url, { body, headers }).catch(() => {});
    const { error, before, after, flowing } = await outcome;
    expect(error).toBe(full);
    expect(after).toEqual(before);
    expect(flowing).not.toBe(true);
  });

  test("works without `count`", async () => {
    const { signal } = new AbortController();
    const served = await serve(
      (req, res) =>
        void readBodyNode(req, { maxBytes: 1_000_000, signal }).then((bytes) => res.end(String(bytes.length))),
    );
    expect(await send(served.url, { body, headers })).toMatchObject({ body: String(body.length) });
  });

  test("ends with the signal's reason, in the midst of the body or before it", async () => {
    for (const when of ["before", "amid"]) {
      const controller = new AbortController();
      const late = new Error("too late");
      if (when === "before") controller.abort(late);
      const { port, begun, outcome } = await reading({ signal: controller.signal });
      const wire = await dial(port);
      const length = headers["Transfer-Encoding"] === undefined ? { "Content-Length": String(body.length) } : headers;
      wire.write(headersText(length) + (headers["Transfer-Encoding"] === undefined ? "x" : "1\r\nx\r\n"));
      await begun;
      if (when === "amid") controller.abort(late);
      const { error, before, after } = await outcome;
      expect(error).toBe(late);
      expect(after).toEqual(before);
    }
  });

  test("says that a body was cut off, and leaves no listener on what remains", async () => {
    const { port, begun, outcome } = await reading();
    const wire = await dial(port);
    const length = headers["Transfer-Encoding"] === undefined ? { "Content-Length": String(body.length) } : headers;
    wire.write(headersText(length) + (headers["Transfer-Encoding"] === undefined ? "x" : "1\r\nx\r\n"));
    await begun;
    wire.socket.destroy();
    const { error, before, after } = await outcome;
    expect(error).toMatchObject({ name: "BodyError", code: "body-cut-off" });
    expect(after).toEqual(before);
  });
});

describe("the reader", () => {
  test("hands on a single chunk as it is", async () => {
    const chunk = Buffer.from(SHORT);
    const req = arriving({ "content-length": "100" }, chunk);
    expect(await readBodyNode(req, unlimited())).toBe(chunk);
  });

  test("does not touch the signal of a body that came with its headers", async () => {
    const signal = vi.fn<() => AbortSignal>(() => new AbortController().signal);
    const req = arriving({ "content-length": "100" }, Buffer.from(SHORT));
    await readBodyNode(req, {
      maxBytes: 100,
      get signal() {
        return signal();
      },
    });
    await turns();
    expect(signal).not.toHaveBeenCalled();
  });

  test("reads nothing where nothing is announced, or where the end was reached already", async () => {
    const ended = arriving({ "transfer-encoding": "chunked" });
    ended.resume();
    await once(ended, "end");
    for (const req of [arriving({}), arriving({ "content-length": "0" }), ended]) {
      expect(await readBodyNode(req, unlimited())).toHaveLength(0);
    }
  });

  test("does not read a body whose announced length is too much", async () => {
    const req = arriving({ "content-length": "101" }, Buffer.alloc(101));
    await expect(readBodyNode(req, { ...unlimited(), maxBytes: 100 })).rejects.toMatchObject({
      code: "body-too-large",
    });
    expect(req.readableDidRead).toBe(false);
  });

  test("says at once that a body was cut off whose connection is gone", async () => {
    for (const length of ["100", "100000"]) {
      const req = arriving({ "content-length": length });
      req.destroy();
      await once(req, "close");
      await expect(readBodyNode(req, unlimited())).rejects.toMatchObject({ code: "body-cut-off" });
    }
  });

  test("does not believe a length that is exceeded", async () => {
    const req = arriving({ "content-length": "100" }, Buffer.alloc(80), Buffer.alloc(80));
    await expect(readBodyNode(req, { ...unlimited(), maxBytes: 120 })).rejects.toMatchObject({
      code: "body-too-large",
    });
  });

  test("rejects with the first of two reasons, and the second is no unhandled rejection", async () => {
    const req = arriving({ "transfer-encoding": "chunked" }, Buffer.alloc(80), Buffer.alloc(80));
    const count = vi
      .fn<() => void>()
      .mockImplementationOnce(() => {})
      .mockImplementation(() => {
        throw new Error("no room");
      });
    await expect(readBodyNode(req, { ...unlimited(), maxBytes: 50, count })).rejects.toMatchObject({
      code: "body-too-large",
    });
    await turns();
    expect(count).toHaveBeenCalledTimes(2);
  });

  describe("over HTTP/2", () => {
    /** A request whose body has not ended, and how reading it does. */
    async function dialH2({ isLate = false } = {}) {
      const begun = deferred<{ readonly read: Promise<Uint8Array> }>();
      const server: Http2Server = createH2Server((req, res) => {
        const begin = (): void => {
          const read = readBodyNode(req as unknown as IncomingMessage, unlimited());
          begun.resolve({ read });
          read.then((bytes) => res.end(String(bytes.length))).catch(() => {});
        };
        if (isLate) req.once("close", begin);
        else begin();
      });
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      onTestFinished(() => {
        client.destroy();
        server.close();
      });
      return { stream: client.request({ ":method": "POST" }), begun: begun.promise, server };
    }

    test("reads a body that no header announces", async () => {
      const { stream } = await dialH2();
      stream.setEncoding("utf8").end(SHORT);
      const [text] = (await once(stream, "data")) as [string];
      expect(text).toBe("100");
    });

    test("a body whose stream is reset is cut off", async () => {
      const { stream, begun } = await dialH2();
      stream.on("error", () => {}).write(SHORT);
      const { read } = await begun;
      stream.destroy();
      await expect(read).rejects.toMatchObject({ code: "body-cut-off" });
    });

    test("a body whose stream was reset before it was read is cut off, not empty", async () => {
      const { stream, begun, server } = await dialH2({ isLate: true });
      stream.on("error", () => {}).write(SHORT);
      await once(server, "request");
      stream.destroy();
      const { read } = await begun;
      await expect(read).rejects.toMatchObject({ code: "body-cut-off" });
    });
  });
});

function unlimited(): Limits {
  return { maxBytes: Infinity, signal: new AbortController().signal };
}

/** A request whose body has arrived as these chunks. */
function arriving(headers: Record<string, string>, ...chunks: Buffer[]): IncomingMessage {
  const stream = new PassThrough();
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  return Object.assign(stream, { headers, httpVersionMajor: 1 }) as unknown as IncomingMessage;
}
