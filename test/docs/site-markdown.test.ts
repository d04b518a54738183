import { expect, test } from "vitest";
import { withoutEnd } from "../../docs/.vitepress/markdown.ts";
import { blocksOf, pages } from "./pages.ts";

const blocks = pages.filter(({ file }) => file.startsWith("docs/")).flatMap((page) => blocksOf(page, "ts"));

test("the site shows examples without the lines that end them for their test, and nothing else is missing", () => {
  const ended = blocks.filter((code) => /^await receiver\.close\(\);$/m.test(code.trimEnd().split("\n").at(-1) ?? ""));
  expect(ended.length).toBeGreaterThan(20);
  expect(ended.filter((code) => withoutEnd(code).trimEnd().endsWith("await receiver.close();"))).toEqual([]);
  for (const code of blocks) {
    const hidden = code.slice(withoutEnd(code).length).trim();
    expect(code.startsWith(withoutEnd(code))).toBe(true);
    expect(hidden).not.toMatch(/\b(?:on|start|listen|receive|console\.log|assert\S*)\(/);
  }
});

test("a link has the title of its page or words of the sentence, not the name of a file", () => {
  const named = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/\[([\w./-]+\.md)\]\(/g)].map(([, name]) => `${file}: ${name}`),
  );
  expect(named).toEqual([]);
});
