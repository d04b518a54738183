import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { dial, headersText, send } from "../support/http.ts";
import { changes, expectBare, mounted, SECRET } from "../support/mounted.ts";
import { signatureOf } from "../support/sign.ts";

const SIGNATURE = "X-Aurinko-Signature";
const TIMESTAMP = "X-Aurinko-Request-Timestamp";
const hex = "0123456789abcdef".repeat(4);

/** Signed over this very text, so that nothing but the text itself can be wrong. */
function signedAt(timestamp: string): Record<string, string> {
  return { [TIMESTAMP]: timestamp, [SIGNATURE]: signatureOf(changes(), { secret: SECRET, timestamp }) };
}

describe("401 before the body is read, and the cause in the counters alone, for a signature", () => {
  test.each<[string, string, string | string[]]>([
    ["that is empty", "signature-missing", ""],
    ["that is white space", "signature-missing", "   "],
    ["that came twice", "signature-doubled", [hex, hex]],
    ["that came twice, once empty", "signature-doubled", ["", hex]],
    ["of two in one header", "signature-doubled", `${hex},${hex}`],
    ["of no hex digits", "signature-malformed", "z".repeat(64)],
    ["with one character that is no hex digit", "signature-malformed", `${hex.slice(0, -1)}g`],
    ["with a letter beyond ASCII", "signature-malformed", `${hex.slice(0, -1)}\u00e1`],
    ["that is one digit short", "signature-malformed", hex.slice(1)],
    ["that is one digit long", "signature-malformed", `${hex}0`],
    ["that is half of one", "signature-malformed", hex.slice(32)],
    ["in base64", "signature-malformed", Buffer.from(hex, "hex").toString("base64")],
    ["with a prefix", "signature-malformed", `sha256=${hex}`],
    ["of 8 kB", "signature-malformed", "a".repeat(8_192)],
  ])("%s", async (_, code, value) => {
    const { deliver, receiver } = await mounted();
    expectBare(await deliver(changes(), { headers: { [SIGNATURE]: value } }), 401);
    expect(receiver.stats()).toMatchObject({ refused: { [code]: 1 }, stored: 0 });
  });

  test("that is not there", async () => {
    const { url, receiver } = await mounted();
    expectBare(await send(url, { body: changes(), headers: { [TIMESTAMP]: "1" } }), 401);
    expect(receiver.stats().refused).toEqual({ "signature-missing": 1 });
  });

  test("that is missing, while the body never comes", async () => {
    const { port } = await mounted();
    const wire = await dial(port);
    wire.write(headersText({ "Content-Length": "1000" }));
    await eventually(() => expect(wire.text()).toMatch(/^HTTP\/1\.1 401 [^]*connection: close[^]*\r\n\r\n$/i));
  });

  test("of another body, of another secret, of none", async () => {
    const { deliver, signed, receiver } = await mounted();
    expectBare(await deliver(changes(), { headers: signed("another body") }), 401);
    expectBare(await deliver(changes(), { headers: signed(changes(), { secret: "another secret" }) }), 401);
    expectBare(await deliver(changes(), { headers: { [SIGNATURE]: "0".repeat(64) } }), 401);
    expect(receiver.stats().refused).toEqual({ "signature-wrong": 3 });
  });
});

describe("401 before the body is read for a timestamp", () => {
  const now = Math.floor(fakeClock().now() / 1_000);
  test.each<[string, string, string]>([
    ["that is empty", "timestamp-missing", ""],
    ["in milliseconds", "timestamp-malformed", String(now * 1_000)],
    ["with a fraction", "timestamp-malformed", `${now}.0`],
    ["with a sign", "timestamp-malformed", `+${now}`],
    ["as a date", "timestamp-malformed", "2026-05-06T07:08:09Z"],
    ["in hex", "timestamp-malformed", "0x6553f100"],
    ["of 8 kB", "timestamp-malformed", "1".repeat(8_192)],
    ["one second older than a week", "timestamp-stale", String(now - 604_801)],
    ["of 1970", "timestamp-stale", "0"],
    ["one second further ahead than five minutes", "timestamp-future", String(now + 301)],
    ["of the far future", "timestamp-future", "999999999999"],
  ])("%s", async (_, code, timestamp) => {
    const { deliver, receiver } = await mounted({ clock: fakeClock() });
    expectBare(await deliver(changes(), { headers: signedAt(timestamp) }), 401);
    expect(receiver.stats()).toMatchObject({ refused: { [code]: 1 }, stored: 0 });
  });

  test("that came twice", async () => {
    const { deliver, receiver } = await mounted({ clock: fakeClock() });
    expectBare(await deliver(changes(), { headers: { [TIMESTAMP]: [String(now), String(now)] } }), 401);
    expect(receiver.stats().refused).toEqual({ "timestamp-doubled": 1 });
  });

  test("that is not there", async () => {
    const { url, receiver } = await mounted();
    expectBare(await send(url, { body: changes(), headers: { [SIGNATURE]: hex } }), 401);
    expect(receiver.stats().refused).toEqual({ "timestamp-missing": 1 });
  });

  test("older than a `maxAgeSeconds` of one's own", async () => {
    const { deliver, receiver } = await mounted({ clock: fakeClock(), maxAgeSeconds: 60 });
    expectBare(await deliver(changes(), { headers: signedAt(String(now - 60)) }), 200);
    expectBare(await deliver(changes(), { headers: signedAt(String(now - 61)) }), 401);
    expect(receiver.stats().refused).toEqual({ "timestamp-stale": 1 });
  });
});

describe("200 for", () => {
  const now = Math.floor(fakeClock().now() / 1_000);

  test("a signature in upper case", async () => {
    const { deliver, signed } = await mounted();
    const headers = { [SIGNATURE]: String(signed(changes())[SIGNATURE]).toUpperCase() };
    expectBare(await deliver(changes(), { headers }), 200);
  });

  test.each([
    ["a week old", String(now - 604_800)],
    ["five minutes ahead", String(now + 300)],
    ["with leading zeros, because the text is what is signed", `00${now}`],
  ])("a timestamp %s", async (_, timestamp) => {
    const { deliver } = await mounted({ clock: fakeClock() });
    expectBare(await deliver(changes(), { headers: signedAt(timestamp) }), 200);
  });

  test("header names in another case", async () => {
    const { url, signed } = await mounted();
    const headers = Object.entries(signed(changes())).map(([name, value]) => [name.toUpperCase(), value]);
    expectBare(await send(url, { body: changes(), headers: Object.fromEntries(headers) }), 200);
  });

  test("the same request again: a redelivery is no attack", async () => {
    const { url, signed, receiver } = await mounted();
    const headers = signed(changes());
    expectBare(await send(url, { body: changes(), headers }), 200);
    expectBare(await send(url, { body: changes(), headers }), 200);
    expect(receiver.stats().stored).toBe(2);
  });
});
