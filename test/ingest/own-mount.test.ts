import type { RawRequest, ReadLimits, SecretRequest } from "hookline";
import { bodyConsumed, bodyCutOff, bodyTooLarge } from "hookline/adapter";
import { describe, expect, test, vi } from "vitest";
import { UsageError } from "../../src/errors.ts";
import { turns, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { changes, mounted, type Mounted, type Setup } from "../support/mounted.ts";
import { unopenableInbox } from "../support/stub-inboxes.ts";

type Asked = Omit<Partial<RawRequest>, "body"> & { readonly signed?: string };

/** A receiver asked directly, as a mount of one's own does. */
async function asked(setup: Setup = {}) {
  const own = await mounted(setup);
  const receive = (body: RawRequest["body"], { signed = changes(), ...rest }: Asked = {}) =>
    own.receiver.receive({ method: "POST", url: "/", headers: own.signed(signed), ...rest, body });
  return { ...own, receive };
}

async function* inPieces(text: string, size = 10): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

describe("receiver.receive takes the body", () => {
  test.each<[string, RawRequest["body"]]>([
    ["as bytes", Buffer.from(changes())],
    ["as bytes in the middle of a buffer", Buffer.from(`--${changes()}--`).subarray(2, -2)],
    ["as a stream", inPieces(changes())],
    ["as a stream of one piece", inPieces(changes(), 10_000)],
    ["as a list of pieces", [Buffer.from(changes())] as never],
    ["as a way to read", async () => Buffer.from(changes())],
  ])("%s", async (_, body) => {
    const { receive } = await asked();
    expect(await receive(body)).toEqual({ status: 200, headers: {}, body: "" });
  });

  test("by a getter that throws, which is 500 with its fix where the body was consumed", async () => {
    const { receiver, signed } = await asked();
    const request = {
      method: "POST",
      url: "/",
      headers: signed(changes()),
      get body(): never {
        throw bodyConsumed("Mount it first.");
      },
    };
    expect(await receiver.receive(request)).toMatchObject({ status: 500 });
  });

  test("with its headers in any case: the content type is stored with it", async () => {
    const { receive, receiver, signed } = await asked();
    const headers = { ...signed(changes()), "Content-Type": "application/json" };
    const stored: (string | undefined)[] = [];
    receiver.on("email", async (_, ctx) => void stored.push((await ctx.delivery()).headers["content-type"]));
    await receiver.start();
    expect(await receive(Buffer.from(changes()), { headers })).toMatchObject({ status: 200 });
    await receiver.idle();
    expect(stored).toEqual(["application/json"]);
  });

  test("not at all while the headers are bad", async () => {
    const { receive, receiver } = await asked();
    const read = vi.fn();
    expect(await receive(read, { headers: {} })).toEqual({ status: 401, headers: {}, body: "" });
    expect(await receive(read, { method: "GET" })).toEqual({ status: 405, headers: { Allow: "POST" }, body: "" });
    expect(read).not.toHaveBeenCalled();
    expect(receiver.stats().answered).toEqual({ 401: 1, 405: 1 });
  });

  test("with its limits passed to the reader, which may count and refuse by them", async () => {
    const limits: ReadLimits[] = [];
    const { receive } = await asked({ maxBodyBytes: 50, maxInFlightBytes: 100 });
    const tooLong = await receive(async (given) => {
      limits.push(given);
      throw bodyTooLarge(given.maxBytes);
    });
    expect(tooLong.status).toBe(413);
    expect(limits).toMatchObject([{ maxBytes: 50, signal: expect.any(AbortSignal) }]);
    let refused: unknown;
    const crowded = await receive(async ({ count }) => {
      try {
        count?.(30);
        count?.(71);
      } catch (error) {
        refused = error;
        throw error;
      }
      return Buffer.from(changes());
    });
    expect(crowded.status).toBe(503);
    expect(refused).toMatchObject({
      code: "intake-full",
      message: expect.stringContaining("30 of 100 bytes") as string,
      fix: expect.stringContaining("`maxInFlightBytes`") as string,
    });
  });

  test.each<[string, number, RawRequest["body"]]>([
    ["bytes that are too many", 413, Buffer.alloc(1_001)],
    ["a stream that is too long", 413, inPieces("x".repeat(1_001))],
    ["a way to read that brings too much", 413, async () => Buffer.alloc(1_001)],
    ["a stream that breaks", 503, brokenStream()],
    [
      "a way to read that throws",
      503,
      () => {
        throw new Error("no");
      },
    ],
    [
      "a way to read that rejects with a status of 422",
      503,
      () => Promise.reject(Object.assign(new Error("no"), { status: 422 })),
    ],
    [
      "a way to read that rejects with an error whose code is one of ours",
      503,
      () => Promise.reject(Object.assign(new Error("no"), { code: "body-late" })),
    ],
    [
      "a way to read that rejects with an error of ours that is about something else",
      503,
      () => Promise.reject(new UsageError("option-invalid", "no")),
    ],
    ["a text", 500, "text" as never],
    ["a way to read that gives nothing", 500, async () => undefined as never],
    ["a way to read that gives null", 500, async () => null as never],
  ])("and refuses %s with %i", async (_, status, body) => {
    const { receive, receiver } = await asked({ maxBodyBytes: 1_000 });
    expect((await receive(body)).status).toBe(status);
    expect(receiver.stats().stored).toBe(0);
  });

  test("and waits no longer for one that ignores its signal, nor for a stream that stops", async () => {
    const clock = fakeClock();
    const { receive, log } = await asked({ clock, bodyTimeoutMs: 2_000 });
    let signal: AbortSignal | undefined;
    const never = new Promise<never>(() => {});
    const replies = [
      receive(async (limits) => {
        ({ signal } = limits);
        return never;
      }),
      receive({ [Symbol.asyncIterator]: () => ({ next: () => never }) }),
    ];
    await clock.advance(2_000);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([408, 408]);
    expect(signal?.aborted).toBe(true);
    expect(log.of("body-late")).toMatchObject([
      { facts: { err: { message: expect.stringContaining("within 2000 ms") as string } } },
    ]);
  });

  test("and counts the time for which the loop was busy before it could set a timer", async () => {
    const clock = fakeClock();
    const { receive } = await asked({ clock, bodyTimeoutMs: 2_000 });
    const never = (): Promise<never> => new Promise(() => {});
    const reply = watch(receive(never));
    clock.jump(500);
    await turns();
    await clock.advance(1_499);
    expect(reply.ended).toBe(false);
    await clock.advance(1);
    expect(reply.value).toMatchObject({ status: 408 });
  });

  test("and gives no more room to a way to read that goes on counting after its time", async () => {
    const clock = fakeClock();
    const { receive, deliver } = await asked({ clock, maxInFlightBytes: 1_000 });
    let count = (_bytes: number): void => {};
    const reply = receive((limits) => {
      count = limits.count ?? count;
      count(10);
      return new Promise(() => {});
    });
    await clock.advance(10_000);
    expect((await reply).status).toBe(408);
    expect(() => count(1_000)).toThrow(expect.objectContaining({ code: "body-late" }));
    expect((await deliver("x".repeat(1_000))).status).toBe(200);
  });
});

test("a mount's errors about a body say what was, and what to do", () => {
  const cause = new Error("socket hang up");
  expect(bodyTooLarge(50)).toMatchObject({
    code: "body-too-large",
    message: expect.stringContaining("over 50 bytes") as string,
    fix: expect.stringContaining("`maxBodyBytes`") as string,
  });
  expect(bodyCutOff(cause)).toMatchObject({
    code: "body-cut-off",
    cause,
    message: expect.stringContaining("before the whole body") as string,
  });
  expect(bodyConsumed("Mount it first.")).toMatchObject({
    code: "body-consumed",
    message: expect.stringContaining("read the body before Hookline") as string,
    fix: "Mount it first.",
  });
});

describe("receiver.receive takes the headers", () => {
  const spelled: [string, (headers: Record<string, string>) => RawRequest["headers"]][] = [
    ["in lower case", (headers) => mapped(headers, (name, value) => [name.toLowerCase(), value])],
    ["in upper case", (headers) => mapped(headers, (name, value) => [name.toUpperCase(), value])],
    ["as lists of one", (headers) => mapped(headers, (name, value) => [name, [value]])],
    ["without a prototype", (headers) => Object.assign(Object.create(null) as object, headers)],
    ["beside others that are undefined", (headers) => ({ ...headers, "content-encoding": undefined, x: undefined })],
  ];

  test.each(spelled)("%s", async (_, spell) => {
    const { receive, signed } = await asked();
    expect((await receive(Buffer.from(changes()), { headers: spell(signed(changes())) })).status).toBe(200);
  });

  test("and refuses a signature header in two spellings", async () => {
    const { receive, signed } = await asked();
    const headers = { ...signed(changes()), "X-AURINKO-SIGNATURE": "0".repeat(64) };
    expect((await receive(Buffer.from(changes()), { headers })).status).toBe(401);
  });

  test("and finds an encoding in any spelling", async () => {
    const { receive, signed } = await asked();
    const headers = { ...signed(changes()), "CONTENT-ENCODING": ["gzip"] };
    expect((await receive(Buffer.from(changes()), { headers })).status).toBe(415);
  });

  test.each(["", "identity", "Identity , identity", "identity,"])(
    "and takes an encoding that changes no byte: '%s'",
    async (encoding) => {
      const { receive, signed } = await asked();
      const headers = { ...signed(changes()), "content-encoding": encoding };
      expect((await receive(Buffer.from(changes()), { headers })).status).toBe(200);
    },
  );
});

describe("receiver.receive takes the URL", () => {
  test("as a path or whole, and a look-up gets its path", async () => {
    const paths: string[] = [];
    const { receive, signed } = await asked({
      secret: ({ path, query }) => {
        paths.push(`${path} ${query.toString()}`);
        return "short";
      },
    });
    const headers = signed(changes(), { secret: "short" });
    for (const url of ["/hooks/x?a=1", "https://hooks.example.com/hooks/x?a=1", "/hooks/x"])
      expect((await receive(Buffer.from(changes()), { url, headers })).status).toBe(200);
    expect(paths).toEqual(["/hooks/x a=1", "/hooks/x a=1", "/hooks/x "]);
  });

  test("and a look-up gets what the mount passes beside it, and nothing that it does not", async () => {
    const requests: SecretRequest[] = [];
    const { receive, signed } = await asked({
      secret: (request) => {
        requests.push(request);
        return "short";
      },
    });
    const headers = { ...signed(changes(), { secret: "short" }), "X-App": ["a", "b"] };
    const platform = { region: "eu" };
    await receive(Buffer.from(changes()), { headers });
    await receive(Buffer.from(changes()), { headers, platform, source: "crm" });
    expect(requests[0]?.header("x-app")).toBe("a, b");
    expect(requests[0]).not.toHaveProperty("platform");
    expect(requests[0]).not.toHaveProperty("source");
    expect(requests[1]).toMatchObject({ source: "crm", platform });
  });

  test("and finds the token in it", async () => {
    const { receive } = await asked();
    for (const url of ["/?validationToken=t-1", "https://hooks.example.com/?validationToken=t-1#fragment"])
      expect(await receive(new Uint8Array(0), { url, signed: "" })).toMatchObject({ status: 200, body: "t-1" });
  });
});

describe("receiver.receive never rejects:", () => {
  test.each<[string, Setup, (own: Mounted) => object]>([
    [
      "a source that throws when it is asked",
      {},
      () =>
        Object.defineProperty({}, "source", {
          enumerable: true,
          get: () => {
            throw new Error("no");
          },
        }),
    ],
    ["an inbox that cannot be opened", { inbox: unopenableInbox() }, () => ({})],
  ])("%s", async (_, setup, extra) => {
    const own = await mounted(setup);
    const headers = own.signed(changes(), { at: new Date() });
    const request = { method: "POST", url: "/", headers, body: Buffer.from(changes()) };
    const reply = await own.receiver.receive(
      Object.defineProperties(request, Object.getOwnPropertyDescriptors(extra(own))),
    );
    expect([401, 503]).toContain(reply.status);
    expect(own.receiver.stats().stored).toBe(0);
  });

  test.each(["method", "url", "headers", "parsedBefore"])("a field that throws when it is read: %s", async (field) => {
    const { receiver, signed, log } = await mounted();
    const request = { method: "POST", url: "/", headers: signed(changes()), body: Buffer.from(changes()) };
    const get = (): never => {
      throw new Error("no such field");
    };
    const reply = await receiver.receive(Object.defineProperty(request, field, { get }));
    expect(reply).toEqual({ status: 503, headers: { "Retry-After": "10" }, body: "" });
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { internal: 1 } });
    expect(log.of("internal")).toMatchObject([{ level: "error", facts: { err: { message: "no such field" } } }]);
  });
});

// oxlint-disable-next-line require-yield -- it breaks before it has anything to give
async function* brokenStream(): AsyncGenerator<Uint8Array> {
  throw new Error("the stream broke");
}

function mapped<V>(
  headers: Record<string, string>,
  change: (name: string, value: string) => [string, V],
): Record<string, V> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => change(name, value)));
}
