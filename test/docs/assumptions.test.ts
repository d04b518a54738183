import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { pageOf, pages, root } from "./pages.ts";

const file = "docs/concepts/assumptions.md";
const page = pageOf(file);
const linked = new Set(
  [...page.text.matchAll(/\]\(([^)#\s]+)/g)].map(([, path = ""]) => relative(root, join(root, dirname(file), path))),
);

/** What the service leaves open; what a program does not know is another matter. */
const OPEN =
  /not documented|documents none|documented: do not|service (?:signs|does) (?:a redelivery|this|the same).*not known/;

test("each page that says what the service does not document is in the list of assumptions", () => {
  const open = pages.filter(({ file: name, text }) => name.startsWith("docs/") && name !== file && OPEN.test(text));
  expect(open.length).toBeGreaterThan(15);
  expect(open.map(({ file: name }) => name).filter((name) => !linked.has(name))).toEqual([]);
});
