import { expect, test } from "vitest";
import { shellWords } from "../../src/cli/explain/shell-words.ts";

const utf8 = (text: string): string => Buffer.from(text).toString("latin1");

// Each as bash splits it.
test.each<[string, readonly string[]]>([
  ["", []],
  [" a\tb  c ", ["a", "b", "c"]],
  [`'a b'"c d"e`, ["a bc de"]],
  [`'' ""`, ["", ""]],
  [String.raw`"\"\\\$\a"`, [String.raw`"\$\a`]],
  ['"a\\\nb\\\r\nc"', ["abc"]],
  [String.raw`'a'\''b'`, ["a'b"]],
  [String.raw`a\ b \\`, ["a b", "\\"]],
  ["a\\\nb \\\n c", ["ab", "c"]],
  [String.raw`$'\n\t\r\a\b\e\E\f\v\?\"\'\\'`, ["\n\t\r\u0007\b\u001B\u001B\f\v?\"'\\"]],
  [String.raw`$'\x41\x4a\x4A\101\1012\q'`, ["AJJAA2\\q"]],
  [String.raw`$'\u00e9\U0001F600\u41'`, [utf8("\u00E9\u{1F600}A")]],
  [`$"a b"`, ["a b"]],
  ["$HOME $ a$b 100%", ["$HOME", "$", "a$b", "100%"]],
  ["a?b=1&c=2", ["a?b=1&c=2"]],
  ["a | b", ["a"]],
  ["a; b", ["a"]],
  ["a && b", ["a"]],
  ["a & b", ["a"]],
  ["a > b", ["a"]],
  ["a\nb", ["a"]],
])("%j is split as a shell does", (line, words) => {
  expect(shellWords(line)).toEqual(words);
});

test("a number beyond Unicode becomes the sign for what cannot be shown", () => {
  expect(shellWords(String.raw`$'\UFFFFFFFF'`)).toEqual([utf8("\uFFFD")]);
});

test.each(["'a", '"a', '"a\\"', "$'a\\'", "a \\"])("%j is not at its end", (line) => {
  expect(shellWords(line)).toBeUndefined();
});
