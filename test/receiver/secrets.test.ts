import { createReceiver, memoryInbox, type SecretRequest, type SecretSource } from "hookline";
import { describe, expect, test, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { send } from "../support/http.ts";
import { changes, expectBare, mounted, SECRET } from "../support/mounted.ts";

describe("without a secret", () => {
  const missing: [string, SecretSource | undefined][] = [
    ["undefined, as process.env gives it", undefined],
    ["null, as a program without types may", null as unknown as undefined],
    ["an empty text", ""],
    ["white space", " \n"],
    ["an empty list", []],
    ["a list with an empty text beside a good one", [SECRET, ""]],
    ["a name with an empty value", { name: "old", value: "" }],
    ["a value that is no text", { name: "old", value: 5 as unknown as string }],
  ];

  test.each(missing)("start() refuses, and names the fix: %s", async (_, secret) => {
    const receiver = createReceiver({ secret, inbox: memoryInbox(), log: false });
    await expect(receiver.start()).rejects.toMatchObject({ code: "secret-missing", fix: expect.any(String) });
    expect(receiver.stats().role).toBe("receiving");
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
    expect(receiver.stats()).toMatchObject({ kept: 0, refused: { "secret-missing": 3 }, secrets: [] });
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

  test("the one that matched is kept with the delivery", async () => {
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

  test("it is told the path, the query, the headers and the source, and asked for nobody whose headers are bad", async () => {
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

  test("with a source it is asked once in 60 s, and what was found is forgotten then", async () => {
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

  test("without a source it is asked for every request", async () => {
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
    ["gives an empty text", () => "", "secret-missing"],
    ["gives a list with an empty text", async () => [SECRET, ""], "secret-missing"],
  ])("one that %s is 503, logged as an error, and asked again next time", async (_, secret, code) => {
    const { deliver, receiver, log } = await mounted({ secret, mount: { source: "a" } });
    expectBare(await deliver(), 503, "retry-after");
    expectBare(await deliver(), 503, "retry-after");
    expect(receiver.stats()).toMatchObject({ kept: 0, refused: { [code]: 2 } });
    expect(log.of(code)).toMatchObject([{ level: "error", facts: { fix: expect.any(String) } }]);
  });

  test("one that is late is 503, and what it finds later serves the redelivery", async () => {
    const clock = fakeClock();
    let found = (_secret: string): void => {};
    const find = vi.fn(() => new Promise<string>((resolve) => (found = resolve)));
    const { deliver, receiver } = await mounted({ clock, secret: find, secretDeadlineMs: 300, mount: { source: "a" } });
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
