import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { pages, root } from "./pages.ts";

const anchors = new Map(pages.map(({ file, text }) => [file, new Set(headings(text).map(toAnchor))]));

test.each(pages)("$file links to files and headings that there are", ({ file, text }) => {
  const links = [...withoutCode(text).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, target = ""]) => target);
  const broken = links.filter((link) => {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? file : relative(root, join(root, dirname(file), path));
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && anchors.get(target)?.has(anchor) === false;
  });
  expect(broken).toEqual([]);
});

test("every page is reached from the README in two clicks", () => {
  const linked = (from: string): readonly string[] => {
    const page = pages.find(({ file }) => file === from);
    return [...(page?.text.matchAll(/\]\((?!https?:)([^)#\s]+\.md)[^)]*\)/g) ?? [])].map(([, path = ""]) =>
      relative(root, join(root, dirname(from), path)),
    );
  };
  const first = linked("README.md");
  const reached = new Set(["README.md", ...first, ...first.flatMap(linked)]);
  expect(pages.map(({ file }) => file).filter((file) => !reached.has(file) && file !== "docs/index.md")).toEqual([]);
});

function headings(text: string): readonly string[] {
  return [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading);
}

function withoutCode(text: string): string {
  return text.replaceAll(/^```.*?^```$/gms, "");
}

/** As GitHub makes it of a heading. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}
