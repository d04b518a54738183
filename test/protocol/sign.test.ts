import fc from "fast-check";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { isHooklineError } from "../../src/errors.ts";
import { toKey } from "../../src/protocol/signature/secrets.ts";
import { macOf, matchKey, sign } from "../../src/protocol/signature/sign.ts";
import { resolveScheme, serviceScheme, type SignatureScheme } from "../../src/protocol/signature/signature-scheme.ts";

const service = resolveScheme(serviceScheme);
const bodyOnly = resolveScheme({
  algorithm: "sha256",
  signed: ["body"],
  signature: { header: "X-Signature", encoding: "hex" },
});
const secret = "test-signing-secret";
const key = toKey(secret, "default");
const timestamp = "1700000000";
const contacts =
  '{"subscription":1001,"resource":"/contacts","accountId":2002,"payloads":[{"id":"c-1","changeType":"updated"}]}';

describe("vectors from outside", () => {
  test.each([
    ["a handshake", "", "81dd05befe5cbb6bb432e20e4430415f22beb4c0a80cbd8d9cf6e9a7716caeb7"],
    ["a delivery", contacts, "b6ab27c8bf67b1bb49a07e53153a4a0837b5ceb1cb5d1061e43bafb754750872"],
  ])("the service's rule, computed by hand for %s", (_, body, hex) => {
    expect(macOf(service, key.key, { timestamp, body: Buffer.from(body) }).toString("hex")).toBe(hex);
  });

  test("Slack's published example", () => {
    const slack: SignatureScheme = {
      algorithm: "sha256",
      signed: [{ text: "v0:" }, "timestamp", { text: ":" }, "body"],
      signature: { header: "X-Slack-Signature", encoding: "hex", prefix: "v0=" },
      timestamp: { header: "X-Slack-Request-Timestamp", unit: "seconds" },
    };
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const at = new Date(1_531_420_618_000);
    expect(sign(body, { secret: "8f742231b10e8888abcd99yyyzzz85a5", scheme: slack, at })).toEqual({
      "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      "X-Slack-Request-Timestamp": "1531420618",
    });
  });

  test("GitHub's published example", () => {
    const github: SignatureScheme = {
      algorithm: "sha256",
      signed: ["body"],
      signature: { header: "X-Hub-Signature-256", encoding: "hex", prefix: "sha256=" },
    };
    expect(sign("Hello, World!", { secret: "It's a Secret to Everybody", scheme: github })).toEqual({
      "X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    });
  });

  test("LINE's published example, in base64", () => {
    const line: SignatureScheme = {
      algorithm: "sha256",
      signed: ["body"],
      signature: { header: "X-Line-Signature", encoding: "base64" },
    };
    expect(sign('{"hello":"world"}', { secret: "test_secret", scheme: line })).toEqual({
      "X-Line-Signature": "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM=",
    });
  });

  test("the Standard Webhooks example, with a key of bytes and a literal for the id", () => {
    const scheme = resolveScheme({
      algorithm: "sha256",
      signed: [{ text: "msg_p5jXN8AQM9LWM0D4loKWxJek." }, "timestamp", { text: "." }, "body"],
      signature: { header: "Webhook-Signature", encoding: "base64", prefix: "v1=" },
      timestamp: { header: "Webhook-Timestamp", unit: "seconds" },
    });
    const bytes = toKey(Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64"), "default");
    const body = Buffer.from('{"test": 2432232314}');
    expect(macOf(scheme, bytes.key, { timestamp: "1614265330", body }).toString("base64")).toBe(
      "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  test("RFC 4231, test case 2, with SHA-512", () => {
    const scheme = resolveScheme({
      algorithm: "sha512",
      signed: ["body"],
      signature: { header: "X-Signature", encoding: "hex" },
    });
    const body = Buffer.from("what do ya want for nothing?");
    expect(macOf(scheme, toKey("Jefe", "default").key, { timestamp: "", body }).toString("hex")).toBe(
      "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
    );
  });
});

describe("the 174 published cases of Wycheproof", () => {
  const { cases } = JSON.parse(readFileSync(new URL("../vectors/hmac-sha256.json", import.meta.url), "utf8")) as {
    cases: { tcId: number; key: string; msg: string; tag: string; tagSize: number; result: string }[];
  };
  const fits = ({ key: hex, msg, tag }: (typeof cases)[number]) =>
    matchKey(bodyOnly, [toKey(Buffer.from(hex, "hex"), "key")], {
      timestamp: "",
      body: Buffer.from(msg, "hex"),
      signature: Buffer.from(tag, "hex"),
    }) !== undefined;

  test("are all here", () => {
    expect(cases).toHaveLength(174);
  });

  test("the 33 valid ones of full length are accepted, and nothing else: no altered tag, no truncated one", () => {
    const accepted = cases.filter(fits);
    expect(accepted).toHaveLength(33);
    expect(accepted.filter(({ result, tagSize }) => result !== "valid" || tagSize !== 256)).toEqual([]);
  });
});

describe("matching a signature", () => {
  const body = Buffer.from(contacts);
  const signature = macOf(service, key.key, { timestamp, body });

  test("names the key that made it, wherever it is in the list", () => {
    const ring = [toKey("newer", "newer"), key, toKey("older", "older")];
    expect(matchKey(service, ring, { timestamp, signature, body })?.name).toBe("default");
  });

  test("names the first of two equal keys", () => {
    const ring = [toKey(secret, "one"), toKey(secret, "two")];
    expect(matchKey(service, ring, { timestamp, signature, body })?.name).toBe("one");
  });

  test("finds no key in an empty ring", () => {
    expect(matchKey(service, [], { timestamp, signature, body })).toBeUndefined();
  });

  test("refuses every length but the digest's, without throwing", () => {
    for (const length of [0, 1, 16, 31, 33, 64]) {
      const wrong = Buffer.concat([signature, signature]).subarray(0, length);
      expect(matchKey(service, [key], { timestamp, signature: wrong, body })).toBeUndefined();
    }
  });

  test("hashes the timestamp as it was written, not as a number", () => {
    expect(matchKey(service, [key], { timestamp: `0${timestamp}`, signature, body })).toBeUndefined();
  });

  test("hashes bytes that are not UTF-8 as they are", () => {
    const bytes = Uint8Array.of(0xff, 0xfe, 0x00);
    const replaced = Buffer.from("\u{fffd}\u{fffd}\0");
    const own = macOf(service, key.key, { timestamp, body: bytes });
    expect(own).not.toEqual(macOf(service, key.key, { timestamp, body: replaced }));
  });

  test("hashes what comes after the body as well", () => {
    const trailing = resolveScheme({
      algorithm: "sha256",
      signed: ["body", { text: "." }, "timestamp"],
      signature: { header: "X-Signature", encoding: "hex" },
      timestamp: { header: "X-Time", unit: "seconds" },
    });
    const whole = macOf(bodyOnly, key.key, { timestamp: "", body: Buffer.from(`${contacts}.${timestamp}`) });
    expect(macOf(trailing, key.key, { timestamp, body })).toEqual(whole);
  });

  test("one changed bit in body, timestamp or signature is refused", () => {
    const digits = fc.stringMatching(/^\d{1,12}$/);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 400 }), digits, fc.nat(), (bytes, time, bit) => {
        const made = macOf(service, key.key, { timestamp: time, body: bytes });
        const match = (changed: object) =>
          matchKey(service, [key], { timestamp: time, body: bytes, signature: made, ...changed });
        expect(match({})).toBe(key);
        expect(match({ body: flip(bytes, bit) })).toBeUndefined();
        expect(match({ signature: flip(made, bit) })).toBeUndefined();
        expect(match({ timestamp: flip(Buffer.from(time), bit).toString("latin1") })).toBeUndefined();
      }),
    );
  });
});

describe("making a key", () => {
  test.each([
    ["an empty text", ""],
    ["white space", " \n"],
    ["no bytes", new Uint8Array()],
    ["nothing", undefined],
    ["null", null],
    ["a number", 5],
  ])("refuses %s", (_, value) => {
    expect(() => toKey(value as string, "main")).toThrow(
      expect.toSatisfy((error) => isHooklineError(error, "secret-missing")),
    );
  });

  test("takes a text as its UTF-8 bytes, without trimming or decoding", () => {
    const text = " 00ff ü€ ";
    const signed = { timestamp, body: Buffer.from(contacts) };
    expect(macOf(service, toKey(text, "a").key, signed)).toEqual(
      macOf(service, toKey(Buffer.from(text), "b").key, signed),
    );
  });

  test("does not show the secret in the key", () => {
    macOf(service, key.key, { timestamp, body: Buffer.from(contacts) });
    expect(JSON.stringify(key)).not.toContain(secret);
    expect(inspect(key, { depth: Infinity, showHidden: true })).not.toContain(secret);
  });
});

describe("signing", () => {
  test("gives the headers under the scheme's own spelling", () => {
    expect(sign(contacts, { secret, at: new Date(1_700_000_000_999) })).toEqual({
      "X-Aurinko-Signature": "b6ab27c8bf67b1bb49a07e53153a4a0837b5ceb1cb5d1061e43bafb754750872",
      "X-Aurinko-Request-Timestamp": "1700000000",
    });
  });

  test("signs a text like its bytes", () => {
    const at = new Date(0);
    expect(sign("ü", { secret, at })).toEqual(sign(Buffer.from("ü"), { secret, at }));
  });

  test("writes milliseconds where the scheme has them", () => {
    const scheme: SignatureScheme = { ...serviceScheme, timestamp: { header: "X-Time", unit: "milliseconds" } };
    expect(sign("", { secret, scheme, at: new Date(1_700_000_000_123) })["X-Time"]).toBe("1700000000123");
  });

  test.each([new Date(Number.NaN), new Date(-1)])("refuses to sign the time %s", (at) => {
    expect(() => sign("", { secret, at })).toThrow(expect.toSatisfy((error) => isHooklineError(error, "time-invalid")));
  });
});

function flip(bytes: Uint8Array, bit: number): Buffer {
  const changed = Buffer.from(bytes);
  const at = (bit >> 3) % changed.length;
  changed.writeUInt8(changed.readUInt8(at) ^ (1 << (bit & 7)), at);
  return changed;
}
