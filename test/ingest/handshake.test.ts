import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import type { Answered } from "../support/http.ts";
import { changes, expectBare, mounted } from "../support/mounted.ts";
import { failingInbox, hungInbox, unopenableInbox } from "../support/stub-inboxes.ts";

const token = "9a3c-token-of-the-handshake";

function expectToken(answer: Answered, text: string): void {
  expect(answer).toMatchObject({ status: 200, body: text });
  expect(answer.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "x-content-type-options": "nosniff",
    "content-length": String(Buffer.byteLength(text)),
  });
}

describe("the verification handshake", () => {
  test.each([
    ["a plain token", token, token],
    ["plus signs, which are spaces in a form", "a+b+c-handshake", "a b c-handshake"],
    ["encoded spaces", "a%20b-handshake", "a b-handshake"],
    ["encoded plus signs", "a%2Bb-handshake", "a+b-handshake"],
    ["slashes and equal signs, bare and encoded", "a/b%2Fc==%3D", "a/b/c==="],
    ["a zero byte", "a%00b-handshake", "a\u0000b-handshake"],
    ["line breaks, which do not become headers", "a%0d%0aSet-Cookie:%20x=1", "a\r\nSet-Cookie: x=1"],
    ["letters beyond ASCII", "%E2%9C%93-handshake", "\u2713-handshake"],
    ["bytes that are not UTF-8", "%ff%fe-handshake", "\ufffd\ufffd-handshake"],
    ["a percent sign that encodes nothing", "100%-handshake", "100%-handshake"],
    ["one that was encoded twice, decoded once", "a%2520b-handshake", "a%20b-handshake"],
    ["1,024 characters", "x".repeat(1_024), "x".repeat(1_024)],
  ])("is answered with exactly the token: %s", async (_, sent, expected) => {
    const { deliver, receiver } = await mounted();
    expectToken(await deliver("", { target: `/?validationToken=${sent}` }), expected);
    expect(receiver.stats()).toMatchObject({ answered: { 200: 1 }, stored: 0, refused: {} });
  });

  test("is plain text that no browser takes for a page, even where the token is markup", async () => {
    const { deliver } = await mounted();
    const page = "<html><script>alert(document.domain)</script></html>";
    const answer = await deliver("", {
      target: `/?validationToken=${encodeURIComponent(page)}`,
      headers: { Accept: "text/html" },
    });
    expectToken(answer, page);
  });

  test.each([
    ["empty", "validationToken="],
    ["without a value", "validationToken"],
    ["of 1,025 characters", `validationToken=${"x".repeat(1_025)}`],
    ["of 10 kB", `validationToken=${"x".repeat(10_240)}`],
  ])("is 400 for a token that is %s", async (_, query) => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver("", { target: `/?${query}` }), 400);
    expect(receiver.stats()).toMatchObject({ refused: { "token-bad": 1 }, stored: 0 });
  });

  test.each([
    ["before it", `tenant=7&validationToken=${token}`],
    ["after it", `validationToken=${token}&tenant=7`],
    ["with a part of its name", `xvalidationToken=no&validationToken=${token}&validationTokens=no`],
    ["with the token again, where the first one counts", `validationToken=${token}&validationToken=second`],
  ])("finds the token where the URL has a query of its own: %s", async (_, query) => {
    const { deliver } = await mounted({ mount: { path: "/hooks/a" } });
    expectToken(await deliver("", { target: `/hooks/a?${query}` }), token);
  });

  test("counts the first token even when it is the bad one", async () => {
    const { deliver } = await mounted();
    expectBare(await deliver("", { target: `/?validationToken=&validationToken=${token}` }), 400);
  });

  test("is a matter of the parameter's exact name: anything else is a delivery without a body", async () => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver("", { target: `/?ValidationToken=${token}` }), 200);
    expectBare(await deliver("", { target: `/validationToken=${token}` }), 200);
    expectBare(await deliver("", { target: `/?x=validationToken=${token}` }), 200);
    expect(receiver.stats().stored).toBe(3);
  });

  test("is answered in chunks of nothing too: an empty body is an empty body", async () => {
    const { deliver } = await mounted();
    const target = `/?validationToken=${token}`;
    expectToken(await deliver("", { target, headers: { "Transfer-Encoding": "chunked" } }), token);
  });

  test("needs a signature, over the empty body", async () => {
    const { deliver, receiver } = await mounted();
    const target = `/?validationToken=${token}`;
    expectBare(await deliver("", { target, secret: "another secret" }), 401);
    expectBare(await deliver("", { target, headers: { "X-Aurinko-Signature": "" } }), 401);
    expect(receiver.stats().answered).toEqual({ 401: 2 });
  });

  test("needs no room, no storage and no opened inbox", async () => {
    for (const inbox of [failingInbox(), unopenableInbox(), hungInbox(), await fullInbox()]) {
      const { deliver } = await mounted({ inbox });
      expectToken(await deliver("", { target: `/?validationToken=${token}` }), token);
    }
  });

  test("is answered while the receiver closes, and after it has closed", async () => {
    let release = (): void => {};
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.on("email", () => new Promise<void>((resolve) => (release = resolve))),
    });
    await receiver.start();
    expectBare(await deliver(), 200);
    const closing = receiver.close();
    const target = `/?validationToken=${token}`;
    expectToken(await deliver("", { target }), token);
    release();
    await closing;
    expectToken(await deliver("", { target }), token);
    expectBare(await deliver(), 503, "retry-after");
  });
});

describe("a token beside a body", () => {
  test("does not swallow the delivery: it is stored, and answered with the token", async () => {
    const seen: string[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.on("email", (event) => void seen.push(event.id)),
    });
    await receiver.start();
    expectToken(await deliver(changes(), { target: `/?validationToken=${token}` }), token);
    await receiver.idle();
    expect(seen).toEqual(["m-1"]);
  });

  test.each(["", "x".repeat(1_025)])("is ignored when it is bad", async (bad) => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver(changes(), { target: `/?validationToken=${bad}` }), 200);
    expect(receiver.stats()).toMatchObject({ stored: 1, refused: {} });
  });

  test("changes nothing where the delivery is not stored", async () => {
    const target = `/?validationToken=${token}`;
    const { deliver, receiver } = await mounted({ inbox: failingInbox() });
    expectBare(await deliver(changes(), { target }), 503, "retry-after");
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(changes(), { target }), 422);
    await receiver.close();
    expectBare(await deliver(changes(), { target }), 503, "retry-after");
  });
});

async function fullInbox() {
  const inbox = memoryInbox({ maxJobs: 1 });
  const { deliver } = await mounted({ inbox });
  expectBare(await deliver(), 200);
  expectBare(await deliver(), 503, "retry-after");
  return inbox;
}
