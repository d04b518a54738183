import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { dial, headersText, send } from "../support/http.ts";
import { changes, expectBare, mounted, type Setup } from "../support/mounted.ts";
import { failingInbox, unopenableInbox } from "../support/stub-inboxes.ts";

const afterParser: Setup["around"] = (own) => (req, res) => void req.resume().once("end", () => own(req, res));
const noSecret: Setup = { secret: undefined };
const lostSecret: Setup = { secret: () => Promise.reject(new Error("vault is sealed")) };
const zipped = { "Content-Encoding": "gzip" };
const handshake = { body: "", target: "/?validationToken=t-1" };

describe("where two answers would fit, the earlier row of the table wins:", () => {
  test("a foreign path before a wrong method", async () => {
    const { url } = await mounted({ mount: { path: "/hooks" } });
    expectBare(await send(`${url}/other`, { method: "DELETE" }), 404);
  });

  test("a wrong method before a missing signature", async () => {
    const { url } = await mounted();
    expectBare(await send(url, { method: "GET" }), 405, "allow");
  });

  test("a wrong method before everything that a receiver may lack", async () => {
    const { url, receiver } = await mounted({ ...noSecret, inbox: unopenableInbox() });
    await receiver.close();
    expectBare(await send(url, { method: "PUT", body: "x", headers: zipped }), 405, "allow");
  });

  test("a bad signature header before an encoding", async () => {
    const { url } = await mounted();
    expectBare(await send(url, { body: "x", headers: zipped }), 401);
  });

  test("a bad signature header before a body that is too long", async () => {
    const { url, receiver } = await mounted({ maxBodyBytes: 10 });
    expectBare(await send(url, { body: "x".repeat(11) }), 401);
    expect(receiver.stats().refused).toEqual({ "signature-missing": 1 });
  });

  test("a bad signature header before a secret that is missing", async () => {
    const { url } = await mounted(noSecret);
    expectBare(await send(url, { body: "x" }), 401);
  });

  test("a bad signature header before a body that a parser consumed", async () => {
    const { url } = await mounted({ around: afterParser });
    expectBare(await send(url, { body: "x" }), 401);
  });

  test("a bad signature header before closing and broken storage", async () => {
    const { url, receiver } = await mounted({ inbox: failingInbox() });
    await receiver.close();
    expectBare(await send(url, { body: "x" }), 401);
  });

  test("the signature's flaw before the timestamp's", async () => {
    const { url, receiver } = await mounted();
    await send(url, { headers: { "X-Aurinko-Signature": "ab", "X-Aurinko-Request-Timestamp": "soon" } });
    expect(receiver.stats().refused).toEqual({ "signature-malformed": 1 });
  });

  test("an encoding before a body that is too long", async () => {
    const { deliver } = await mounted({ maxBodyBytes: 10 });
    expectBare(await deliver("x".repeat(11), { headers: zipped }), 415);
  });

  test("an encoding before a body that a parser consumed", async () => {
    const { deliver } = await mounted({ around: afterParser });
    expectBare(await deliver("x", { headers: zipped }), 415);
  });

  test("an encoding before a secret that cannot be looked up", async () => {
    const { deliver } = await mounted(lostSecret);
    expectBare(await deliver("x", { headers: zipped }), 415);
  });

  test("a body that is too long before one that a parser consumed", async () => {
    const { deliver } = await mounted({ maxBodyBytes: 10, around: afterParser });
    expectBare(await deliver("x".repeat(11)), 413);
  });

  test("a body that is too long before one that is late", async () => {
    const { port, signed } = await mounted({ maxBodyBytes: 10 });
    const wire = await dial(port);
    wire.write(headersText({ ...signed("x"), "Content-Length": "11" }));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 413 /));
  });

  test("a body that is too long before a secret that is missing and a wrong signature", async () => {
    const { deliver } = await mounted({ ...noSecret, maxBodyBytes: 10 });
    expectBare(await deliver("x".repeat(11), { secret: "another" }), 413);
  });

  test("a late body before a secret that is missing", async () => {
    const clock = fakeClock();
    const { port, signed } = await mounted({ ...noSecret, clock });
    const wire = await dial(port);
    wire.write(headersText({ ...signed("x"), "Content-Length": "2" }));
    await eventually(() => expect(clock.waiting).toBe(1));
    await clock.advance(10_000);
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 408 /));
  });

  test("a body that a parser consumed before a secret that is missing", async () => {
    const { deliver } = await mounted({ ...noSecret, around: afterParser });
    expectBare(await deliver("x"), 500);
  });

  test.each([
    ["missing", noSecret],
    ["not to be looked up", lostSecret],
  ])("a secret that is %s before a wrong signature", async (_, setup) => {
    const { deliver } = await mounted(setup);
    expectBare(await deliver("x", { secret: "another" }), 503, "retry-after");
  });

  test("a secret that is missing before a handshake", async () => {
    const { deliver } = await mounted(noSecret);
    expectBare(await deliver("", handshake), 503, "retry-after");
  });

  test("a wrong signature before a handshake, good or bad", async () => {
    const { deliver } = await mounted();
    expectBare(await deliver("", { ...handshake, secret: "another" }), 401);
    expectBare(await deliver("", { target: "/?validationToken=", secret: "another" }), 401);
  });

  test("a wrong signature before closing", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.close();
    expectBare(await deliver(changes(), { secret: "another" }), 401);
  });

  test("a wrong signature before a tombstone", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(changes(), { secret: "another" }), 401);
  });

  test("a handshake before closing, a tombstone, a gate and broken storage", async () => {
    const { deliver, receiver } = await mounted({
      inbox: failingInbox(),
      prepare: (own) => void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("all of them")),
    });
    await receiver.unsubscribe(1001, "gone");
    expect(await deliver("", handshake)).toMatchObject({ status: 200, body: "t-1" });
    await receiver.close();
    expect(await deliver("", handshake)).toMatchObject({ status: 200, body: "t-1" });
  });

  test("a bad token before closing", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.close();
    expectBare(await deliver("", { target: "/?validationToken=" }), 400);
  });

  test("closing before a tombstone", async () => {
    const { deliver, receiver } = await mounted();
    await receiver.unsubscribe(1001, "gone");
    await receiver.close();
    expectBare(await deliver(), 503, "retry-after");
  });

  test("closing before the gate, which is not asked any more", async () => {
    const asked: unknown[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.unsubscribeWhen((delivery) => void asked.push(delivery)),
    });
    await receiver.close();
    expectBare(await deliver(), 503, "retry-after");
    expect(asked).toEqual([]);
  });

  test("a tombstone before broken storage", async () => {
    const { deliver, receiver } = await mounted({ inbox: failingInbox() });
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(), 422);
    expectBare(await deliver(changes({ subscription: 1002 })), 503, "retry-after");
  });

  test("the gate's decision before broken storage", async () => {
    const { deliver } = await mounted({
      inbox: failingInbox(),
      prepare: (own) => void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("gone")),
    });
    expectBare(await deliver(), 422);
  });

  test("a tombstone before the gate, which is not asked", async () => {
    const asked: unknown[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) => void own.unsubscribeWhen((delivery) => void asked.push(delivery)),
    });
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(), 422);
    expect(asked).toEqual([]);
  });

  test("an inbox that cannot be opened before the gate: its tombstones are not known", async () => {
    const { deliver } = await mounted({
      inbox: unopenableInbox(),
      prepare: (own) => void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("gone")),
    });
    expectBare(await deliver(), 503, "retry-after");
  });
});
