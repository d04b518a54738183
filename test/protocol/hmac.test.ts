import fc from "fast-check";
import { createHmac } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createHmacKey, type Algorithm, type Message } from "../../src/protocol/signature/hmac.ts";

const ALGORITHMS: readonly Algorithm[] = ["sha256", "sha1", "sha512"];

/** Longer than any message that is hashed in one piece. */
const LONG_BYTES = 10_000;

const LONG = Uint8Array.from({ length: LONG_BYTES }, (_, index) => (index * 7) & 0xff);
const bytes = (length: number): Uint8Array => LONG.slice(LONG_BYTES - length);

const ofNode = (algorithm: Algorithm, key: Uint8Array, { before, body, after }: Message): Buffer =>
  createHmac(algorithm, key).update(before).update(body).update(after).digest();

describe.each(ALGORITHMS)("%s gives the same as Node's own HMAC", (algorithm) => {
  test("for keys of every length up to three blocks", () => {
    const message = { before: "v0:1700000000:", body: bytes(300), after: "" };
    const lengths = Array.from({ length: 3 * 128 }, (_, index) => index + 1);
    const differing = lengths.filter((length) => {
      const mac = createHmacKey(bytes(length)).mac(algorithm, message);
      return !mac.equals(ofNode(algorithm, bytes(length), message));
    });
    expect(differing).toEqual([]);
  });

  test("for bodies of every length, with one key", () => {
    const key = createHmacKey("secret");
    const lengths = Array.from({ length: 1_000 }, (_, index) => (index < 300 ? index : index * 10));
    const differing = lengths.filter((length) => {
      const message = { before: "v0:1:", body: bytes(length), after: "." };
      return !key.mac(algorithm, message).equals(ofNode(algorithm, Buffer.from("secret"), message));
    });
    expect(differing).toEqual([]);
  });

  test("for any key, any body and any texts, whatever was hashed before", () => {
    const text = fc.array(fc.nat(0xffff), { maxLength: 40 }).map((units) => String.fromCharCode(...units));
    const key = fc.uint8Array({ minLength: 1, maxLength: 300 });
    const body = fc.oneof(fc.uint8Array({ maxLength: 400 }), fc.nat(LONG_BYTES).map(bytes));
    fc.assert(
      fc.property(key, fc.array(fc.tuple(text, body, text), { minLength: 1, maxLength: 4 }), (secret, messages) => {
        const own = createHmacKey(secret);
        const given = messages.map(([before, content, after]) => ({ before, body: content, after }));
        const macs = given.map((message) => own.mac(algorithm, message));
        return given.every((message, index) => macs[index]?.equals(ofNode(algorithm, secret, message)));
      }),
    );
  });

  test("for texts that are not well-formed, and for long ones", () => {
    const key = createHmacKey("secret");
    for (const before of ["\ud800", "\udc00x", "ü€😀", "€".repeat(3_000), "x".repeat(9_000)]) {
      const message = { before, body: bytes(3), after: before };
      expect(key.mac(algorithm, message)).toEqual(ofNode(algorithm, Buffer.from("secret"), message));
    }
  });
});

test("one key serves several algorithms, in any order", () => {
  const key = createHmacKey("secret");
  const message = { before: "", body: bytes(10), after: "" };
  for (const algorithm of [...ALGORITHMS, ...ALGORITHMS])
    expect(key.mac(algorithm, message)).toEqual(ofNode(algorithm, Buffer.from("secret"), message));
});

test("what a key gave is not changed by what it gives next", () => {
  const key = createHmacKey("secret");
  const first = key.mac("sha256", { before: "", body: bytes(1), after: "" });
  const copy = Buffer.from(first);
  key.mac("sha256", { before: "", body: bytes(2), after: "" });
  expect(first).toEqual(copy);
});

test("the secret's own bytes are copied, so that a caller may overwrite them", () => {
  const secret = bytes(40);
  const message = { before: "", body: bytes(10), after: "" };
  const expected = ofNode("sha256", secret, message);
  const key = createHmacKey(secret);
  secret.fill(0);
  expect(key.mac("sha256", message)).toEqual(expected);
  expect(key.mac("sha256", message)).toEqual(expected);
});

describe("on a runtime without hashes of one call", () => {
  afterEach(() => {
    vi.doUnmock("node:crypto");
    vi.resetModules();
  });

  test.each(ALGORITHMS)("%s is the same", async (algorithm) => {
    vi.resetModules();
    vi.doMock("node:crypto", async (importOriginal) => ({ ...(await importOriginal<object>()), hash: undefined }));
    const { createHmacKey: createStreaming } = await import("../../src/protocol/signature/hmac.ts");
    for (const length of [0, 1, 300, LONG_BYTES]) {
      const message = { before: "v0:1700000000:", body: bytes(length), after: "." };
      expect(createStreaming("secret").mac(algorithm, message)).toEqual(
        ofNode(algorithm, Buffer.from("secret"), message),
      );
    }
  });
});
