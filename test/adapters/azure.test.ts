import { HttpRequest, HttpResponse, InvocationContext } from "@azure/functions";
import { createReceiver, forwardInbox, type SecretRequest } from "hookline";
import { azureReceiver, type AzureHandler, type AzureRequestLike } from "hookline/azure";
import type { RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { inProcess } from "../suites/http-subjects.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import type { HttpSubject } from "../suites/http/http-subject.ts";
import { signedHeaders } from "../support/sign.ts";
import { deciding, DELIVERY, receiving, reply, SECRET } from "./harness.ts";

const context = new InvocationContext();

/** The host in front of a function: the request and the response are the library's own classes. */
function hosted(handler: AzureHandler<AzureRequestLike>): RequestListener {
  return (req, res) => {
    const invoke = async (): Promise<void> => {
      const bytes = await buffer(req);
      const headers = Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
      const { method = "", url } = req;
      // The host takes the framing off; a request of the web's kind would refuse such a header.
      delete headers["transfer-encoding"];
      const request = new HttpRequest({ method, url: `http://localhost${url}`, headers, body: { bytes } });
      const response = new HttpResponse(await handler(request, context));
      for (const [name, value] of response.headers) res.setHeader(name, value);
      res.writeHead(response.status).end(Buffer.from(await response.arrayBuffer()));
    };
    invoke().catch(() => res.writeHead(502).end());
  };
}

const subject: HttpSubject = inProcess(
  ({ receiver, options: { answer, timeoutMs = 0, ...rest } }) =>
    hosted(
      answer === undefined ? azureReceiver(receiver, rest) : azureReceiver(receiver, { ...rest, answer, timeoutMs }),
    ),
  { lacks: { streams: "the host hands the body over whole" } },
);

function signedRequest(url = "http://localhost/api/webhooks"): HttpRequest {
  const headers = { "Content-Type": "application/json", ...signedHeaders(DELIVERY, { secret: SECRET }) };
  return new HttpRequest({ method: "POST", url, headers, params: { app: "crm" }, body: { string: DELIVERY } });
}

describe.concurrent("behind the host", () => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", (_name, { run }) => run());
});

describe("an answer", () => {
  test("says its status, without a body or a type of one: Azure makes 204 of no answer at all", async () => {
    const { receiver, bodies } = receiving();
    const answer = await azureReceiver(receiver)(signedRequest(), context);
    expect(answer).toEqual({ status: 200, headers: {} });
    const response = new HttpResponse(answer);
    expect([response.status, [...response.headers], response.body]).toEqual([200, [], null]);
    expect(bodies()).toEqual([DELIVERY]);
  });

  test("is what was decided, with the body's own type", async () => {
    const decided = reply(200, "ä token", { "Content-Type": "text/plain; charset=utf-8" });
    const response = new HttpResponse(await azureReceiver(deciding(async () => decided))(signedRequest(), context));
    expect([...response.headers]).toEqual([["content-type", "text/plain; charset=utf-8"]]);
    expect(await response.text()).toBe("ä token");
  });

  test("is 503 should the receiver throw", async () => {
    const handler = azureReceiver(deciding(() => Promise.reject(new Error("no"))));
    expect(await handler(signedRequest(), context)).toEqual({ status: 503, headers: { "retry-after": "10" } });
  });

  test("is 500 where something read the body before, with the fix in the log", async () => {
    const { receiver, stored, log } = receiving();
    const request = signedRequest();
    await request.text();
    expect(await azureReceiver(receiver)(request, context)).toEqual({ status: 500, headers: {} });
    expect(stored).toEqual([]);
    expect(log.of("body-consumed")).toMatchObject([{ facts: { fix: expect.stringContaining("`request.clone()`") } }]);
  });

  test("is 200 where something read a clone before", async () => {
    const { receiver, bodies } = receiving();
    const request = signedRequest();
    await request.clone().json();
    expect(await azureReceiver(receiver)(request, context)).toMatchObject({ status: 200 });
    expect(bodies()).toEqual([DELIVERY]);
  });
});

test("a path is that of the whole URL, with the prefix of all routes", async () => {
  const handler = azureReceiver(receiving().receiver, { path: "/api/webhooks" });
  expect(await handler(signedRequest(), context)).toMatchObject({ status: 200 });
  expect(await handler(signedRequest("http://localhost/webhooks"), context)).toEqual({ status: 404, headers: {} });
});

test("a source is asked for with the request, and a secret with the request and the context", async () => {
  const asked: SecretRequest[] = [];
  const receiver = createReceiver({
    secret(request) {
      asked.push(request);
      return SECRET;
    },
    inbox: forwardInbox(async () => {}),
    log: false,
  });
  const request = signedRequest("http://localhost/api/webhooks?a=1");
  const handler = azureReceiver(receiver, { source: ({ params }) => params["app"] });
  expect(await handler(request, context)).toMatchObject({ status: 200 });
  expect(asked).toMatchObject([{ path: "/api/webhooks", source: "crm" }]);
  expect(asked[0]?.platform).toEqual({ request, context });
});
