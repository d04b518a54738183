import fc from "fast-check";
import { inspect } from "node:util";
import { UsageError } from "hookline";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import {
  BadRequest,
  createClient,
  NotFound,
  NotReady,
  PreconditionFailed,
  RateLimited,
  ServiceError,
  TokenExpired,
  Unauthorized,
  type ClientOptions,
} from "../../src/client.ts";
import { sleep } from "../../src/client/http/sleep.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { skippingClock, startService, type Answer } from "./support.ts";

const message = { id: "m-1" };
const OK: Answer = { json: message };
const TOKEN = "tok-secret-1";

/** A client of a service that answers these, one after another; the last one again and again. */
async function atService(answers: readonly Answer[], options: Partial<ClientOptions> = {}) {
  const clock = skippingClock();
  const { url, requests } = await startService((_, nth) => answers[Math.min(nth, answers.length - 1)] ?? OK);
  return { client: createClient({ baseUrl: url, token: TOKEN, clock, ...options }), requests, clock };
}

async function failureOf(promise: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ServiceError);
  return error as ServiceError;
}

describe("a redirect", () => {
  const mail = { subject: "Confidential", to: [{ address: "ann@example.com" }] };

  test.each([301, 302, 303, 307, 308])("%d of a POST is an error: the mail goes to no other host", async (status) => {
    const other = await startService(() => OK);
    const headers = { Location: `${other.url}/v1/email/messages` };
    const { client, requests } = await atService([{ status, headers }]);
    const error = await failureOf(client.messages.send(mail));
    expect(error).toMatchObject({ status, code: "service-error", outcomeUnknown: true });
    expect(error.fix).toContain("Set `baseUrl`");
    expect(error.message).toContain(`the service answered ${status}`);
    expect([requests.length, other.requests.length]).toEqual([1, 0]);
  });

  test("of a GET is one, too, also to the same host: not every `fetch` takes the token away", async () => {
    const { client, requests } = await atService([
      { status: 302, headers: { Location: "/v1/email/messages/m-2" } },
      OK,
    ]);
    expect(await failureOf(client.messages.get("m-1"))).toMatchObject({ status: 302, code: "service-error" });
    expect(requests).toHaveLength(1);
  });

  test("that a browser hides is one", async () => {
    const hidden = Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" });
    const client = createClient({ token: TOKEN, fetch: async () => hidden });
    expect(await failureOf(client.messages.get("m-1"))).toMatchObject({ status: 302, code: "service-error" });
  });
});

describe("an error answer", () => {
  test.each([
    [400, BadRequest, "service-bad-request"],
    [401, Unauthorized, "service-unauthorized"],
    [403, ServiceError, "service-forbidden"],
    [404, NotFound, "service-not-found"],
    [408, NotReady, "service-not-ready"],
    [410, TokenExpired, "service-token-expired"],
    [412, PreconditionFailed, "service-precondition-failed"],
    [422, ServiceError, "service-error"],
    [429, RateLimited, "service-rate-limited"],
    [500, ServiceError, "service-error"],
    [503, ServiceError, "service-error"],
  ])("%d is a %o with the code %s", async (status, type, code) => {
    const body = { code: "some.code", message: "Some words", requestId: "req-1" };
    const { client } = await atService([{ status, json: body, headers: { "Retry-After": "3" } }], { retry: false });
    const error = await failureOf(client.messages.get("m-1"));
    expect(error).toBeInstanceOf(type);
    expect(error.name).toBe(type.name);
    expect(error).toMatchObject({
      status,
      code,
      serviceCode: "some.code",
      serviceMessage: "Some words",
      requestId: "req-1",
      retryAfterMs: 3_000,
      outcomeUnknown: false,
      ofAccount: true,
    });
    expect(error.message).toContain(
      `GET /v1/email/messages/{messageId}: the service answered ${status} (some.code, request req-1).`,
    );
  });

  test("without a body of the service, such as a proxy's page, has its status alone", async () => {
    const { client } = await atService([{ status: 502, text: "<html>Bad gateway</html>" }], { retry: false });
    const error = await failureOf(client.messages.get("m-1"));
    expect(error.message).toBe("GET /v1/email/messages/{messageId}: the service answered 502.");
    expect(error.serviceCode).toBeUndefined();
    expect(error.serviceMessage).toBeUndefined();
  });

  test("a Retry-After that is a date counts from now", async () => {
    const clock = skippingClock();
    const at = new Date(clock.now() + 7_000).toUTCString();
    const { client } = await atService([{ status: 429, headers: { "Retry-After": at } }], { retry: false, clock });
    expect((await failureOf(client.messages.get("m-1"))).retryAfterMs).toBe(7_000);
  });

  test("a successful answer that is no JSON, or lacks the id, says so", async () => {
    const { client, requests } = await atService([{ text: "<html>" }, { json: { subject: "x" } }, { json: {} }]);
    const noJson = await failureOf(client.messages.get("m-1"));
    expect(noJson).toMatchObject({ code: "service-answer-invalid", status: 200 });
    expect(noJson.message).toContain("it is no JSON");
    expect((await failureOf(client.messages.get("m-1"))).message).toContain('its field "id" is wrong or missing');
    expect((await failureOf(client.messages.list().page())).message).toContain('it has no list "records"');
    expect(requests).toHaveLength(3);
  });
});

describe("no message and no log", () => {
  const address = "grace@example.com";

  /** All that a logger, a console or JSON could show of it. */
  function allOf(error: unknown): string {
    let logged = "";
    pino({}, { write: (line: string) => void (logged += line) }).error({ err: error });
    const { stack = "", message: text } = error as Error;
    return [stack, text, JSON.stringify(error), inspect(error, { depth: 10 }), logged].join("\n");
  }

  test.each<[string, Answer]>([
    [
      "an answer that repeats what it got",
      { status: 400, json: { message: `No calendar ${address}, token ${TOKEN}` } },
    ],
    ["a code that is content", { status: 400, json: { code: `no calendar ${address}`, requestId: "a b" } }],
    ["a proxy's page", { status: 502, text: `${address} ${TOKEN}` }],
    ["an answer that cannot be read", { text: `${address} ${TOKEN}` }],
    ["a cut connection", "cut"],
  ])("has the token, or an address, after %s", async (_name, answer) => {
    const { client } = await atService([answer], { retry: false });
    const calls = [
      () => client.calendar(address).events.get(address),
      () => client.messages.list({ q: `from:${address}` }).page(),
      () => client.request("POST", "/v1/email/messages", { body: { to: [{ address }] } }),
      () => client.request("GET", `/v1/calendars/${address}/acl`, { query: { address } }),
    ];
    for (const call of calls) {
      // An answer that this one takes as it came is no failure.
      const error: unknown = await call().catch((thrown: unknown) => thrown);
      if (!(error instanceof ServiceError)) continue;
      expect(allOf(error)).not.toContain(address);
      expect(allOf(error)).not.toContain(TOKEN);
      expect(error.serviceMessage ?? "").not.toContain(TOKEN);
    }
    await expect(calls[0]?.()).rejects.toThrow(ServiceError);
  });

  test.each(["to ken", "token\n", "tökén", ""])("has a token that no header takes: %o", async (token) => {
    const { client, requests } = await atService([OK], { token });
    const error: unknown = await client.messages.get("m-1").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ code: "token-invalid" });
    if (token !== "") expect(allOf(error)).not.toContain(token);
    expect(requests).toEqual([]);
  });
});

describe("a call is repeated", () => {
  test.each([408, 429, 500, 502, 503, 504])("after %d, until it succeeds", async (status) => {
    const { client, requests } = await atService([{ status }, { status }, OK]);
    expect(await client.messages.get("m-1")).toEqual(message);
    expect(requests).toHaveLength(3);
  });

  test.each(["cut", "cut-body"] as const)("when no answer came: %s", async (answer) => {
    const { client, requests } = await atService([answer, answer, OK]);
    expect(await client.messages.get("m-1")).toEqual(message);
    expect(requests).toHaveLength(3);
  });

  test.each([400, 401, 403, 404, 410, 412])("but not after %d", async (status) => {
    const { client, requests } = await atService([{ status }, OK]);
    await failureOf(client.messages.get("m-1"));
    expect(requests).toHaveLength(1);
  });

  test("four times in all, or as often as it says, for all calls or for one", async () => {
    const { client, requests } = await atService([{ status: 500 }]);
    await failureOf(client.messages.get("m-1"));
    expect(requests.splice(0)).toHaveLength(4);
    await failureOf(client.messages.get("m-1", { retry: { attempts: 2 } }));
    expect(requests.splice(0)).toHaveLength(2);
    await failureOf(client.messages.get("m-1", { retry: false }));
    expect(requests.splice(0)).toHaveLength(1);

    const never = await atService([{ status: 500 }], { retry: false });
    await failureOf(never.client.messages.get("m-1"));
    await failureOf(never.client.messages.get("m-1", { retry: { attempts: 3 } }));
    expect(never.requests).toHaveLength(4);
  });

  test.each([{ attempts: 0 }, { attempts: 1.5 }, { budgetMs: -1 }])("never by a wrong option: %o", async (retry) => {
    const { client, requests } = await atService([OK]);
    await expect(client.messages.get("m-1", { retry })).rejects.toThrow(UsageError);
    expect(requests).toEqual([]);
  });

  test("no sooner than Retry-After says", async () => {
    const { client, clock } = await atService([{ status: 503, headers: { "Retry-After": "7" } }, OK]);
    await client.messages.get("m-1");
    expect(clock.waits[0]).toBeGreaterThanOrEqual(7_000);
    expect(clock.waits[0]).toBeLessThanOrEqual(7_500);
  });

  test("at once or not at all: a Retry-After beyond the budget fails the call, and says how long to wait", async () => {
    const answers = [{ status: 429, headers: { "Retry-After": "21" } }, OK];
    const { client, requests, clock } = await atService(answers);
    expect(await failureOf(client.messages.get("m-1"))).toMatchObject({ retryAfterMs: 21_000 });
    expect(requests).toHaveLength(1);
    expect(clock.waits).toEqual([]);
    const patient = await atService(answers, { retry: { budgetMs: 24_000 } });
    expect(await patient.client.messages.get("m-1")).toEqual(message);
  });

  test("with the token of that moment", async () => {
    let nth = 0;
    const { client, requests } = await atService([{ status: 500 }, OK], { token: async () => `t-${nth++}` });
    await client.messages.get("m-1");
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer t-0", "Bearer t-1"]);
  });

  test("not when its token function fails: that is the caller's own error", async () => {
    const own = new Error("vault");
    const { client, requests } = await atService([OK], { token: () => Promise.reject(own) });
    await expect(client.messages.get("m-1")).rejects.toBe(own);
    expect(requests).toEqual([]);
  });

  test("follows one law, whatever the service does", async () => {
    const wait = fc.option(fc.integer({ min: 0, max: 30 }), { nil: undefined });
    const failure = fc.record({ status: fc.constantFrom(400, 404, 408, 429, 500, 503), wait });
    await fc.assert(
      fc.asyncProperty(
        fc.array(failure, { maxLength: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 60_000 }),
        async (failures, attempts, budgetMs) => {
          const answers = failures.map(({ status, wait: seconds }) =>
            Response.json({}, { status, headers: seconds === undefined ? {} : { "Retry-After": String(seconds) } }),
          );
          const clock = everyWaitClock();
          const began = clock.now();
          const sent: number[] = [];
          const fetch = async (): Promise<Response> => {
            sent.push(clock.now() - began);
            return answers[sent.length - 1] ?? Response.json(message);
          };
          const retry = { attempts, budgetMs };
          const client = createClient({ token: "t", fetch, clock, rateLimit: false, retry, timeoutMs: LIMIT_MS });
          const error: unknown = await client.messages.get("m-1").then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          expect(sent.length).toBeLessThanOrEqual(attempts);
          expect(sent.every((at) => at <= budgetMs || at === 0)).toBe(true);
          const passing = failures.slice(0, sent.length - 1);
          // Only what may pass was followed by another attempt, and not before its time.
          for (const [nth, { status, wait: seconds = 0 }] of passing.entries()) {
            expect([408, 429, 500, 503]).toContain(status);
            const gap = (sent[nth + 1] ?? 0) - (sent[nth] ?? 0);
            expect(gap).toBeGreaterThanOrEqual(seconds * 1_000);
            expect(gap).toBeLessThanOrEqual(seconds * 1_000 + Math.min(500 * 2 ** nth, 8_000));
          }
          const last = failures[sent.length - 1];
          if (last === undefined) expect(error).toBeUndefined();
          else expect(error).toMatchObject({ status: last.status });
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** A client's limit that is no length of a wait. */
const LIMIT_MS = 3_600_000;

/** Every wait is over at once; {@link LIMIT_MS} never is. */
function everyWaitClock() {
  let now = 1_000_000;
  return {
    now: () => now,
    setTimer(run: () => void, ms: number) {
      if (ms === LIMIT_MS) return { clear: () => {} };
      now += ms;
      queueMicrotask(run);
      return { clear: () => {} };
    },
  };
}

describe("what would do harm twice is sent once", () => {
  const mail = { subject: "Hello", to: [{ address: "grace@example.com" }] };
  const event = { subject: "Review" };

  test.each<[Answer, boolean]>([
    [{ status: 500 }, true],
    [{ status: 503, headers: { "Retry-After": "1" } }, true],
    [{ status: 408 }, true],
    ["cut", true],
    [{ status: 429, headers: { "Retry-After": "1" } }, false],
    [{ status: 400 }, false],
    [{ status: 401 }, false],
  ])("a mail, after %o; whether it may have gone out: %o", async (answer, outcomeUnknown) => {
    const { client, requests } = await atService([answer, { status: 201, json: { status: "Ok" } }]);
    expect(await failureOf(client.messages.send(mail))).toMatchObject({ outcomeUnknown });
    expect(requests).toHaveLength(1);
  });

  test("a mail whose later steps failed was sent: the result warns", async () => {
    const processingError = { failedSteps: ["tracking", "keywords"], errorMessage: "no" };
    const { client } = await atService([
      { status: 201, json: { status: "Ok", processingStatus: "Incomplete", processingError } },
    ]);
    expect(await client.messages.send(mail)).toEqual({
      status: "Ok",
      processingStatus: "Incomplete",
      processingError,
      warning: "The mail was sent; steps that failed afterwards: tracking, keywords.",
    });
  });

  test.each<[string, Answer]>([
    ["is cut off", "cut-body"],
    ["is no JSON", { status: 201, text: "<html>" }],
    ["is empty", { status: 201 }],
    ["is something else", { status: 201, json: [1] }],
  ])("a mail was sent whose success %s", async (_name, answer) => {
    const { client, requests } = await atService([answer]);
    expect(await client.messages.send(mail)).toEqual({});
    expect(requests).toHaveLength(1);
  });

  test("nor is what makes something new, changes by etag, or sends a mail by itself", async () => {
    const { client, requests } = await atService(["cut"]);
    const { events } = client.calendar("primary");
    const calls: readonly (() => Promise<unknown>)[] = [
      () => client.calendars.create({ name: "Team" }),
      () => events.create(event),
      () => events.update("e-1", event, { ifMatch: "1" }),
      () => events.respond("e-1", { response: "accepted" }),
      () => client.subscriptions.create({ resource: "/contacts", notificationUrl: "https://app.example.com" }),
      () => client.request("POST", "/v1/contacts", { body: {} }),
      () => client.request("PATCH", "/v1/contacts/c-1", { body: {} }),
    ];
    for (const call of calls) expect((await failureOf(call())).outcomeUnknown).toBe(true);
    expect(requests).toHaveLength(calls.length);
  });

  test("a DELETE that is repeated and finds nothing has succeeded", async () => {
    const { client } = await atService(["cut", { status: 404 }]);
    await client.calendar("primary").events.delete("e-1");
    const refused = await atService([{ status: 429 }, { status: 404 }]);
    await expect(refused.client.calendar("primary").events.delete("e-1")).rejects.toThrow(NotFound);
    const absent = await atService([{ status: 404 }]);
    await expect(absent.client.subscriptions.delete(1)).rejects.toThrow(NotFound);
  });
});

describe("a time limit and a signal", () => {
  test("a service that does not answer in time is not waited for", async () => {
    const clock = fakeClock();
    const { client } = await atService(["hang"], { clock, retry: false, timeoutMs: 5_000 });
    const timedOut = failureOf(client.messages.get("m-1"));
    while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(5_000);
    expect(await timedOut).toMatchObject({ code: "service-timeout", status: 0 });
    expect((await timedOut).message).toContain("no answer within 5000 ms");
  });

  test("also where fetch ignores its signal", async () => {
    const clock = fakeClock();
    const fetch = () => new Promise<Response>(() => {});
    const client = createClient({ token: "t", fetch, clock, retry: false, rateLimit: false });
    const timedOut = failureOf(client.messages.get("m-1"));
    while (clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(30_000);
    expect(await timedOut).toMatchObject({ code: "service-timeout" });
  });

  test.each(["of the call", "of the client"])("the signal %s ends a request", async (whose) => {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("the user left");
    const options = { retry: false, rateLimit: false, ...(whose === "of the client" && { signal }) } as const;
    const { client, requests } = await atService(["hang"], options);
    const ended = client.messages.get("m-1", whose === "of the call" ? { signal } : {});
    while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test("ends a wait between two attempts", async () => {
    const controller = new AbortController();
    const clock = fakeClock();
    const { client, requests } = await atService([{ status: 500, headers: { "Retry-After": "9" } }], { clock });
    const ended = client.messages.get("m-1", { signal: controller.signal });
    while (requests.length === 0 || clock.waiting === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort(new Error("enough"));
    await expect(ended).rejects.toThrow("enough");
    expect(requests).toHaveLength(1);
    expect(clock.waiting).toBe(0);
  });

  test("ends a wait that has begun, and its timer", async () => {
    const controller = new AbortController();
    const clock = fakeClock();
    const waiting = sleep(1_000, { clock, signal: controller.signal });
    expect(clock.waiting).toBe(1);
    controller.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(clock.waiting).toBe(0);
  });

  test("leaves no listener on a signal that outlives its waits", async () => {
    const { signal } = new AbortController();
    const listeners: string[] = [];
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    Object.assign(signal, {
      addEventListener: (...given: Parameters<typeof add>) => (listeners.push("added"), add(...given)),
      removeEventListener: (...given: Parameters<typeof remove>) => (listeners.push("removed"), remove(...given)),
    });
    const clock = fakeClock();
    const waiting = sleep(1_000, { clock, signal });
    await clock.advance(1_000);
    await waiting;
    expect(listeners).toEqual(["added", "removed"]);
  });

  test("that has aborted before sends nothing", async () => {
    const { client, requests } = await atService([OK]);
    await expect(client.messages.get("m-1", { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow("no");
    expect(requests).toEqual([]);
  });
});

describe("what is sent", () => {
  test("an id is one segment of the path, whatever is in it", async () => {
    const { client, requests } = await atService([OK]);
    await client.messages.get("a/b?c#d%2F..");
    expect(requests[0]?.path).toBe("/v1/email/messages/a%2Fb%3Fc%23d%252F..");
  });

  test.each(["", ".", ".."])("an id that would name another path is refused: %o", async (id) => {
    const { client, requests } = await atService([OK]);
    await expect(client.messages.get(id)).rejects.toThrow(UsageError);
    expect(requests).toEqual([]);
  });

  test("a list in a query is repeated; undefined and null are left out", async () => {
    const { client, requests } = await atService([{ json: { any: 1 } }]);
    const query = { a: ["x", "y"], b: undefined, c: null, d: false, e: 0, at: new Date(0) };
    expect(await client.request("GET", "/v1/things/t-1/parts", { query, headers: { "X-Own": "1" } })).toEqual({
      any: 1,
    });
    expect(requests[0]).toMatchObject({
      path: "/v1/things/t-1/parts",
      query: [
        ["a", "x"],
        ["a", "y"],
        ["d", "false"],
        ["e", "0"],
        ["at", "1970-01-01T00:00:00.000Z"],
      ],
      headers: { "x-own": "1" },
    });
  });

  test.each(["v1/x", "https://example.com/", "/v1/x?a=1", "/v1/x#y"])("request() refuses the path %o", async (path) => {
    const { client, requests } = await atService([OK]);
    await expect(client.request("GET", path)).rejects.toThrow("a path that does not begin with");
    expect(requests).toEqual([]);
  });

  test("a base URL may have a path, and a slash at its end", async () => {
    const { url, requests } = await startService(() => OK);
    await createClient({ baseUrl: new URL(`${url}/behind/`), token: "t" }).messages.get("m-1");
    expect(requests[0]?.path).toBe("/behind/v1/email/messages/m-1");
  });

  test.each(["ftp://example.com", "example.com", "https://u:p@example.com", "https://example.com/?a"])(
    "a base URL that is none is refused: %s",
    (baseUrl) => {
      expect(() => createClient({ baseUrl, token: "t" })).toThrow("a baseUrl that is no HTTP URL");
    },
  );

  test("options that do not exist, or are wrong, are refused", () => {
    expect(() => createClient({ token: "t", tokens: "u" } as never)).toThrow('Did you mean "token"');
    expect(() => createClient({ token: 5 } as never)).toThrow("got 5 for token");
    expect(() => createClient({ token: "t", rateLimit: { perSecond: 0 } })).toThrow("rateLimit.perSecond");
  });
});
