import { describe, expect, test, vi } from "vitest";
import { eventually } from "./support/eventually.ts";
import { fakeClock } from "./support/fake-clock.ts";
import { dial, headersText, pour, send, type Wire } from "./support/http.ts";
import { changes, expectBare, mounted, SECRET, type Mounted } from "./support/mounted.ts";
import { failingInbox } from "./support/stub-inboxes.ts";

const MB = 1_000_000;
/** A guard against a test that hangs, not a claim about speed. */

/** As a stranger can make them: of the right form, and of no secret. */
function plausible(at: Date): Record<string, string> {
  return {
    "X-Aurinko-Request-Timestamp": String(Math.floor(at.getTime() / 1_000)),
    "X-Aurinko-Signature": "0123456789abcdef".repeat(4),
  };
}

/** Many connections that have sent a head and one byte. */
async function crowd({ port }: Mounted, count: number, head: string): Promise<Wire[]> {
  const wires = await Promise.all(Array.from({ length: count }, () => dial(port)));
  for (const wire of wires) wire.write(`${head}x`);
  return wires;
}

describe("a crowd of strangers does not keep the service out:", () => {
  test("a thousand connections that are not signed, and send a byte now and then", async () => {
    const own = await mounted();
    const wires = await crowd(own, 1_000, headersText({ "Content-Length": "100000" }));
    for (let round = 0; round < 5; round += 1) {
      for (const wire of wires) wire.write("x");
      expectBare(await own.deliver(), 200);
    }
    // Each had its answer at once, and none holds its connection for as long as it likes.
    await Promise.all(wires.map(({ closed }) => closed));
    expect(new Set(wires.map((wire) => wire.text().slice(0, 13)))).toEqual(new Set(["HTTP/1.1 401 "]));
    expect(own.receiver.stats()).toMatchObject({ stored: 5, answered: { 200: 5, 401: 1_000 } });
  });

  test("a thousand connections with plausible headers and slow bodies", async () => {
    const clock = fakeClock();
    const own = await mounted({ clock });
    const before = process.memoryUsage();
    const head = headersText({ ...plausible(clock.date()), "Content-Length": String(1024 * 1024) });
    const wires = await crowd(own, 1_000, head);
    await eventually(() => expect(clock.waiting).toBe(1_000));
    for (let round = 0; round < 5; round += 1) {
      for (const wire of wires) wire.write("x");
      expectBare(await own.deliver(), 200);
    }
    // What a length promises is not set aside for it.
    expect(process.memoryUsage().arrayBuffers - before.arrayBuffers).toBeLessThan(100 * MB);
    expect(own.receiver.stats().answered).toEqual({ 200: 5 });
    await clock.advance(10_000);
    await Promise.all(wires.map(({ closed }) => closed));
    expect(new Set(wires.map((wire) => wire.text().slice(0, 13)))).toEqual(new Set(["HTTP/1.1 408 "]));
    expect(own.receiver.stats()).toMatchObject({ stored: 5, refused: { "body-late": 1_000 } });
  });

  test("connections that fill `maxInFlightBytes` with slow bodies, which is theirs no longer than `bodyTimeoutMs`", async () => {
    const clock = fakeClock();
    const own = await mounted({ clock, maxInFlightBytes: 10_000 });
    const head = headersText({ ...plausible(clock.date()), "Content-Length": "1000" });
    await crowd(own, 10, head + "x".repeat(998));
    await eventually(async () => expectBare(await own.deliver(), 503, "retry-after"));
    await clock.advance(10_000);
    await eventually(async () => expectBare(await own.deliver(), 200));
  });

  test("sources made up by the thousand are forgotten again", async () => {
    const find = vi.fn(() => "short");
    const own = await mounted({ secret: find });
    const headers = own.signed(changes(), { secret: "another secret" });
    const ask = (source: string) =>
      own.receiver.receive({ method: "POST", url: "/", headers, source, body: Buffer.from(changes()) });
    for (let count = 0; count < 1_500; count += 1) expect(await ask(`made-up-${count}`)).toMatchObject({ status: 401 });
    find.mockClear();
    await ask("made-up-1499");
    expect(find).not.toHaveBeenCalled();
    await ask("made-up-0");
    expect(find).toHaveBeenCalledTimes(1);
  });
});

describe("a body as long as the sender likes costs nothing:", () => {
  test.each<[string, boolean, string]>([
    ["of 1 GB without its length, streamed", true, "413"],
    ["of 1 GB with its length", false, "413"],
  ])("%s", async (_, chunked, status) => {
    const own = await mounted();
    const framing: Record<string, string> = chunked
      ? { "Transfer-Encoding": "chunked" }
      : { "Content-Length": String(1_000 * MB) };
    const before = process.memoryUsage().rss;
    const wire = await dial(own.port);
    wire.write(headersText({ ...plausible(new Date()), ...framing }));
    await pour(wire, 1_000 * MB, { chunked });
    await wire.closed;
    expect(wire.text()).toContain(`HTTP/1.1 ${status} `);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MB);
    // 1 MiB, and the little that is drained before the connection is cut.
    expect(own.bytesReceived()).toBeLessThan(1.5 * MB);
  });

  test("300 MB after a refusal that came before the body: it is not drained", async () => {
    const own = await mounted();
    const wire = await dial(own.port);
    wire.write(headersText({ "Content-Length": String(300 * MB) }));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 /));
    await pour(wire, 300 * MB);
    await wire.closed;
    expect(own.bytesReceived()).toBeLessThan(0.25 * MB);
  });

  test("a hundred bodies of 10 MB that are refused at once, none of them drained", async () => {
    const own = await mounted();
    const wires = await Promise.all(Array.from({ length: 100 }, () => dial(own.port)));
    await Promise.all(
      wires.map(async (wire) => {
        wire.write(headersText({ "Transfer-Encoding": "chunked" }));
        await pour(wire, 10 * MB, { chunked: true });
        await wire.closed;
      }),
    );
    expect(own.bytesReceived()).toBeLessThan(wires.length * 0.25 * MB);
    expectBare(await own.deliver(), 200);
  });
});

test("the log of a bad day holds no secret, no signature, no token, no content and no address", async () => {
  const own = await mounted({
    maxBodyBytes: 300,
    attempts: 1,
    prepare: (receiver) =>
      void receiver
        .on("email", () => {
          throw new Error("the handler is broken");
        })
        .unsubscribeWhen(({ subscription }) => {
          if (subscription === 5) throw new Error("the gate is broken");
        }),
  });
  const failing = await mounted({ inbox: failingInbox() });
  const unknown = await mounted({ secret: () => Promise.reject(new Error("the vault is sealed")) });
  await own.receiver.start();
  for (const { deliver } of [own, failing, unknown]) {
    await deliver();
    await deliver(changes({ subscription: 5 }));
    await deliver("ann@example.com wrote no JSON");
    await deliver(changes(), { secret: "another secret of somebody" });
    await deliver(changes(), { at: new Date(0) });
    await deliver(changes(), { headers: { "Content-Encoding": "gzip" } });
    await deliver("x".repeat(301));
    await deliver("", { target: "/?validationToken=a-token-of-the-service" });
    await deliver("", { target: `/?validationToken=${"long-token-".repeat(100)}` });
    await deliver(changes(), { target: "/ann@example.com?validationToken=a-token-beside-a-body" });
  }
  await own.receiver.idle();
  await own.receiver.unsubscribe(1001, "gone");
  await own.deliver();
  const codes = [own, failing, unknown].flatMap(({ log }) => log.lines.map(({ facts }) => facts["code"]));
  for (const code of [
    "signature-wrong",
    "timestamp-stale",
    "content-encoding",
    "body-too-large",
    "token-bad",
    "gate-failed",
    "storage-failed",
    "secret-lookup-failed",
    "unwanted",
  ])
    expect(codes).toContain(code);
  for (const { log } of [own, failing, unknown]) {
    const text = log.text();
    for (const hidden of [
      SECRET,
      "another secret of somebody",
      "ann@example.com",
      "a-token",
      "long-token",
      "127.0.0.1",
      changes(),
    ])
      expect(text).not.toContain(hidden);
    expect(text).not.toMatch(/[0-9a-f]{64}/i);
  }
});

test("what is not signed is never acknowledged and never deletes, whatever it says", async () => {
  const { url, receiver } = await mounted({
    prepare: (own) => void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("all of them")),
  });
  await receiver.unsubscribe(1001, "gone");
  const hints = [
    {},
    { Authorization: "Bearer x" },
    { "X-Hub-Signature-256": "sha256=00" },
    { "X-Forwarded-For": "::1" },
  ];
  for (const headers of [...hints, plausible(new Date())])
    for (const target of ["/", "/?validationToken=t", "/health", "/?secret=x"])
      for (const body of ["", changes(), "{}"]) expectBare(await send(url + target, { body, headers }), 401);
  expect(receiver.stats()).toMatchObject({ stored: 0, answered: { 401: 60 } });
});
