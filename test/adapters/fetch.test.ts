import { getRequestListener } from "@hono/node-server";
import { createReceiver, forwardInbox, memoryInbox, type Receiver } from "hookline";
import { fetchReceiver } from "hookline/fetch";
import type { RequestListener } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { inProcess } from "../suites/http-subjects.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import { deferred } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { toFetchOptions } from "../support/fetch-options.ts";
import { dial, headersText, serve } from "../support/http.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { signedHeaders } from "../support/sign.ts";
import { deciding, deliver, DELIVERY, receiving, reply, SECRET, signedAndMeasured } from "./harness.ts";

const subject = inProcess((app) => listenerOf(fetchReceiver(app.receiver, toFetchOptions(app.options))));

function listenerOf(fetch: (request: Request) => Promise<Response>): RequestListener {
  // The server's own Request and Response would stay in the test's process.
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  return (req, res) => void listener(req, res);
}

describe.concurrent("fetch", () => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});

const URL_OF_MOUNT = "https://hooks.example/webhooks";

function requestOf(body: string | Uint8Array<ArrayBuffer> = DELIVERY, url = URL_OF_MOUNT): Request {
  return new Request(url, { method: "POST", headers: signedHeaders(body, { secret: SECRET }), body });
}

describe("fetch: a request", () => {
  test("is answered by a Response without a body and without a content type", async () => {
    const response = await fetchReceiver(receiving().receiver, { runtime: "long-lived" })(requestOf());
    expect([response.status, response.body, [...response.headers]]).toEqual([200, null, []]);
  });

  test("for another path is answered 404", async () => {
    const { receiver, stored } = receiving();
    const handle = fetchReceiver(receiver, { runtime: "long-lived", path: "/webhooks" });
    expect((await handle(requestOf(DELIVERY, "https://hooks.example/webhooks/"))).status).toBe(404);
    expect((await handle(requestOf(DELIVERY, `${URL_OF_MOUNT}?a=/other`))).status).toBe(200);
    expect(stored).toHaveLength(1);
  });

  test("is handed to a `source` that is a function", async () => {
    const { receiver, stored } = receiving();
    const handle = fetchReceiver(receiver, { runtime: "long-lived", source: ({ url }) => new URL(url).hostname });
    await handle(requestOf());
    expect(stored).toMatchObject([{ source: "hooks.example" }]);
  });

  test("is 503 where the receiver rejects: nothing was acknowledged", async () => {
    const receiver = deciding(() => Promise.reject(new Error("broken")));
    const response = await fetchReceiver(receiver, { runtime: "long-lived" })(requestOf());
    expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "10"]);
  });

  test("is 503 where the answer is none that HTTP can carry", async () => {
    const receiver = deciding(async () => reply(200, "", { "X-Bad": "line\nbreak" }));
    expect((await fetchReceiver(receiver, { runtime: "long-lived" })(requestOf())).status).toBe(503);
  });
});

describe("fetch: a body", () => {
  const consuming: [string, (request: Request) => unknown][] = [
    ["was read", (request) => request.text()],
    ["is being read", (request) => void request.text()],
    ["is locked", (request) => request.body?.getReader()],
  ];
  test.each(consuming)("that %s by other code is 500, and the log says what to change", async (_, consume) => {
    const { receiver, log, stored } = receiving();
    const request = requestOf();
    await consume(request);
    expect((await fetchReceiver(receiver, { runtime: "long-lived" })(request)).status).toBe(500);
    expect(log.of("body-consumed")).toMatchObject([{ facts: { fix: expect.stringContaining("request.clone()") } }]);
    expect(stored).toEqual([]);
  });

  test("that other code reads from a clone is complete", async () => {
    const { receiver, bodies } = receiving();
    const request = requestOf();
    await request.clone().text();
    expect((await fetchReceiver(receiver, { runtime: "long-lived" })(request)).status).toBe(200);
    expect(bodies()).toEqual([DELIVERY]);
  });

  test("of nothing is empty: the handshake goes on without one", async () => {
    const handle = fetchReceiver(receiving().receiver, { runtime: "long-lived" });
    const headers = signedHeaders("", { secret: SECRET });
    const response = await handle(new Request(`${URL_OF_MOUNT}?validationToken=abc`, { method: "POST", headers }));
    expect([response.status, await response.text()]).toEqual([200, "abc"]);
  });

  test("without end is refused, and its stream is cancelled", async () => {
    const { receiver } = receiving({ maxBodyBytes: 1_000 });
    const cancelled = vi.fn<() => void>();
    const pull = (controller: ReadableStreamDefaultController): void => controller.enqueue(new Uint8Array(400));
    const body = new ReadableStream({ pull, cancel: cancelled });
    const headers = signedHeaders("", { secret: SECRET });
    const request = new Request(URL_OF_MOUNT, { method: "POST", headers, body, duplex: "half" });
    expect((await fetchReceiver(receiver, { runtime: "long-lived" })(request)).status).toBe(413);
    expect(cancelled).toHaveBeenCalledOnce();
  });

  test("that does not come in time is 408, and its stream is cancelled", async () => {
    const { receiver } = receiving({ bodyTimeoutMs: 20 });
    const cancelled = vi.fn<() => void>();
    const headers = signedHeaders("", { secret: SECRET });
    const body = new ReadableStream({ cancel: cancelled });
    const request = new Request(URL_OF_MOUNT, { method: "POST", headers, body, duplex: "half" });
    expect((await fetchReceiver(receiver, { runtime: "long-lived" })(request)).status).toBe(408);
    expect(cancelled).toHaveBeenCalledOnce();
  });

  test("whose client goes away is not stored, and others go on", async () => {
    const { receiver, bodies } = receiving();
    const { port, url } = await serve(listenerOf(fetchReceiver(receiver, { runtime: "long-lived" })));
    const wire = await dial(port);
    wire.write(headersText(signedAndMeasured(DELIVERY)) + DELIVERY.slice(0, 5));
    await eventually(() => expect(wire.socket.writableLength).toBe(0));
    wire.socket.destroy();
    await eventually(() => expect(receiver.stats().refused).toEqual({ "body-cut-off": 1 }));
    expect(await deliver(url)).toMatchObject({ status: 200, body: "" });
    expect(bodies()).toEqual([DELIVERY]);
  });
});

describe("fetch: work after the answer", () => {
  /** A receiver whose handler ends when the test says so. */
  function working(): { receiver: Receiver; handled: string[]; release: () => void } {
    const gate = deferred();
    const handled: string[] = [];
    const receiver: Receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: logRecorder().logger });
    receiver.on("email.created", async ({ id }) => {
      await gate.promise;
      handled.push(id);
    });
    onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
    return { receiver, handled, release: gate.resolve };
  }

  test("is handed to the platform, and done when its promise is", async () => {
    const { receiver, handled, release } = working();
    const waited: Promise<unknown>[] = [];
    const handle = fetchReceiver(receiver, { runtime: "long-lived", waitUntil: (work) => void waited.push(work) });
    expect((await handle(requestOf())).status).toBe(200);
    expect(handled).toEqual([]);
    release();
    await Promise.all(waited);
    expect(handled).toEqual(["m-1"]);
  });

  test("that the platform does not take changes no answer", async () => {
    const { receiver } = working();
    const waitUntil = (): never => {
      throw new Error("the response has been sent");
    };
    const response = await fetchReceiver(receiver, { runtime: "long-lived", waitUntil })(requestOf());
    expect(response.status).toBe(200);
  });

  test("is none for a refusal, nor where the answer came after the handlers", async () => {
    const { receiver, release, handled } = working();
    const waitUntil = vi.fn<(work: Promise<unknown>) => void>();
    const refused = new Request(URL_OF_MOUNT, { method: "POST", body: DELIVERY });
    expect((await fetchReceiver(receiver, { runtime: "long-lived", waitUntil })(refused)).status).toBe(401);
    release();
    const after = fetchReceiver(receiver, { answer: "after-handlers", timeoutMs: 5_000, waitUntil });
    expect((await after(requestOf())).status).toBe(200);
    expect(handled).toEqual(["m-1"]);
    expect(waitUntil).not.toHaveBeenCalled();
  });

  test("is none where the inbox only takes, or nothing is handled", async () => {
    const waitUntil = vi.fn<(work: Promise<unknown>) => void>();
    const forwarding = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}) });
    forwarding.on("email", () => {});
    expect((await fetchReceiver(forwarding, { waitUntil })(requestOf())).status).toBe(200);
    const idle = createReceiver({ secret: SECRET, inbox: memoryInbox() });
    expect((await fetchReceiver(idle, { runtime: "long-lived", waitUntil })(requestOf())).status).toBe(200);
    expect(waitUntil).not.toHaveBeenCalled();
  });
});
