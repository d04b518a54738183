import fc from "fast-check";
import * as face from "hookline/signature";
import { sign, SignatureError, verify, type SignatureScheme, type VerifyOptions } from "hookline/signature";
import { describe, expect, test } from "vitest";
import { isHooklineError } from "../src/errors.ts";

const secret = "test-signing-secret";
const body =
  '{"subscription":1001,"resource":"/contacts","accountId":2002,"payloads":[{"id":"c-1","changeType":"updated"}]}';
const headers = {
  "x-aurinko-signature": "b6ab27c8bf67b1bb49a07e53153a4a0837b5ceb1cb5d1061e43bafb754750872",
  "x-aurinko-request-timestamp": "1700000000",
};
const now = new Date(1_700_000_000_000);

const github: SignatureScheme = {
  algorithm: "sha256",
  signed: ["body"],
  signature: { header: "X-Hub-Signature-256", encoding: "hex", prefix: "sha256=" },
};

test("the face has these names and no others", () => {
  expect(Object.keys(face).toSorted()).toEqual(["SignatureError", "explain", "sign", "verify"]);
});

describe("verify", () => {
  test("takes a request that the service's rule signs, and gives its bytes, its time and the secret's name", () => {
    const verified = verify({ headers, body }, { secret, now });
    expect(verified).toEqual({ signedBy: "default", sentAt: now, body: Buffer.from(body) });
  });

  test("takes the empty body of a handshake", () => {
    const signature = "81dd05befe5cbb6bb432e20e4430415f22beb4c0a80cbd8d9cf6e9a7716caeb7";
    const handshake = { headers: { ...headers, "x-aurinko-signature": signature }, body: "" };
    expect(verify(handshake, { secret, now }).body).toHaveLength(0);
  });

  test("takes headers in any case and in Headers, and bytes as well as text", () => {
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const given of [upper, new Headers(headers), new Request("http://localhost", { headers }).headers]) {
      const bytes = new TextEncoder().encode(body);
      expect(verify({ headers: given, body: bytes }, { secret, now }).body).toBe(bytes);
    }
  });

  test("takes GitHub's published example, which has no time", () => {
    const signed = {
      headers: {
        "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
      },
      body: "Hello, World!",
    };
    const verified = verify(signed, { secret: "It's a Secret to Everybody", scheme: github });
    expect(verified).toStrictEqual({ signedBy: "default", body: Buffer.from("Hello, World!") });
  });

  test("names the secret that matched: by its name, else by its place in the list", () => {
    expect(nameOf([secret])).toBe("secret-1");
    expect(nameOf(["other", secret])).toBe("secret-2");
    expect(nameOf(["other", { name: "2026-11", value: secret }])).toBe("2026-11");
  });

  test.each<[string, VerifyOptions["secret"]]>([
    ["none", undefined],
    ["an empty one", ""],
    ["white space", "\n"],
    ["an empty list", []],
    ["an empty one in a list", [secret, ""]],
    ["an empty one with a name", [{ name: "old", value: "" }]],
    ["null, as a program without types could give it", null as unknown as undefined],
    ["a missing one in a list", [secret, undefined as unknown as string]],
  ])("never passes a request where the secret is %s", (_, missing) => {
    const error = errorOf(() => verify({ headers, body }, { secret: missing, now }));
    expect(error).toBeInstanceOf(SignatureError);
    expect(error).toMatchObject({ code: "secret-missing", fix: expect.stringContaining("dashboard") as string });
  });

  test.each([
    ["signature-missing", { "x-aurinko-signature": undefined }],
    ["signature-doubled", { "X-Aurinko-Signature": headers["x-aurinko-signature"] }],
    ["signature-malformed", { "x-aurinko-signature": "b6ab" }],
    ["signature-wrong", { "x-aurinko-signature": "0".repeat(64) }],
    ["timestamp-missing", { "x-aurinko-request-timestamp": undefined }],
    ["timestamp-doubled", { "x-aurinko-request-timestamp": ["1700000000", "1700000000"] }],
    ["timestamp-malformed", { "x-aurinko-request-timestamp": "1700000000000" }],
    ["timestamp-stale", { "x-aurinko-request-timestamp": "1600000000" }],
    ["timestamp-future", { "x-aurinko-request-timestamp": "1700000301" }],
  ])("throws %s with the fix and without any secret", (code, changed) => {
    const error = errorOf(() => verify({ headers: { ...headers, ...changed }, body }, { secret, now }));
    expect(error).toBeInstanceOf(SignatureError);
    expect(error).toMatchObject({ code, fix: expect.stringMatching(/\.$/) as string });
    expect(String(error)).toMatch(/It is read from X-Aurinko-(Signature|Request-Timestamp)\./);
    expect(String(error)).not.toContain(secret);
    expect(String(error)).not.toContain(headers["x-aurinko-signature"].slice(0, 8));
  });

  test("judges the age by the present time and seven days where nothing else is said", () => {
    expect([signedAgo(0), signedAgo(6.99), signedAgo(7.01), signedAgo(-1)]).toEqual([
      undefined,
      undefined,
      "timestamp-stale",
      "timestamp-future",
    ]);
  });

  test("refuses a limit that is no limit, and a body that was parsed, and a scheme that cannot be checked", () => {
    const withAge = (maxAgeSeconds: unknown) =>
      codeOf(() => verify({ headers, body }, { secret, now, maxAgeSeconds: maxAgeSeconds as number }));
    expect([Number.NaN, -1, "600"].map(withAge)).toEqual(["option-invalid", "option-invalid", "option-invalid"]);
    expect(withAge(0)).toBeUndefined();
    const parsed = JSON.parse(body) as string;
    expect(codeOf(() => verify({ headers, body: parsed }, { secret, now }))).toBe("body-not-raw");
    expect(codeOf(() => verify({ headers, body }, { secret, now, scheme: { ...github, signed: [] } }))).toBe(
      "scheme-invalid",
    );
  });

  test("takes what sign signs, for every scheme, and nothing with another body", () => {
    const scheme = fc.record({
      algorithm: fc.constantFrom("sha1", "sha256", "sha512"),
      signed: fc.constantFrom<SignatureScheme["signed"]>(
        ["timestamp", { text: "." }, "body"],
        ["body", { text: ":" }, "timestamp"],
        [{ text: "v1" }, "timestamp", "body", { text: "" }],
      ),
      signature: fc.record({
        header: fc.constant("X-Sig"),
        encoding: fc.constantFrom("hex", "base64"),
        prefix: fc.constantFrom(undefined, "", "v1="),
      }),
      timestamp: fc.record({ header: fc.constant("X-Time"), unit: fc.constantFrom("seconds", "milliseconds") }),
    });
    fc.assert(
      fc.property(scheme, fc.uint8Array(), fc.string({ minLength: 1 }), (made, bytes, key) => {
        fc.pre(key.trim() !== "");
        const request = { headers: sign(bytes, { secret: key, scheme: made, at: now }), body: bytes };
        const options = { secret: key, scheme: made, now };
        expect(verify(request, options)).toEqual({ signedBy: "default", sentAt: now, body: bytes });
        const longer = { ...request, body: Uint8Array.of(...bytes, 0x20) };
        expect(codeOf(() => verify(longer, options))).toBe("signature-wrong");
      }),
    );
  });
});

function errorOf(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

function codeOf(run: () => unknown): string | undefined {
  const error = errorOf(run);
  return isHooklineError(error) ? error.code : undefined;
}

/** The name of the secret in this ring that the good request was signed with. */
function nameOf(ring: VerifyOptions["secret"]): string {
  return verify({ headers, body }, { secret: ring, now }).signedBy;
}

/** What verify throws for a request that was signed so many days ago. */
function signedAgo(days: number): string | undefined {
  const old = sign(body, { secret, at: new Date(Date.now() - days * 86_400_000) });
  return codeOf(() => verify({ headers: old, body }, { secret }));
}
