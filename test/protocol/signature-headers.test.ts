import { describe, expect, test } from "vitest";
import { toHeaderLookup } from "../../src/protocol/headers.ts";
import { readSignatureHeaders, SIGNATURE_PROBLEMS } from "../../src/protocol/signature/signature-headers.ts";
import { resolveScheme, serviceScheme, type SignatureScheme } from "../../src/protocol/signature/signature-scheme.ts";
import { DEFAULT_MAX_AGE_SECONDS, type Freshness } from "../../src/protocol/signature/timestamp-age.ts";

const hex = "81dd05befe5cbb6bb432e20e4430415f22beb4c0a80cbd8d9cf6e9a7716caeb7";
const base64 = Buffer.from(hex, "hex").toString("base64");
const time = "1700000000";
const fresh: Freshness = { nowMs: 1_700_000_000_000, maxAgeSeconds: DEFAULT_MAX_AGE_SECONDS };

type Value = string | readonly string[] | undefined;

function read(signature: Value, timestamp: Value = time, scheme: SignatureScheme = serviceScheme) {
  const headers: Record<string, Value> = { "X-Aurinko-Signature": signature, "X-Aurinko-Request-Timestamp": timestamp };
  return readSignatureHeaders(resolveScheme(scheme), toHeaderLookup(headers), fresh);
}

function withSignature(signature: SignatureScheme["signature"]): SignatureScheme {
  return { ...serviceScheme, signature };
}

describe("reading signatureHeaders", () => {
  test("gives the decoded signature, the timestamp as it was written, and its time", () => {
    expect(read(hex)).toEqual({
      timestamp: time,
      sentAtMs: 1_700_000_000_000,
      signature: Buffer.from(hex, "hex"),
      signatureText: hex,
    });
  });

  test("reads hex in either case, and gives it one spelling", () => {
    expect(read(hex.toUpperCase())).toEqual(read(hex));
  });

  test("takes a list of one value like the value", () => {
    expect(read([hex], [time])).toEqual(read(hex));
  });

  test("keeps a timestamp with leading zeros as it was written", () => {
    expect(read(hex, "001700000000")).toMatchObject({ timestamp: "001700000000", sentAtMs: 1_700_000_000_000 });
  });

  test.each([
    ["signature-missing", undefined],
    ["signature-missing", ""],
    ["signature-missing", []],
    ["signature-missing", [""]],
    ["signature-doubled", [hex, hex]],
    ["signature-doubled", ["", hex]],
    ["signature-doubled", `${hex}, ${hex}`],
    ["signature-doubled", [`${hex},${hex}`]],
    ["signature-malformed", hex.slice(2)],
    ["signature-malformed", hex.slice(0, 32)],
    ["signature-malformed", `${hex}00`],
    ["signature-malformed", ` ${hex.slice(1)}`],
    ["signature-malformed", ` ${hex}`],
    ["signature-malformed", `g${hex.slice(1)}`],
    ["signature-malformed", `${hex.slice(1)}g`],
    ["signature-malformed", `\u{161}${hex.slice(1)}`],
    ["signature-malformed", `sha256=${hex}`],
    ["signature-malformed", base64],
    ["signature-malformed", "a".repeat(1_000_000)],
    ["signature-malformed", ",".repeat(1_000_000)],
  ])("gives %s for %j", (problem, signature) => {
    expect(read(signature)).toBe(problem);
  });

  test.each([
    ["timestamp-missing", []],
    ["timestamp-missing", ""],
    ["timestamp-doubled", [time, time]],
    ["timestamp-doubled", `${time}, ${time}`],
    ["timestamp-malformed", "1700000000000"],
    ["timestamp-malformed", "-1700000000"],
    ["timestamp-malformed", "+1700000000"],
    ["timestamp-malformed", "1700000000.5"],
    ["timestamp-malformed", "1.7e9"],
    ["timestamp-malformed", "0x6553f100"],
    ["timestamp-malformed", " 1700000000"],
    ["timestamp-malformed", "1700000000\n"],
    ["timestamp-malformed", "١٧٠٠٠٠٠٠٠٠"],
    ["timestamp-malformed", "2023-11-14T22:13:20Z"],
    ["timestamp-malformed", "9".repeat(1_000_000)],
    ["timestamp-stale", "0"],
    ["timestamp-stale", String(1_700_000_000 - 604_801)],
    ["timestamp-future", String(1_700_000_000 + 301)],
    ["timestamp-future", "999999999999"],
  ])("gives %s for %j", (problem, timestamp) => {
    expect(read(hex, timestamp)).toBe(problem);
  });

  test.each([1_700_000_000 - 604_800, 1_700_000_000 + 300])("takes %d, which is just inside the window", (seconds) => {
    expect(read(hex, String(seconds))).toMatchObject({ sentAtMs: seconds * 1000 });
  });

  test("takes any age where the limit is infinite, and none where the limit or the clock is no number", () => {
    const scheme = resolveScheme(serviceScheme);
    const header = toHeaderLookup({ "x-aurinko-signature": hex, "x-aurinko-request-timestamp": "1" });
    const judged = (freshness: Freshness) => readSignatureHeaders(scheme, header, freshness);
    expect(judged({ nowMs: fresh.nowMs, maxAgeSeconds: Infinity })).toMatchObject({ sentAtMs: 1000 });
    expect(judged({ nowMs: fresh.nowMs, maxAgeSeconds: Number.NaN })).toBe("timestamp-stale");
    expect(judged({ nowMs: Number.NaN, maxAgeSeconds: 1 })).toBe("timestamp-stale");
  });

  test("a value that is no text at all is malformed", () => {
    expect(read(5 as unknown as string)).toBe("signature-missing");
    expect(readSignatureHeaders(resolveScheme(serviceScheme), () => 5 as unknown as string, fresh)).toBe(
      "signature-malformed",
    );
  });
});

describe("another scheme", () => {
  const header = "X-Aurinko-Signature";

  test("needs its prefix, and takes it off", () => {
    const scheme = withSignature({ header, encoding: "hex", prefix: "sha256=" });
    expect(read(`sha256=${hex}`, time, scheme)).toMatchObject({ signatureText: hex });
    for (const wrong of [hex, `SHA256=${hex}`, `sha512=${hex}`, `sha256=${hex.slice(1)}`, `${hex}sha256=`]) {
      expect(read(wrong, time, scheme)).toBe("signature-malformed");
    }
  });

  test("reads base64 in its one canonical spelling", () => {
    const scheme = withSignature({ header, encoding: "base64" });
    expect(read(base64, time, scheme)).toMatchObject({ signature: Buffer.from(hex, "hex"), signatureText: base64 });
    const urlSafe = base64.replaceAll("+", "-").replaceAll("/", "_");
    expect(urlSafe).not.toBe(base64);
    const stray = `${base64.slice(0, -2)}${String.fromCharCode(base64.charCodeAt(42) + 1)}=`;
    expect(Buffer.from(stray, "base64")).toEqual(Buffer.from(hex, "hex"));
    for (const wrong of [urlSafe, stray, base64.slice(0, -1), `${base64}=`, ` ${base64.slice(1)}`, hex]) {
      expect(read(wrong, time, scheme)).toBe("signature-malformed");
    }
  });

  test("counts in milliseconds where it says so", () => {
    const scheme: SignatureScheme = {
      ...serviceScheme,
      timestamp: { header: "X-Aurinko-Request-Timestamp", unit: "milliseconds" },
    };
    expect(read(hex, "1700000000123", scheme)).toMatchObject({ sentAtMs: 1_700_000_000_123 });
  });

  test("without a timestamp asks for none", () => {
    const scheme: SignatureScheme = { algorithm: "sha256", signed: ["body"], signature: { header, encoding: "hex" } };
    expect(read(hex, undefined, scheme)).toMatchObject({ timestamp: "", sentAtMs: undefined });
  });
});

describe("looking up headers", () => {
  test("finds a name in any case, in a record as in Headers", () => {
    for (const headers of [{ "X-AURINKO-Signature": hex }, new Headers({ "X-Aurinko-Signature": hex })]) {
      expect([toHeaderLookup(headers)("x-aurinko-signature")].flat()).toEqual([hex]);
      expect([toHeaderLookup(headers)("x-other") ?? []].flat()).toEqual([]);
    }
  });

  test("a name in two spellings, and a doubled one in Headers, is doubled", () => {
    const twice = new Headers({ "X-Aurinko-Signature": hex });
    twice.append("X-Aurinko-Signature", hex);
    for (const headers of [{ "x-aurinko-signature": hex, "X-Aurinko-Signature": hex }, twice]) {
      expect(readSignatureHeaders(resolveScheme(serviceScheme), toHeaderLookup(headers), fresh)).toBe(
        "signature-doubled",
      );
    }
  });

  test("does not find what every object has", () => {
    expect(toHeaderLookup({})("constructor")).toEqual([]);
  });
});

test("every problem says what to change, and the one of milliseconds names them", () => {
  for (const { message, fix } of Object.values(SIGNATURE_PROBLEMS)) {
    expect(message).toMatch(/^[A-Z].+\.$/);
    expect(fix).toMatch(/^[A-Z].+\.$/);
  }
  expect(SIGNATURE_PROBLEMS["timestamp-malformed"].fix).toContain("milliseconds");
});
