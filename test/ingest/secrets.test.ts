import { createReceiver, memoryInbox, type SecretRequest, type SecretSource } from "hookline";
import { describe, expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { send } from "../support/http.ts";
import { changes, expectBare, mounted, SECRET } from "../support/mounted.ts";

describe("without a secret", () => {
  const bytes = Buffer.from(SECRET);
  const missing = [
    ["undefined, as process.env gives it", undefined, "The signing secret is undefined"],
    ["null, as a program without types may", null, "The signing secret is null"],
    ["an empty text", "", "The signing secret is an empty text"],
    ["white space", " \n", "The signing secret is white space"],
    ["an empty list", [], "an empty list"],
    ["a list with an empty text beside a good one", [SECRET, ""], "Signing secret 2 is an empty text"],
    ["a list with an empty text before a good one", ["", SECRET], "Signing secret 1 is an empty text"],
    // oxlint-disable-next-line no-sparse-arrays -- a mistake that a test is about
    ["a list with a hole", [SECRET, , SECRET], "Signing secret 2 is undefined"],
    ["a list in a list", [[SECRET]], "Signing secret 1 is a list"],
    ["a name with an empty value", { name: "old", value: "" }, 'value of the signing secret ("old") is an empty text'],
    ["a value that is no text", { name: "old", value: 5 }, 'value of the signing secret ("old") is 5'],
    ["a value that is bytes", [{ name: "old", value: bytes }], 'value of signing secret 1 ("old") is a Buffer'],
    ["a name that is none", { name: 5, value: SECRET }, "The signing secret has the name 5"],
    [
      "a Buffer, as readFile gives it",
      bytes,
      "The signing secret is a Buffer, expected a text that is not empty. Give text",
    ],
    [
      "bytes",
      new Uint8Array(bytes),
      "The signing secret is a Uint8Array, expected a text that is not empty. Give text",
    ],
    ["a promise", Promise.resolve(SECRET), "The signing secret is a promise"],
    ["a number", 5, "The signing secret is 5"],
  ] as unknown as readonly (readonly [string, SecretSource | undefined, string])[];

  test.each(missing)("start() refuses, says what it got, and names the fix: %s", async (_, secret, got) => {
    const receiver = createReceiver({ secret, inbox: memoryInbox(), log: false });
    const error: unknown = await receiver.start().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "secret-missing", name: "UsageError", fix: expect.any(String) });
    expect(error).toHaveProperty("message", expect.stringContaining(got));
    const { message, fix } = error as { message: string; fix: string };
    expect(message.split(fix)).toEqual([expect.stringMatching(/^createReceiver .+\. $/), ""]);
    expect(String(error)).not.toContain(SECRET);
    expect(receiver.stats().role).toBe("receiving");
  });

  test("start() rejects with the error of a secret that cannot be read", async () => {
    const error = new Error("the vault is sealed");
    const secret = {
      name: "sealed",
      get value(): never {
        throw error;
      },
    };
    const receiver = createReceiver({ secret, inbox: memoryInbox(), log: false });
    await expect(receiver.start()).rejects.toBe(error);
  });

  // A look-up may find nothing, and may be waited for.
  const wrong = missing.filter(([, , got]) => !/is (undefined|null|a promise)$|empty list/.test(got));
  test.each(wrong)("a look-up that finds it is refused, and the log has the reason: %s", async (_, secret, got) => {
    const { deliver, log } = await mounted({ secret: () => secret as string });
    expectBare(await deliver(), 503, "retry-after");
    expect(log.of("secret-lookup-failed")).toMatchObject([
      { facts: { err: { message: expect.stringContaining(got) } } },
    ]);
  });

  test.each(missing)("nothing passes, not even what was signed with just that: %s", async (_, secret) => {
    const { deliver, url, signed, receiver } = await mounted({ secret });
    expectBare(await deliver(), 503, "retry-after");
    expectBare(await send(url, { body: changes(), headers: signed(changes(), { secret: "" }) }), 503, "retry-after");
    expectBare(
      await send(url, { body: changes(), headers: signed(changes(), { secret: "undefined" }) }),
      503,
      "retry-after",
    );
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { "secret-missing": 3 }, secrets: [] });
  });
});

describe("with a list of secrets", () => {
  test("each of them verifies, and its uses are counted by its name, with the last one's time", async () => {
    const clock = fakeClock();
    const secret = [
      { name: "new", value: "new-secret-value" },
      { name: "old", value: "old-secret-value" },
    ];
    const { deliver, receiver } = await mounted({ clock, secret });
    const first = clock.date();
    expectBare(await deliver(changes(), { secret: "old-secret-value" }), 200);
    expectBare(await deliver(changes(), { secret: "old-secret-value" }), 200);
    await clock.advance(60_000);
    expectBare(await deliver(changes(), { secret: "new-secret-value" }), 200);
    expectBare(await deliver(changes(), { secret: "third-secret-value" }), 401);
    expect(receiver.stats().secrets).toEqual([
      { name: "old", uses: 2, lastUsedAt: first },
      { name: "new", uses: 1, lastUsedAt: clock.date() },
    ]);
  });

  test("the one that matched is stored with the delivery", async () => {
    const signers: string[] = [];
    const { deliver, receiver } = await mounted({
      secret: ["first-secret-value", { name: "blue", value: "second-secret-value" }],
      prepare: (own) => void own.on("email", async (_, ctx) => void signers.push((await ctx.delivery()).signedBy)),
    });
    await receiver.start();
    for (const secret of ["first-secret-value", "second-secret-value"]) {
      expectBare(await deliver(changes({ accountId: signers.length }), { secret }), 200);
      await receiver.idle();
    }
    expect(signers).toEqual(["secret-1", "blue"]);
  });

  test("a handshake is counted too: it is how a new secret is tried first", async () => {
    const { deliver, receiver } = await mounted();
    await deliver("", { target: "/?validationToken=t" });
    expect(receiver.stats().secrets).toMatchObject([{ name: "default", uses: 1 }]);
  });
});

describe("with a look-up", () => {
  test.each<[string, SecretSource]>([
    ["at once", () => SECRET],
    ["by promise", async () => SECRET],
    ["with a name", () => ({ name: "tenant", value: SECRET })],
    ["as a list", async () => ["another", SECRET]],
  ])("what it finds verifies: %s", async (_, secret) => {
    const { deliver } = await mounted({ secret });
    expectBare(await deliver(), 200);
    expectBare(await deliver(changes(), { secret: "a third one" }), 401);
  });

  test("it gets the path, the query, the headers and the source, and is not called for a request with bad headers", async () => {
    const asked: SecretRequest[] = [];
    const { deliver, url } = await mounted({
      mount: { source: () => "tenant-a" },
      secret: (request) => {
        asked.push(request);
        return SECRET;
      },
    });
    await send(`${url}/hooks`, { body: changes() });
    expect(asked).toEqual([]);
    await deliver(changes(), { target: "/hooks/a?app=7&app=8", headers: { "X-App": "seven" } });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ path: "/hooks/a", source: "tenant-a" });
    expect(asked[0]?.query.getAll("app")).toEqual(["7", "8"]);
    expect([asked[0]?.header("x-app"), asked[0]?.header("X-APP"), asked[0]?.header("x-other")]).toEqual([
      "seven",
      "seven",
      undefined,
    ]);
  });

  test("each source has secrets of its own, and another's is refused", async () => {
    const { deliver } = await mounted({
      mount: { source: (req) => req.url?.slice(1) },
      secret: ({ source }) => `secret-of-${source}`,
    });
    for (const source of ["a", "b"]) {
      expectBare(await deliver(changes(), { target: `/${source}`, secret: `secret-of-${source}` }), 200);
      expectBare(await deliver(changes(), { target: `/${source}`, secret: "secret-of-c" }), 401);
    }
    expectBare(await deliver(changes(), { target: "/a", secret: "secret-of-b" }), 401);
  });

  test("with a source it is called once in 60 s, and its result is forgotten then", async () => {
    const clock = fakeClock();
    let current = "first-secret-value";
    const find = vi.fn(() => current);
    const { deliver } = await mounted({ clock, secret: find, mount: { source: "a" } });
    expectBare(await deliver(changes(), { secret: current }), 200);
    current = "second-secret-value";
    await clock.advance(59_999);
    expectBare(await deliver(changes(), { secret: current }), 401);
    expect(find).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    expectBare(await deliver(changes(), { secret: current }), 200);
    expect(find).toHaveBeenCalledTimes(2);
  });

  test("without a source it is called for every request", async () => {
    const find = vi.fn(() => SECRET);
    const { deliver } = await mounted({ secret: find });
    for (const _ of [1, 2, 3]) expectBare(await deliver(), 200);
    expect(find).toHaveBeenCalledTimes(3);
  });

  test.each<[string, SecretSource, string]>([
    ["nothing", () => undefined, "secret-unknown"],
    ["nothing, by promise", async () => undefined, "secret-unknown"],
    ["an empty list", () => [], "secret-unknown"],
    ["null, as a database says it", () => null as unknown as undefined, "secret-unknown"],
  ])("one that finds %s refuses with 401, and is asked again after 2 s", async (_, secret, code) => {
    const clock = fakeClock();
    const find = vi.fn(secret as () => undefined);
    const { deliver, receiver } = await mounted({ clock, secret: find, mount: { source: "a" } });
    expectBare(await deliver(), 401);
    expectBare(await deliver(), 401);
    expect(find).toHaveBeenCalledTimes(1);
    await clock.advance(2_000);
    expectBare(await deliver(), 401);
    expect(find).toHaveBeenCalledTimes(2);
    expect(receiver.stats().refused).toEqual({ [code]: 3 });
  });

  test.each<[string, SecretSource, string]>([
    [
      "throws",
      () => {
        throw new Error("vault is sealed");
      },
      "secret-lookup-failed",
    ],
    ["rejects", () => Promise.reject(new Error("vault is sealed")), "secret-lookup-failed"],
    [
      "throws something with a status of 422",
      () => Promise.reject(Object.assign(new Error("no"), { status: 422 })),
      "secret-lookup-failed",
    ],
    ["gives an empty text", () => "", "secret-lookup-failed"],
    ["gives a list with an empty text", async () => [SECRET, ""], "secret-lookup-failed"],
  ])("one that %s is 503, logged as an error, and asked again next time", async (_, secret, code) => {
    const { deliver, receiver, log } = await mounted({ secret, mount: { source: "a" } });
    expectBare(await deliver(), 503, "retry-after");
    expectBare(await deliver(), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ stored: 0, refused: { [code]: 2 } });
    expect(log.of(code)).toMatchObject([{ level: "error", facts: { fix: expect.any(String) } }]);
  });

  test("one that is late is 503, and what it finds later serves the redelivery", async () => {
    const clock = fakeClock();
    let found = (_secret: string): void => {};
    const find = vi.fn(() => new Promise<string>((resolve) => (found = resolve)));
    const { deliver, receiver } = await mounted({ clock, secret: find, secretTimeoutMs: 300, mount: { source: "a" } });
    const answer = deliver();
    await eventually(() => expect(find).toHaveBeenCalledTimes(1));
    await clock.advance(300);
    expectBare(await answer, 503, "retry-after");
    expect(receiver.stats().refused).toEqual({ "secret-lookup-late": 1 });
    found(SECRET);
    await eventually(async () => expectBare(await deliver(), 200));
    expect(find).toHaveBeenCalledTimes(1);
  });

  test("start() does not need it", async () => {
    const find = vi.fn(() => undefined);
    const { receiver } = await mounted({ secret: find });
    await receiver.start();
    expect(find).not.toHaveBeenCalled();
  });
});
