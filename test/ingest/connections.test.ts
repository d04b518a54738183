import { Agent } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, send } from "../support/http.ts";
import { changes, expectBare, mounted, type Setup } from "../support/mounted.ts";
import { failingInbox } from "../support/stub-inboxes.ts";

/** One connection, stored. */
function keepAliveAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

describe("a connection", () => {
  test.each<[string, number, Setup, object]>([
    ["a wrong signature", 401, {}, { secret: "another secret" }],
    ["storage that failed", 503, { inbox: failingInbox() }, {}],
    ["no secret", 503, { secret: undefined }, {}],
  ])("goes on where the body was read before the refusal, for %s", async (_, status, setup, how) => {
    const { deliver, connections } = await mounted(setup);
    const agent = keepAliveAgent();
    for (let round = 1; round <= 3; round += 1) {
      const answer = await deliver(changes(), { ...how, agent });
      expect(answer).toMatchObject({ status, headers: { connection: "keep-alive" } });
    }
    expect(connections()).toBe(1);
  });

  test.each<[string, number, Setup, object]>([
    ["a wrong method", 405, {}, { method: "PUT" }],
    ["a stale timestamp", 401, {}, { at: new Date(0) }],
    ["an encoding", 415, {}, { headers: { "Content-Encoding": "gzip" } }],
    ["a body that is too long", 413, { maxBodyBytes: 10 }, {}],
  ])(
    "stays open after a request that had arrived whole, though its body was not read, for %s",
    async (_, status, setup, how) => {
      const { deliver, connections } = await mounted(setup);
      const agent = keepAliveAgent();
      for (let round = 1; round <= 3; round += 1) {
        const answer = await deliver(changes(), { ...how, agent });
        expect(answer).toMatchObject({ status, headers: { connection: "keep-alive" } });
      }
      expect(connections()).toBe(1);
    },
  );

  test("carries the next request after a refusal, in the order they were sent", async () => {
    const { port, signed, receiver } = await mounted();
    const body = changes();
    const length = { "Content-Length": String(body.length) };
    const wire = await dial(port);
    const bad = headersText({ ...signed(body, { secret: "another secret" }), ...length }) + body;
    const good = headersText({ ...signed(body), ...length }) + body;
    wire.write(bad + good + bad + good);
    await eventually(() => expect(wire.text().match(/HTTP\/1\.1 \d+/g)).toHaveLength(4));
    expect(wire.text().match(/HTTP\/1\.1 \d+/g)).toEqual([401, 200, 401, 200].map((status) => `HTTP/1.1 ${status}`));
    expect(receiver.stats()).toMatchObject({ stored: 2, answered: { 200: 2, 401: 2 } });
  });

  test("is closed after a refusal whose body had not arrived, and the answer says so", async () => {
    const { port } = await mounted();
    const wire = await dial(port);
    wire.write(headersText({ "Content-Length": "10" }));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 [^]*connection: close/i));
    wire.write("0123456789");
    await wire.closed;
    expect(wire.text().match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test("is not held open by a client that waits with its body after a refusal", async () => {
    const { port } = await mounted();
    const wire = await dial(port);
    wire.write(headersText({ "Transfer-Encoding": "chunked" }));
    await wire.closed;
    expect(wire.text()).toMatch(/^HTTP\/1\.1 401 /);
  });

  test("that ends half-way through a body leaves nothing behind but a counter", async () => {
    const { port, signed, receiver, deliver, log, bytesReceived: taken } = await mounted();
    const body = changes();
    const half = headersText({ ...signed(body), "Content-Length": String(body.length) }) + body.slice(0, -5);
    const wire = await dial(port);
    wire.write(half);
    await eventually(() => expect(taken()).toBe(half.length));
    wire.socket.destroy();
    await eventually(() => expect(receiver.stats().refused).toEqual({ "body-cut-off": 1 }));
    expect(receiver.stats()).toMatchObject({ stored: 0, secrets: [] });
    expect(log.of("body-cut-off")).toMatchObject([{ level: "warn", facts: { status: 408 } }]);
    expectBare(await deliver(), 200);
  });

  test("that ends half-way through chunks leaves nothing behind either", async () => {
    const { port, signed, receiver, bytesReceived: taken } = await mounted();
    const half = headersText({ ...signed("xxxx"), "Transfer-Encoding": "chunked" }) + "4\r\nxxxx\r\n";
    const wire = await dial(port);
    wire.write(half);
    await eventually(() => expect(taken()).toBe(half.length));
    wire.socket.destroy();
    await eventually(() => expect(receiver.stats().refused).toEqual({ "body-cut-off": 1 }));
    expect(receiver.stats().stored).toBe(0);
  });

  test("whose client stops sending, but still listens, gets no answer that acknowledges", async () => {
    const { port, signed, receiver } = await mounted();
    const wire = await dial(port);
    wire.write(headersText({ ...signed("x"), "Content-Length": "10" }) + "x");
    wire.socket.end();
    await wire.closed;
    expect(wire.text()).not.toMatch(/HTTP\/1\.1 (2|422)/);
    expect(receiver.stats().stored).toBe(0);
  });

  test("may ask before it sends its body (Expect: 100-continue)", async () => {
    const { port, signed, receiver } = await mounted();
    const body = changes();
    const wire = await dial(port);
    wire.write(headersText({ ...signed(body), "Content-Length": String(body.length), Expect: "100-continue" }));
    await eventually(() => expect(wire.text()).toBe("HTTP/1.1 100 Continue\r\n\r\n"));
    wire.write(body);
    await eventually(() => expect(wire.text()).toMatch(/100 Continue\r\n\r\nHTTP\/1\.1 200 /));
    expect(receiver.stats().stored).toBe(1);
  });

  test("that asks before it sends is refused without its body when it is not signed", async () => {
    const { port } = await mounted();
    const wire = await dial(port);
    wire.write(headersText({ "Content-Length": "10", Expect: "100-continue" }));
    await eventually(() => expect(wire.text()).toMatch(/HTTP\/1\.1 401 [^]*connection: close/i));
  });

  test("may bring a body in as many pieces as it likes", async () => {
    const { port, signed, receiver } = await mounted();
    const body = changes();
    const wire = await dial(port);
    wire.socket.setNoDelay(true);
    for (const character of headersText({ ...signed(body), "Content-Length": String(body.length) }) + body) {
      wire.write(character);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 200 /));
    expect(receiver.stats().stored).toBe(1);
  });

  test("in chunks is a body like any other", async () => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver(changes(), { headers: { "Transfer-Encoding": "chunked" } }), 200);
    expect(receiver.stats().stored).toBe(1);
  });

  test("brings a hundred deliveries at once over one server, and each is stored", async () => {
    const { deliver, receiver, url, signed } = await mounted();
    const bodies = Array.from({ length: 100 }, (_, at) => changes({ subscription: at }));
    const answers = await Promise.all(bodies.map((body) => deliver(body)));
    expect(answers.map(({ status }) => status)).toEqual(bodies.map(() => 200));
    expect(await send(url, { body: bodies[0] ?? "", headers: signed(bodies[1] ?? "") })).toMatchObject({ status: 401 });
    expect(receiver.stats().stored).toBe(100);
  });
});
