import { createReceiver, forwardInbox, memoryInbox, type RawRequest, type SecretRequest } from "hookline";
import { lambdaReceiver } from "hookline/aws-lambda";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { inProcess } from "../suites/http-subjects.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import type { HttpSubject } from "../suites/http/http-subject.ts";
import { turns, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { signedHeaders } from "../support/sign.ts";
import { bytesOf, deciding, DELIVERY, receiving, reply, SECRET } from "./harness.ts";
import { gateways, listenerOf, type Gateway } from "./lambda-gateways.ts";

const vectors = join(import.meta.dirname, "../vectors/aws");

/** AWS's documented events, all of one request. */
const events = Object.fromEntries(
  readdirSync(vectors).map((file) => {
    const { event } = JSON.parse(readFileSync(join(vectors, file), "utf8")) as { event: Record<string, unknown> };
    return [file.replace(".json", ""), event];
  }),
);

const context = { getRemainingTimeInMillis: () => 60_000 };

const ACKNOWLEDGED = { statusCode: 200, headers: {}, body: "", isBase64Encoded: false };

/** A signed delivery as a function URL shows it. */
function signedEvent(body: string, { path = "/", query = "" } = {}) {
  return {
    version: "2.0",
    rawPath: path,
    rawQueryString: query,
    headers: signedHeaders(body, { secret: SECRET }),
    requestContext: { http: { method: "POST", path }, stage: "$default" },
    body,
    isBase64Encoded: false,
  };
}

const LAST_COUNTS = "a load balancer without multi-value headers shows the last one";

/** What cannot be seen behind a gateway, and why. */
const UNSEEN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a load balancer": {
    "401: a header that comes twice": LAST_COUNTS,
    "handshake: the first of several counts": LAST_COUNTS,
  },
};

describe.concurrent("behind", () => {
  describe.each(Object.entries<Gateway>(gateways))("%s", (name, gateway) => {
    const subject: HttpSubject = inProcess(
      ({ receiver, options: { answer, timeoutMs = 0, ...rest } }) => {
        const handler =
          answer === undefined
            ? lambdaReceiver(receiver, rest)
            : lambdaReceiver(receiver, { ...rest, answer, timeoutMs });
        return listenerOf(gateway, handler);
      },
      { lacks: { streams: "a gateway hands the body over whole" } },
    );
    const cases = checkHttpAdapter(subject).filter((one) => UNSEEN[name]?.[one.name] === undefined);
    test.each(cases.map((one) => [one.name, one] as const))("%s", (_name, { run }) => run());
  });
});

describe("an event", () => {
  test.each(Object.entries(events))("is the request that was sent, by AWS's own sample: %s", async (name, event) => {
    const receiver = deciding(async () => reply(200));
    await lambdaReceiver(receiver)(event, context);
    const [seen] = receiver.seen as readonly [RawRequest];
    const { pathname, searchParams } = new URL(seen.url, "http://localhost");
    const [first, ...others] = name === "alb" ? ["y"] : ["é", "y"];
    expect(seen.method).toBe("POST");
    expect(pathname).toBe("/hooks/mail");
    expect([...searchParams]).toEqual([
      ["validationToken", "a b c+"],
      ...[first, ...others].map((value) => ["tag", value]),
    ]);
    expect(seen.headers).toMatchObject({
      "content-type": ["application/json"],
      "x-tag": name === "alb" ? ["two"] : "rawPath" in event ? ["one,two"] : ["one", "two"],
      "x-forwarded-proto": ["https"],
    });
    expect(Buffer.from(await bytesOf(seen)).toString()).toBe('{"subject":"日本語 é 😀"}');
  });

  test.each([
    ["in lists", { headers: null, multiValueHeaders: { "X-A": ["1"], "x-a": ["2"] } }],
    ["one by one", { headers: { "X-A": "1", "x-a": "2" }, multiValueHeaders: null }],
  ])("may have its headers %s, and in two spellings a header came twice", async (_, headers) => {
    const receiver = deciding(async () => reply(200));
    await lambdaReceiver(receiver)({ ...events["rest-api"], ...headers }, context);
    expect(receiver.seen[0]?.headers).toEqual({ "x-a": ["1", "2"] });
  });

  test("may have names of headers that objects have themselves", async () => {
    const receiver = deciding(async () => reply(200));
    const headers = JSON.parse('{"__proto__":"1","constructor":"2","toString":"3"}') as object;
    await lambdaReceiver(receiver)({ ...signedEvent(DELIVERY), headers }, context);
    expect(Object.entries(receiver.seen[0]?.headers ?? {})).toEqual([
      ["__proto__", ["1"]],
      ["constructor", ["2"]],
      ["tostring", ["3"]],
    ]);
  });

  test.each([
    ["left out", {}],
    ["null", { headers: null, multiValueHeaders: null, queryStringParameters: null, body: null }],
    ["empty", { headers: {}, multiValueHeaders: {}, multiValueQueryStringParameters: {}, body: "" }],
  ])("may have nothing beside its method and path: %s", async (_, rest) => {
    const receiver = deciding(async () => reply(200));
    await lambdaReceiver(receiver)({ httpMethod: "GET", path: "/a", requestContext: {}, ...rest }, context);
    expect(receiver.seen).toMatchObject([{ method: "GET", url: "/a", headers: {}, body: new Uint8Array(0) }]);
  });

  test.each([
    ["whose text lost a byte that is no UTF-8", 'a\uFFFD"'],
    ["whose text lost more than it gained", "{}"],
  ])("%s is answered 500, with the fix in the log", async (_, text) => {
    const { receiver, log } = receiving();
    const event = signedEvent(text);
    const headers = { ...event.headers, "content-length": "3" };
    expect(await lambdaReceiver(receiver)({ ...event, headers }, context)).toMatchObject({ statusCode: 500, body: "" });
    expect(log.of("body-consumed")).toMatchObject([{ facts: { fix: expect.stringContaining("binaryMediaTypes") } }]);
  });

  test.each([
    ["of a queue", { Records: [{ eventSource: "aws:sqs", body: "{}" }] }, "(Records)"],
    [
      "of a schedule",
      { version: "0", id: "1", "detail-type": "Scheduled Event", source: "aws.events" },
      "(version, id, ",
    ],
    ["of a test button", { key1: "value1", key2: "value2" }, "(key1, key2)"],
    ["without anything", {}, "()"],
    ["that is null", null, "()"],
    [
      "of a socket",
      { requestContext: { connectionId: "a", routeKey: "$connect" }, headers: {} },
      "(requestContext, headers)",
    ],
    ["of a path without a method", { path: "/a" }, "(path)"],
    ["of a method without a path", { httpMethod: "POST" }, "(httpMethod)"],
  ])("that is no HTTP request fails the invocation: %s", async (_, event, got) => {
    const { receiver } = receiving();
    await expect(lambdaReceiver(receiver)(event, context)).rejects.toMatchObject({
      name: "UsageError",
      code: "lambda-event-unknown",
      message: expect.stringContaining(got),
      fix: expect.stringContaining("receiver.handle(delivery)"),
    });
  });
});

describe("a path", () => {
  test.each([
    ["http-api-2", "/hooks/mail", 200],
    ["http-api-2-stage", "/hooks/mail", 200],
    ["http-api-1", "/hooks/mail", 200],
    ["rest-api", "/hooks/mail", 200],
    ["alb", "/hooks/mail", 200],
    ["http-api-2-stage", "/prod/hooks/mail", 404],
    ["rest-api", "/prod/hooks/mail", 404],
  ])("is that of the API's route, without the stage: %s for %s", async (name, path, statusCode) => {
    const handler = lambdaReceiver(
      deciding(async () => reply(200)),
      { path },
    );
    expect(await handler(events[name], context)).toMatchObject({ statusCode, body: "" });
  });

  test.each([
    ["/prod", "/"],
    ["/prod/", "/"],
    ["/production/a", "/production/a"],
    ["/a/prod/b", "/a/prod/b"],
  ])("loses the stage alone: %s is %s", async (rawPath, url) => {
    const receiver = deciding(async () => reply(200));
    const requestContext = { http: { method: "POST" }, stage: "prod" };
    await lambdaReceiver(receiver)({ version: "2.0", rawPath, rawQueryString: "", requestContext }, context);
    expect(receiver.seen[0]?.url).toBe(url);
  });

  test("that begins like the stage is a REST API's own", async () => {
    const receiver = deciding(async () => reply(200));
    const requestContext = { stage: "prod", path: "/prod/prod/a" };
    await lambdaReceiver(receiver)({ httpMethod: "POST", path: "/prod/a", requestContext }, context);
    expect(receiver.seen[0]?.url).toBe("/prod/a");
  });

  test("that no request can have is refused", () => {
    expect(() => lambdaReceiver(receiving().receiver, { path: "hooks" })).toThrow(/Begin it with/);
  });
});

describe("a handler", () => {
  test("has two parameters at most: the runtime refuses one that waits for a callback", () => {
    expect(lambdaReceiver(receiving().receiver).length).toBeLessThanOrEqual(2);
  });

  test("answers 503 should the receiver throw, whatever it throws", async () => {
    const handler = lambdaReceiver(deciding(() => Promise.reject(Object.assign(new Error("no"), { statusCode: 422 }))));
    const answer = { statusCode: 503, headers: { "Retry-After": "10" }, body: "", isBase64Encoded: false };
    expect(await handler(signedEvent(DELIVERY), context)).toEqual(answer);
  });

  test("gives a load balancer with multi-value headers nothing but lists", async () => {
    const answer = reply(200, "token", { "Content-Type": "text/plain; charset=utf-8" });
    const handler = lambdaReceiver(deciding(async () => answer));
    expect(await handler(events["alb-multi"], context)).toEqual({
      ...ACKNOWLEDGED,
      body: "token",
      multiValueHeaders: { "Content-Type": ["text/plain; charset=utf-8"] },
    });
    for (const name of ["alb", "rest-api"]) {
      expect(await handler(events[name], context)).toEqual({ ...ACKNOWLEDGED, headers: answer.headers, body: "token" });
    }
  });

  test("asks for a source with the event, and for a secret with the event and the context", async () => {
    const asked: SecretRequest[] = [];
    const stored: (string | undefined)[] = [];
    const receiver = createReceiver({
      secret(request) {
        asked.push(request);
        return SECRET;
      },
      inbox: forwardInbox(async (deliveries) => void stored.push(...deliveries.map(({ source }) => source))),
      log: false,
    });
    const handler = lambdaReceiver(receiver, {
      source: (event: { pathParameters: { app: string } }) => event.pathParameters.app,
    });
    const event = { ...signedEvent(DELIVERY, { path: "/hooks/crm", query: "a=1" }), pathParameters: { app: "crm" } };
    expect(await handler(event, context)).toEqual(ACKNOWLEDGED);
    expect(asked).toMatchObject([{ path: "/hooks/crm", source: "crm", platform: { event, context } }]);
    expect(asked[0]?.query.get("a")).toBe("1");
    expect(stored).toEqual(["crm"]);
  });
});

describe("after the handlers", () => {
  const HOUR_MS = 3_600_000;

  async function endOf(timeoutMs: number, leftMs: number | undefined): Promise<number> {
    const clock = fakeClock();
    const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: false, clock });
    receiver.on("email", async (_event, { signal }) => {
      await once(signal, "abort");
      throw signal.reason;
    });
    const handler = lambdaReceiver(receiver, { answer: "after-handlers", timeoutMs });
    const event = { ...signedEvent(DELIVERY), headers: signedHeaders(DELIVERY, { secret: SECRET, at: clock.date() }) };
    const answer = watch(handler(event, leftMs === undefined ? {} : { getRemainingTimeInMillis: () => leftMs }));
    await turns();
    for (let ms = 0; ms <= HOUR_MS; ms += 100) {
      if (answer.ended) {
        expect(answer).toMatchObject({ value: { statusCode: 503 } });
        return ms;
      }
      await clock.advance(100);
    }
    throw new Error("It did not end.");
  }

  test.each([
    ["as long as `timeoutMs`, where the invocation has longer", 2_000, 20_000, 2_000],
    ["half a second less than the invocation has, where that is less", 20_000, 3_000, 2_500],
    ["no time, where the invocation has none", 20_000, 300, 100],
    ["as long as `timeoutMs`, where nothing tells what is left", 2_000, undefined, 2_000],
  ])("handlers get %s", async (_, timeoutMs, leftMs, end) => {
    expect(await endOf(timeoutMs, leftMs)).toBe(end);
  });

  test("a wrong deadline is refused at once", () => {
    expect(() => lambdaReceiver(receiving().receiver, { answer: "after-handlers", timeoutMs: 0 })).toThrow(
      /`timeoutMs`/,
    );
  });
});
