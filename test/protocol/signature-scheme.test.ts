import { describe, expect, test } from "vitest";
import { isHooklineError } from "../../src/errors.ts";
import { resolveScheme, serviceScheme, type SignatureScheme } from "../../src/protocol/signature/signature-scheme.ts";

/** The service's scheme with some fields replaced, as a program without types could write it. */
function changed(fields: Record<string, unknown>): SignatureScheme {
  return { ...serviceScheme, ...fields };
}

describe("resolving a scheme", () => {
  test("works out for the service's own what every request needs", () => {
    expect(resolveScheme(serviceScheme)).toEqual({
      algorithm: "sha256",
      before: [{ text: "v0:" }, "timestamp", { text: ":" }],
      after: [],
      signature: {
        header: "X-Aurinko-Signature",
        lowerCaseHeader: "x-aurinko-signature",
        encoding: "hex",
        prefix: "",
        bytes: 32,
        characters: 64,
      },
      timestamp: {
        header: "X-Aurinko-Request-Timestamp",
        lowerCaseHeader: "x-aurinko-request-timestamp",
        unit: "seconds",
      },
    });
  });

  test("reads accessors, too", () => {
    const signature = new (class {
      readonly header = "X-S";
      get encoding() {
        return "hex" as const;
      }
    })();
    expect(resolveScheme(changed({ signature })).signature).toMatchObject({ header: "X-S", encoding: "hex" });
  });

  test.each([
    ["sha1", "hex", 20, 40],
    ["sha1", "base64", 20, 28],
    ["sha256", "base64", 32, 44],
    ["sha512", "hex", 64, 128],
    ["sha512", "base64", 64, 88],
  ] as const)("knows how long a %s digest is as %s", (algorithm, encoding, bytes, characters) => {
    const { signature } = resolveScheme(changed({ algorithm, signature: { header: "X-S", encoding } }));
    expect(signature).toMatchObject({ bytes, characters });
  });

  test("checks the same scheme once", () => {
    const scheme = changed({});
    expect(resolveScheme(scheme)).toBe(resolveScheme(scheme));
  });

  test.each([
    ["an unknown algorithm", { algorithm: "md5" }],
    ["an algorithm that every object has", { algorithm: "constructor" }],
    ["no body", { signed: ["timestamp"] }],
    ["the body twice", { signed: ["timestamp", "body", "body"] }],
    ["an unknown part", { signed: ["timestamp", "body", "url"] }],
    ["a part of null", { signed: ["timestamp", "body", null] }],
    ["a literal that is no text", { signed: ["timestamp", "body", { text: 5 }] }],
    ["a signed timestamp without its header", { timestamp: undefined }],
    ["a timestamp header that is not signed", { signed: ["body"] }],
    ["an unknown unit", { timestamp: { header: "X-Time", unit: "minutes" } }],
    ["the same header for both", { timestamp: { header: "x-aurinko-SIGNATURE", unit: "seconds" } }],
    ["an empty header name", { signature: { header: "", encoding: "hex" } }],
    ["a header name with a space", { signature: { header: "X Signature", encoding: "hex" } }],
    ["a header name that is no text", { timestamp: { header: 5, unit: "seconds" } }],
    ["an unknown encoding", { signature: { header: "X-S", encoding: "base32" } }],
    ["a prefix with a comma", { signature: { header: "X-S", encoding: "hex", prefix: "v1," } }],
    ["a prefix with a newline", { signature: { header: "X-S", encoding: "hex", prefix: "v1=\n" } }],
  ])("refuses %s", (_, fields) => {
    expect(() => resolveScheme(changed(fields))).toThrow(
      expect.toSatisfy((error) => isHooklineError(error, "scheme-invalid")),
    );
  });

  test("says what was got, what was expected, and what to change", () => {
    expect(() => resolveScheme(changed({ algorithm: "md5" }))).toThrow(
      "The signature scheme's `algorithm` is \"md5\", expected sha256, sha1 or sha512. Correct `algorithm`, or leave the scheme out for the service's own.",
    );
  });
});
