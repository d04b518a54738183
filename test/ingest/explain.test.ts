import { explain, sign, type SignatureScheme } from "hookline/signature";
import { describe, expect, test } from "vitest";

const SIGNATURE = "X-Aurinko-Signature";
const TIMESTAMP = "X-Aurinko-Request-Timestamp";
const secret = "test-signing-secret";
const body =
  '{"subscription":1001,"resource":"/contacts","accountId":2002,"payloads":[{"id":"c-1","changeType":"updated"}]}';
const headers = {
  "x-aurinko-signature": "b6ab27c8bf67b1bb49a07e53153a4a0837b5ceb1cb5d1061e43bafb754750872",
  "x-aurinko-request-timestamp": "1700000000",
};

const github: SignatureScheme = {
  algorithm: "sha256",
  signed: ["body"],
  signature: { header: "X-Hub-Signature-256", encoding: "hex", prefix: "sha256=" },
};

describe("explain", () => {
  const at = new Date();
  const pretty = JSON.stringify(JSON.parse(body), null, 2);
  const umlaut = '{"name":"B\u{fc}ro","path":"a/b"}';

  /** The mistakes found when this was signed, and that arrived or was configured. */
  function found(
    signed: { body?: string; secret?: string; scheme?: SignatureScheme },
    got: { body?: string; secret?: string; headers?: (made: Record<string, string>) => Record<string, string> } = {},
  ) {
    const text = signed.body ?? body;
    const made = sign(text, { secret: signed.secret ?? secret, scheme: signed.scheme, at });
    const request = { headers: got.headers?.(made) ?? made, body: got.body ?? text };
    const { matches, mistakes } = explain(request, got.secret ?? secret);
    expect(matches).toBe(mistakes.length === 0);
    return mistakes.map(({ code }) => code);
  }

  const service: SignatureScheme = {
    algorithm: "sha256",
    signed: [{ text: "v0:" }, "timestamp", { text: ":" }, "body"],
    signature: { header: "X-Aurinko-Signature", encoding: "hex" },
    timestamp: { header: "X-Aurinko-Request-Timestamp", unit: "seconds" },
  };
  const written = (signature: Partial<SignatureScheme["signature"]>): SignatureScheme => ({
    ...service,
    signature: { ...service.signature, ...signature },
  });
  const over = (...signed: SignatureScheme["signed"]): SignatureScheme => ({ ...service, signed });

  test("finds nothing wrong with a good request", () => {
    expect(explain({ headers: sign(body, { secret, at }), body }, secret)).toEqual({ matches: true, mistakes: [] });
  });

  test("finds nothing but its age wrong with an old one: the signature matches", () => {
    const explained = explain({ headers, body }, secret);
    expect(explained).toMatchObject({ matches: true, mistakes: [{ code: "timestamp-stale" }] });
  });

  test("finds nothing but its age wrong with one from the future either", () => {
    const signed = sign(body, { secret, at: new Date(Date.now() + 86_400_000) });
    const explained = explain({ headers: signed, body }, secret);
    expect(explained).toMatchObject({ matches: true, mistakes: [{ code: "timestamp-future" }] });
  });

  test.each([
    ["parsed and written again", body, pretty],
    ["written again by JSON.stringify", pretty, body],
    ["indented by four", JSON.stringify(JSON.parse(body), null, 4), body],
    ["indented by tabs, with a newline", `${JSON.stringify(JSON.parse(body), null, "\t")}\n`, body],
    [
      "written again from a language that puts spaces in",
      '{"a": 1, "b": [1, 2, {"c": null}]}',
      '{"a":1,"b":[1,2,{"c":null}]}',
    ],
    ["written again from a language that escapes letters", String.raw`{"name":"B\u00fcro","path":"a/b"}`, umlaut],
    ["written again from a language that escapes slashes", String.raw`{"name":"Büro","path":"a\/b"}`, umlaut],
  ])("names a body that was %s", (_, signed, got) => {
    expect(found({ body: signed }, { body: got })).toEqual(["body-reserialised"]);
  });

  test.each([
    ["a newline was added", body, `${body}\n`],
    ["a newline was cut off", `${body}\n`, body],
    ["a newline of Windows was cut off", `${body}\r\n`, body],
    ["white space was added", body, `  ${body} `],
    ["line ends were changed", "a\r\nb", "a\nb"],
    ["line ends were changed back", "a\nb", "a\r\nb"],
  ])("names white space where %s", (_, signed, got) => {
    expect(found({ body: signed }, { body: got })).toEqual(["body-whitespace"]);
  });

  test("names a handshake whose empty body became an object", () => {
    expect(found({ body: "" }, { body: "{}" })).toEqual(["body-expected-empty"]);
  });

  test.each([
    ["secret-whitespace", secret, `${secret}\n`],
    ["secret-whitespace", secret, ` ${secret}`],
    ["secret-whitespace", `${secret}\n`, secret],
    ["secret-quoted", secret, `"${secret}"`],
    ["secret-quoted", secret, ` '${secret}'\n`],
    ["secret-decoded", secret, Buffer.from(secret).toString("hex")],
    ["secret-decoded", secret, Buffer.from(secret).toString("base64")],
    ["secret-wrong", secret, "another-secret"],
    ["secret-wrong", secret, '" "'],
    ["secret-wrong", secret, `x"${secret}"`],
    ["secret-wrong", secret, `"${secret}"x`],
    ["secret-wrong", secret, `${Buffer.from(secret).toString("hex")}zz`],
    ["secret-wrong", secret, `${Buffer.from(secret).toString("hex")}7`],
    ["secret-wrong", secret, `${Buffer.from(secret).toString("base64")}*`],
    ["secret-wrong", secret, `*${Buffer.from(secret).toString("base64")}`],
    ["secret-missing", secret, ""],
  ])("names %s", (code, used, configured) => {
    expect(found({ secret: used }, { secret: configured })).toEqual([code]);
  });

  test.each([
    ["signed-body-only", over("body", { text: "" })],
    ["signed-without-version", over("timestamp", { text: "." }, "body")],
    ["signed-without-version", over("timestamp", { text: ":" }, "body")],
    ["signed-without-version", over("timestamp", "body")],
    ["signature-encoding", written({ encoding: "base64" })],
    ["signature-prefix", written({ prefix: "sha256=" })],
    ["signature-prefix", written({ prefix: "v0=" })],
  ])("names %s", (code, scheme) => {
    // A body alone is no scheme with a timestamp, so its time is added by hand.
    const bare = code === "signed-body-only" ? { ...scheme, timestamp: undefined } : scheme;
    const time = { "X-Aurinko-Request-Timestamp": String(Math.floor(at.getTime() / 1000)) };
    expect(found({ scheme: bare }, { headers: (made) => ({ ...time, ...made }) })).toEqual([code]);
  });

  test("names several mistakes made at once", () => {
    const scheme = {
      ...written({ encoding: "base64", prefix: "sha256=" }),
      signed: ["body"],
      timestamp: undefined,
    } as const;
    expect(found({ scheme }, { body: pretty })).toEqual([
      "signature-prefix",
      "signature-encoding",
      "body-reserialised",
      "signed-body-only",
      "timestamp-missing",
    ]);
  });

  test.each(["milliseconds", "seconds"] as const)("names a time in milliseconds that was signed as %s", (unit) => {
    const scheme: SignatureScheme = { ...service, timestamp: { header: "X-Aurinko-Request-Timestamp", unit } };
    const milliseconds = { "X-Aurinko-Request-Timestamp": String(at.getTime()) };
    expect(found({ scheme }, { headers: (made) => ({ ...made, ...milliseconds }) })).toEqual([
      "timestamp-milliseconds",
    ]);
  });

  test("does not guess at three mistakes at once: they are as likely another secret", () => {
    const bare = { ...over("body", { text: "" }), timestamp: undefined };
    const time = { "X-Aurinko-Request-Timestamp": String(Math.floor(at.getTime() / 1000)) };
    const sent = { secret: `"${secret}"`, headers: (made: Record<string, string>) => ({ ...time, ...made }) };
    expect(found({ scheme: bare }, sent)).toEqual(["secret-quoted", "signed-body-only"]);
    expect(found({ scheme: bare }, { ...sent, body: pretty })).toEqual(["secret-wrong"]);
  });

  test("names a malformed signature beside what else is wrong, and of two signatures only that they are two", () => {
    const spaced = (made: Record<string, string>) => ({ ...made, [SIGNATURE]: ` ${made[SIGNATURE]}` });
    const doubled = (made: Record<string, string>) => ({ ...made, "x-aurinko-signature": made[SIGNATURE] ?? "" });
    expect(found({}, { body: `${body}\n`, headers: spaced })).toEqual(["signature-malformed", "body-whitespace"]);
    expect(found({}, { body: `${body}\n`, headers: doubled })).toEqual(["signature-doubled"]);
  });

  test.each<[string, (made: Record<string, string>) => Record<string, string>]>([
    ["signature-missing", (made) => ({ ...made, "X-Aurinko-Signature": "" })],
    ["signature-doubled", (made) => ({ ...made, "x-aurinko-signature": made["X-Aurinko-Signature"] ?? "" })],
    ["signature-malformed", (made) => ({ ...made, "X-Aurinko-Signature": "not a signature" })],
    [
      "signature-malformed",
      (made) => ({ ...made, "X-Aurinko-Signature": made["X-Aurinko-Signature"]?.slice(0, 32) ?? "" }),
    ],
    ["signature-malformed", (made) => ({ ...made, "X-Aurinko-Signature": ` ${made["X-Aurinko-Signature"]}` })],
    [
      "timestamp-doubled",
      (made) => ({ ...made, [TIMESTAMP]: String(at.getTime()), [TIMESTAMP.toLowerCase()]: String(at.getTime()) }),
    ],
  ])("names %s alone", (code, changed) => {
    expect(found({}, { headers: changed })).toEqual([code]);
  });

  test.each([
    ["timestamp-doubled", "1, 2"],
    ["timestamp-malformed", "yesterday"],
    ["timestamp-malformed", `1${at.getTime()}`],
    ["timestamp-future", "99999999999"],
  ])("names %s, and that another time was signed", (code, time) => {
    const changed = (made: Record<string, string>) => ({ ...made, "X-Aurinko-Request-Timestamp": time });
    expect(found({}, { headers: changed })).toEqual(["secret-wrong", code]);
  });

  test("reads the mistakes of another scheme as well", () => {
    const made = sign(body, { secret, scheme: { ...github, signature: { ...github.signature, prefix: "" } } });
    expect(explain({ headers: made, body }, secret, github)).toMatchObject({
      matches: false,
      mistakes: [{ code: "signature-prefix" }],
    });
    const longer = explain({ headers: sign(body, { secret, scheme: github }), body: `${body}\n` }, secret, github);
    expect(longer.mistakes).toMatchObject([{ code: "body-whitespace" }]);
  });

  test("reads no seconds where a scheme has milliseconds", () => {
    const scheme: SignatureScheme = { ...service, timestamp: { header: TIMESTAMP, unit: "milliseconds" } };
    const made = { ...sign(body, { secret, at }), [TIMESTAMP]: String(at.getTime()) };
    expect(explain({ headers: made, body }, secret, scheme).mistakes).toMatchObject([{ code: "secret-wrong" }]);
  });

  test("reads Headers as well as a record", () => {
    const signed = new Headers(sign(body, { secret, at }));
    expect(explain({ headers: signed, body: `${body}\n` }, secret).mistakes).toMatchObject([
      { code: "body-whitespace" },
    ]);
    signed.delete("X-Aurinko-Request-Timestamp");
    expect(explain({ headers: signed, body }, secret).mistakes).toMatchObject([
      { code: "secret-wrong" },
      { code: "timestamp-missing" },
    ]);
  });

  test("looks at bodies that are no text and no JSON, and at very deep ones", () => {
    for (const bytes of [Uint8Array.of(0xff, 0x00), Buffer.from("[".repeat(100_000) + "]".repeat(100_000))]) {
      const request = { headers: sign(bytes, { secret, at }), body: bytes };
      expect(explain(request, secret).matches).toBe(true);
      expect(explain(request, "another-secret").mistakes).toMatchObject([{ code: "secret-wrong" }]);
    }
  });

  test("never shows the secret, the body or the expected signature", () => {
    const expected = sign(body, { secret, at })["X-Aurinko-Signature"] ?? "";
    const request = { headers: { ...sign(body, { secret: "other", at }) }, body };
    const explained = JSON.stringify([explain(request, secret), explain({ headers: {}, body }, secret)]);
    for (const hidden of [secret, expected, "c-1"]) expect(explained).not.toContain(hidden);
  });
});
