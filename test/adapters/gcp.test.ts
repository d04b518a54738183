import { http, type Request } from "@google-cloud/functions-framework";
import { getTestServer } from "@google-cloud/functions-framework/testing";
import { gcpReceiver } from "hookline/gcp";
import { randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { inProcess } from "../suites/http-subjects.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import type { HttpSubject } from "../suites/http/http-subject.ts";
import { send, serve } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { ACKNOWLEDGED, deciding, deliver, DELIVERY, receiving, SECRET } from "./harness.ts";

/** The framework's own server of a function, as Google runs it. */
function served(handler: Parameters<typeof http>[1]): RequestListener {
  const name = `function-${randomUUID()}`;
  http(name, handler);
  const [listener] = getTestServer(name).listeners("request");
  return listener as RequestListener;
}

const subject: HttpSubject = inProcess(
  ({ receiver, options: { answer, timeoutMs = 0, ...rest } }) =>
    served(answer === undefined ? gcpReceiver(receiver, rest) : gcpReceiver(receiver, { ...rest, answer, timeoutMs })),
  { lacks: { streams: "the framework reads the body before the function" } },
);

const NOT_JSON = "it says that it is JSON, and is none";
const ENCODED = "the framework decodes the body, or fails to";
/** What the framework answers itself, so that the function never sees it, and why. */
const ITS_OWN: Readonly<Record<string, string>> = {
  "200: whatever it says, and whatever its content type": NOT_JSON,
  "body: of white space is stored as it came, with its length declared and in chunks": NOT_JSON,
  "body: of every byte there is is stored as it came, with its length declared and in chunks": NOT_JSON,
  "body: that is no UTF-8 is stored as it came, with its length declared and in chunks": NOT_JSON,
  "after-handlers: what nobody handles is 200, and what is not JSON": NOT_JSON,
  "probe: a signed body that is not JSON gets 200": NOT_JSON,
  "415: an encoding is refused, and none is none": ENCODED,
  "many at once: thirty that are stored, refused, greeted or unwanted": ENCODED,
};

describe.concurrent("in the framework", () => {
  const cases = checkHttpAdapter(subject).filter(({ name }) => ITS_OWN[name] === undefined);
  test.each(cases.map((one) => [one.name, one] as const))("%s", (_name, { run }) => run());
});

describe("a body", () => {
  async function started() {
    const own = receiving();
    return { ...own, ...(await serve(served(gcpReceiver(own.receiver)))) };
  }

  test.each([
    ["text/plain", "no JSON"],
    ["application/octet-stream", Uint8Array.of(0xff, 0xfe, 0xc3, 0x28)],
    ["application/x-www-form-urlencoded", "a=1&b[c]=%F0"],
    ["multipart/form-data; boundary=x", "--x\r\n"],
    ["application/cloudevents+json", '{ "a": 1.0 }\n'],
    ["application/json; charset=utf-8", "[1.0]"],
  ])("of type %s is stored byte for byte, and nothing warns of the framework's parsers", async (type, body) => {
    const { url, stored, log } = await started();
    expect(await deliver(url, body, { headers: { "Content-Type": type } })).toMatchObject(ACKNOWLEDGED);
    expect(stored.map(({ bodyBase64 }) => bodyBase64)).toEqual([Buffer.from(body).toString("base64")]);
    expect(log.lines.filter(({ level }) => level === "warn" || level === "error")).toEqual([]);
  });

  test("of no type is read by the mount itself, since no parser wants it", async () => {
    const { url, bodies } = await started();
    const headers = signedHeaders(DELIVERY, { secret: SECRET });
    expect(await send(url, { body: DELIVERY, headers })).toMatchObject(ACKNOWLEDGED);
    expect(bodies()).toEqual([DELIVERY]);
  });

  test.each([
    ["says that it is JSON and is none", "no JSON", {}, 400],
    ["has an encoding that it has not", DELIVERY, { "Content-Encoding": "gzip" }, 400],
    ["has an encoding that the framework does not know", DELIVERY, { "Content-Encoding": "compress" }, 415],
    ["has another charset", DELIVERY, { "Content-Type": "application/json; charset=latin9" }, 415],
  ])("that %s is refused by the framework, and not stored", async (_, body, headers, status) => {
    const { url, stored } = await started();
    expect(await deliver(url, body, { headers })).toMatchObject({ status });
    expect(stored).toEqual([]);
  });

  test("that came compressed is 415, although the framework has decoded it", async () => {
    const { url, stored } = await started();
    const headers = { ...signedHeaders(DELIVERY, { secret: SECRET }), "Content-Type": "application/json" };
    const body = gzipSync(DELIVERY);
    const answer = await send(url, { body, headers: { ...headers, "Content-Encoding": "gzip" } });
    expect(answer).toMatchObject({ status: 415, body: "" });
    expect(stored).toEqual([]);
  });

  test("whose bytes something took away is 500, with the fix in the log", async () => {
    const { receiver, log } = receiving();
    const mount = gcpReceiver(receiver);
    const { url } = await serve(
      served((req, res) => {
        delete req.rawBody;
        return mount(req, res);
      }),
    );
    expect(await deliver(url)).toMatchObject({ status: 500, body: "" });
    expect(log.of("body-consumed")).toMatchObject([{ facts: { fix: expect.stringContaining("`req.rawBody`") } }]);
  });
});

describe("a function", () => {
  test("answers other paths than its own 404", async () => {
    const { receiver, stored } = receiving();
    const { url } = await serve(served(gcpReceiver(receiver, { path: "/hooks/mail" })));
    expect(await deliver(`${url}/hooks/mail?a=1`)).toMatchObject(ACKNOWLEDGED);
    expect(await deliver(`${url}/hooks`)).toMatchObject({ status: 404, body: "" });
    expect(stored).toHaveLength(1);
  });

  test("asks for a source with the framework's request", async () => {
    const { receiver, stored } = receiving();
    const source = (req: Request): string | undefined => req.get("x-app");
    const { url } = await serve(served(gcpReceiver<"network", Request>(receiver, { source })));
    await deliver(url, DELIVERY, { headers: { "X-App": "crm" } });
    expect(stored).toMatchObject([{ source: "crm" }]);
  });

  test("answers 503 should the receiver throw, and the framework lives on", async () => {
    const failing = deciding(() => Promise.reject(Object.assign(new Error("no"), { status: 422 })));
    const { url } = await serve(served(gcpReceiver(failing)));
    for (const _ of [1, 2]) expect(await deliver(url)).toMatchObject({ status: 503, body: "" });
  });
});
