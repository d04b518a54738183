import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isGoodToken, MAX_TOKEN_CHARACTERS, tokenOf } from "../../src/protocol/handshake.ts";

describe("the token of a handshake", () => {
  test.each([
    ["/hooks?validationToken=abc", "abc"],
    ["https://example.com/hooks?validationToken=abc", "abc"],
    ["/hooks?x=y&validationToken=abc", "abc"],
    ["/hooks?validationToken=a%2Bb%20c%2F%3A", "a+b c/:"],
    ["/hooks?validationToken=a+b", "a b"],
    ["/hooks?validationToken=%2525", "%25"],
    ["/hooks?validationToken=first&validationToken=second", "first"],
    ["/hooks?validationToken=&validationToken=second", ""],
    ["/hooks?validationToken", ""],
    ["/hooks?validationToken=", ""],
    ["/hooks?validationToken=abc#part", "abc"],
    ["/hooks?validationToken=%E2%82%AC%ff", "€\u{fffd}"],
    ["/hooks?%76alidationToken=abc", "abc"],
    ["/hooks?validation%54oken=a%2Bb", "a+b"],
    ["/hooks?x=%20&%76%61lidationToken=abc&validationToken=second", "abc"],
    ["/hooks?validationToken=first&%76alidationToken=second", "first"],
    ["/hooks?validation%74oken=abc", undefined],
    ["/hooks?%2576alidationToken=abc", undefined],
    ["/hooks?x=%zz&validation%=y", undefined],
    ["/%76alidationToken=abc", undefined],
    ["/hooks%3FvalidationToken=abc", undefined],
    ["/hooks?a=%20#%76alidationToken=abc", undefined],
    ["/hooks", undefined],
    ["/hooks?", undefined],
    ["/validationToken", undefined],
    ["/validationToken?x=y", undefined],
    ["/hooks?x=validationToken", undefined],
    ["/hooks?validationTokens=abc", undefined],
    ["/hooks?validationtoken=abc", undefined],
    ["/hooks?x=y#validationToken=abc", undefined],
    ["", undefined],
  ])("of %s is %j", (url, token) => {
    expect(tokenOf(url)).toBe(token);
  });

  test("comes back as it was sent, whatever it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (token) => {
        expect(tokenOf(`/hooks?validationToken=${encodeURIComponent(token)}`)).toBe(token);
        expect(tokenOf(`/hooks?${new URLSearchParams({ validationToken: token }).toString()}`)).toBe(token);
      }),
    );
  });

  test("is found however its name is written", () => {
    const written = fc
      .tuple(...Array.from("validationToken", (letter) => fc.tuple(fc.constant(letter), fc.constantFrom(0, 1, 2))))
      .map((letters) =>
        letters
          .map(([letter, how]) => {
            const hex = `%${letter.charCodeAt(0).toString(16)}`;
            return [letter, hex, hex.toUpperCase()][how];
          })
          .join(""),
      );
    fc.assert(
      fc.property(written, (name) => {
        expect(tokenOf(`/hooks?a=b&${name}=abc`)).toBe("abc");
      }),
    );
  });

  test("never throws on a strange URL", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (query) => {
        expect(tokenOf(`/?validationToken=${query}`)).toBeTypeOf("string");
      }),
    );
  });
});

test("a good token has 1 to 1,024 characters", () => {
  const good = ["", "a", "a".repeat(MAX_TOKEN_CHARACTERS), "a".repeat(MAX_TOKEN_CHARACTERS + 1), undefined].map(
    isGoodToken,
  );
  expect(good).toEqual([false, true, true, false, false]);
});
