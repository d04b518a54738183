import { describe, expect, test } from "vitest";
import { createInFlightBytes } from "../../src/ingest/body-limits.ts";
import { eventually } from "../support/eventually.ts";
import { dial, headersText, send, type Wire } from "../support/http.ts";
import { changes, expectBare, mounted, type Mounted } from "../support/mounted.ts";

const MIB = 1024 * 1024;
const chunked = { "Transfer-Encoding": "chunked" };

describe("a body of 1 MiB", () => {
  test.each([
    ["with its length declared", {}],
    ["without", chunked],
  ])("is taken, %s", async (_, headers) => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver("x".repeat(MIB), { headers }), 200);
    expect(receiver.stats().stored).toBe(1);
  });

  test("and one byte is refused for the length it declares, before a byte of it came", async () => {
    const { port, signed, receiver } = await mounted();
    const wire = await dial(port);
    wire.write(headersText({ ...signed("x"), "Content-Length": String(MIB + 1) }));
    await expectAnswer(wire, 413);
    expect(receiver.stats().refused).toEqual({ "body-too-large": 1 });
  });

  test("and one byte is refused while it streams, before its end", async () => {
    const { port, signed, receiver, bytesReceived: taken } = await mounted();
    const fitting = `${headersText({ ...signed("x"), ...chunked })}100001\r\n${"x".repeat(MIB)}`;
    const wire = await dial(port);
    wire.write(fitting);
    await eventually(() => expect(taken()).toBe(fitting.length));
    expect(wire.text()).toBe("");
    wire.write("x");
    await expectAnswer(wire, 413);
    expect(receiver.stats()).toMatchObject({ refused: { "body-too-large": 1 }, stored: 0 });
  });

  test("and more stays refused where a larger limit is not set, whatever the sender says of its length", async () => {
    const { port, signed } = await mounted({ maxBodyBytes: 100 });
    for (const length of ["99999999999999999999", "101"]) {
      const wire = await dial(port);
      wire.write(headersText({ ...signed("x"), "Content-Length": length }));
      await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 4(00|13) /));
    }
  });
});

/** A signed request of which all but the last byte has been sent. */
async function allButLast({ port, signed }: Mounted, body: string): Promise<Wire> {
  const wire = await dial(port);
  wire.write(headersText({ ...signed(body), "Content-Length": String(body.length) }));
  wire.write(body.slice(0, -1));
  return wire;
}

describe("bodies that are being read", () => {
  test("share `maxInFlightBytes`: a body that does not fit beside them is 503, and fits when they are read", async () => {
    const own = await mounted({ maxInFlightBytes: 1_000 });
    const first = await allButLast(own, "a".repeat(900));
    await eventually(async () => expectBare(await own.deliver("b".repeat(200)), 503, "retry-after"));
    expect(own.receiver.stats().refused["intake-full"]).toBeGreaterThan(0);
    expectBare(await own.deliver("c".repeat(100)), 200);
    first.write("a");
    await expectAnswer(first, 200);
    expectBare(await own.deliver("d".repeat(1_000)), 200);
  });

  test("do not hold up a handshake when there is no room", async () => {
    const own = await mounted({ maxInFlightBytes: 1_000 });
    await allButLast(own, "a".repeat(1_001));
    await eventually(async () => expectBare(await own.deliver("b"), 503, "retry-after"));
    expect(await own.deliver("", { target: "/?validationToken=t" })).toMatchObject({ status: 200, body: "t" });
  });

  test("release their bytes however they end", async () => {
    const own = await mounted({ maxInFlightBytes: 1_000, maxBodyBytes: 900, secret: "x" });
    const { deliver, url, receiver, signed } = own;
    const whole = { secret: "x" };
    for (let round = 0; round < 5; round += 1) {
      expectBare(await deliver("a".repeat(800), { secret: "another" }), 401);
      expectBare(await deliver("a".repeat(901), { ...whole, headers: chunked }), 413);
      expectBare(await send(url, { body: "a".repeat(800) }), 401);
      const cut = await dial(own.port);
      cut.write(headersText({ ...signed("a"), "Content-Length": "900" }) + "a".repeat(800));
      await eventually(async () => expectBare(await deliver("b".repeat(300), whole), 503, "retry-after"));
      cut.socket.destroy();
      await eventually(() => expect(receiver.stats().refused["body-cut-off"]).toBe(round + 1));
    }
    expectBare(await deliver("c".repeat(900), whole), 200);
  });

  test("leave no room for an ordinary one, of 16 KiB or a 64th of the limit, before the limit itself is reached", () => {
    for (const [limit, ordinary] of [
      [10 * MIB, 16_384],
      [640, 10],
    ] as const) {
      const inFlight = createInFlightBytes(limit);
      expect(inFlight.isFull).toBe(false);
      inFlight.reserve(limit - ordinary);
      expect(inFlight.isFull).toBe(false);
      inFlight.reserve(1);
      expect(inFlight.isFull).toBe(true);
      inFlight.release(1);
      expect(inFlight.isFull).toBe(false);
    }
  });

  test("get each its own answer: a long one beside many short ones", async () => {
    const own = await mounted();
    const slow = await allButLast(own, "x".repeat(MIB));
    const answers = await Promise.all(Array.from({ length: 50 }, () => own.deliver(changes())));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    slow.write("x");
    await expectAnswer(slow, 200);
  });
});

async function expectAnswer(wire: Wire, status: number): Promise<void> {
  await eventually(() => expect(wire.text()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\n\\r\\n$`)));
}
