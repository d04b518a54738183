import { StorageError } from "hookline";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { dial, headersText, send } from "../support/http.ts";
import { changes, expectBare, mounted } from "../support/mounted.ts";
import { failingInbox, hungInbox, stubInbox, unopenableInbox } from "../support/stub-inboxes.ts";

describe("a request that is not stored gets a status and nothing else:", () => {
  test("another path than the mount's is 404, and the receiver never gets it", async () => {
    const { url, deliver, receiver } = await mounted({ mount: { path: "/hooks" } });
    expectBare(await deliver(changes(), { target: "/hooks/" }), 404);
    expectBare(await send(`${url}/other`, { method: "GET" }), 404);
    expect(receiver.stats().answered).toEqual({});
    expectBare(await deliver(changes(), { target: "/hooks?tenant=7" }), 200);
  });

  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])(
    "%s is 405, and says that POST is allowed",
    async (method) => {
      const { deliver, receiver } = await mounted();
      const answer = await deliver("", { method });
      expectBare(answer, 405, "allow");
      expect(answer.headers.allow).toBe("POST");
      expect(receiver.stats()).toMatchObject({ answered: { 405: 1 }, refused: { "method-not-allowed": 1 }, stored: 0 });
    },
  );

  test("an unsigned one is 401", async () => {
    const { url, receiver } = await mounted();
    expectBare(await send(url, { body: changes() }), 401);
    expect(receiver.stats()).toMatchObject({ answered: { 401: 1 }, refused: { "signature-missing": 1 }, stored: 0 });
  });

  test.each(["gzip", "br", "deflate", "identity, gzip", "GZIP"])("a body in %s is 415", async (encoding) => {
    const { deliver, receiver, log } = await mounted();
    expectBare(await deliver(changes(), { headers: { "Content-Encoding": encoding } }), 415);
    expect(receiver.stats().refused).toEqual({ "content-encoding": 1 });
    expect(log.of("content-encoding")).toMatchObject([
      { level: "error", facts: { fix: expect.stringMatching(/proxy/) } },
    ]);
  });

  test.each(["identity", "Identity", "identity, identity"])(
    "a body in %s is as it was sent, so it is stored",
    async (as) => {
      const { deliver } = await mounted();
      expectBare(await deliver(changes(), { headers: { "Content-Encoding": as } }), 200);
    },
  );

  test("a body over `maxBodyBytes` is 413, and the log says what to raise", async () => {
    const { deliver, receiver, log } = await mounted({ maxBodyBytes: 64 });
    expectBare(await deliver("x".repeat(65)), 413);
    expectBare(await deliver("x".repeat(64)), 200);
    expect(receiver.stats()).toMatchObject({ refused: { "body-too-large": 1 }, stored: 1 });
    expect(log.of("body-too-large")).toMatchObject([
      { level: "error", facts: { fix: expect.stringMatching(/maxBodyBytes/) } },
    ]);
  });

  test("a body that holds more than `maxInFlightBytes` is 503", async () => {
    const { deliver, receiver } = await mounted({ maxInFlightBytes: 64 });
    expectTryAgain(await deliver("x".repeat(65)));
    expect(receiver.stats().refused).toEqual({ "intake-full": 1 });
  });

  test("a body that is late is 408", async () => {
    const clock = fakeClock();
    const { port, signed, receiver } = await mounted({ clock });
    const wire = await dial(port);
    wire.write(headersText({ ...signed("whole"), "Content-Length": "5" }));
    wire.write("who");
    await eventually(() => expect(clock.waiting).toBe(1));
    await clock.advance(9_999);
    expect(wire.text()).toBe("");
    await clock.advance(1);
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 408 [^]*\r\n\r\n$/));
    expect(receiver.stats()).toMatchObject({ refused: { "body-late": 1 }, stored: 0 });
  });

  test("a body that a parser consumed before the mount is 500, and the log says exactly what to change", async () => {
    const { deliver, log, receiver } = await mounted({
      around: (own) => (req, res) => void req.resume().once("end", () => own(req, res)),
    });
    expectBare(await deliver(), 500);
    expect(receiver.stats().refused).toEqual({ "body-consumed": 1 });
    expect(log.of("body-consumed")).toMatchObject([
      { level: "error", facts: { fix: expect.stringMatching(/nodeReceiver\(receiver\)/) } },
    ]);
  });

  test("one that comes while no secret is configured is 503, and the log says what to set", async () => {
    const { deliver, log } = await mounted({ secret: undefined });
    expectTryAgain(await deliver());
    expect(log.of("secret-missing")).toMatchObject([
      { level: "error", facts: { fix: expect.stringMatching(/secret/) } },
    ]);
  });

  test("one with a wrong signature is 401, like an unsigned one: the answer does not distinguish them", async () => {
    const { url, deliver, receiver } = await mounted();
    const wrong = await deliver(changes(), { secret: "another secret" });
    const unsigned = await send(url, { body: changes() });
    expectBare(wrong, 401);
    expect({ ...wrong, headers: { ...wrong.headers, date: "" } }).toEqual({
      ...unsigned,
      headers: { ...unsigned.headers, date: "" },
    });
    expect(receiver.stats().refused).toEqual({ "signature-wrong": 1, "signature-missing": 1 });
  });

  test("one that comes after close() is 503", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.close();
    expectTryAgain(await deliver());
    expect(receiver.stats()).toMatchObject({ refused: { closing: 1 }, stored: 0 });
  });

  test("one of an unwanted subscription is 422, and is counted and logged", async () => {
    const { deliver, log, receiver } = await mounted();
    await receiver.unsubscribe(1001, "account deleted");
    expectBare(await deliver(), 422);
    expect(receiver.stats()).toMatchObject({ answered: { 422: 1 }, stored: 0 });
    expect(log.of("unwanted")).toMatchObject([{ facts: { subscription: 1001, reason: "account deleted" } }]);
  });

  test.each([
    ["storage-failed", failingInbox()],
    ["storage-failed", unopenableInbox()],
    ["inbox-full", stubInbox(() => ({ store: async (all) => all.map(() => new StorageError("inbox-full", "Full.")) }))],
  ])("one that could not be stored is 503 (%s)", async (code, inbox) => {
    const { deliver, receiver } = await mounted({ inbox });
    expectTryAgain(await deliver());
    expect(receiver.stats()).toMatchObject({ refused: { [code]: 1 }, stored: 0 });
  });

  test("one that was not stored within `storeTimeoutMs` is 503", async () => {
    const clock = fakeClock();
    const { deliver, receiver } = await mounted({ clock, inbox: hungInbox(), storeTimeoutMs: 700, gaps: false });
    const answer = deliver();
    await eventually(() => expect(receiver.stats().secrets).toHaveLength(1));
    await eventually(() => expect(clock.waiting).toBe(2));
    await clock.advance(700);
    expectTryAgain(await answer);
    expect(receiver.stats().refused).toEqual({ "storage-late": 1 });
  });
});

describe("a signed request that is stored", () => {
  test("gets 200 and an empty body", async () => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver(), 200);
    expect(receiver.stats()).toMatchObject({ answered: { 200: 1 }, refused: {}, stored: 1 });
  });

  test("gets it whether or not the receiver was started, and is handled after start()", async () => {
    const seen: string[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.on("email.created", (event) => void seen.push(event.id)),
    });
    expectBare(await deliver(), 200);
    expect(receiver.stats().role).toBe("receiving");
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["m-1"]);
  });

  test("is stored before it is answered", async () => {
    let release = (): void => {};
    const waited = new Promise<void>((resolve) => (release = resolve));
    const inbox = stubInbox((own) => ({ store: (all) => waited.then(() => own.store(all)) }));
    const { deliver, receiver } = await mounted({ inbox });
    let answered = false;
    const answer = deliver().finally(() => (answered = true));
    await eventually(() => expect(receiver.stats().secrets).toHaveLength(1));
    expect(await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, "still open"))])).toBe(
      "still open",
    );
    expect(answered).toBe(false);
    release();
    expectBare(await answer, 200);
  });
});

function expectTryAgain(answer: Awaited<ReturnType<typeof send>>): void {
  expectBare(answer, 503, "retry-after");
  expect(answer.headers["retry-after"]).toMatch(/^[1-9]\d*$/);
}
