import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { boundaries } from "../../lint/import-boundaries.ts";
import { root } from "./pages.ts";

describe("docs/extend/architecture.md", () => {
  const page = readFileSync(join(root, "docs/extend/architecture.md"), "utf8");

  test("names files that exist", () => {
    const paths = page.match(/\b(?:src|adapters|test|lint|docs)\/[\w./-]*\w\/?/g) ?? [];
    expect(paths.length).toBeGreaterThan(60);
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("draws the import directions that lint enforces", () => {
    const drawing = readFileSync(join(root, "docs/pictures/import-directions.mmd"), "utf8");
    const modules = new Map([...drawing.matchAll(/(\w+)\["([^",]+)/g)].map(([, id = "", path = ""]) => [id, path]));
    const arrows = [...drawing.matchAll(/^ *(\w+)\S* .*?--> (\w+)/gm)].map(
      ([, from = "", to = ""]) => `${modules.get(from)} -> ${modules.get(to)}`,
    );
    // The entry points list what the modules export; the port is a part of the inbox.
    const drawn = [...modules.values()];
    const allowed = drawn.flatMap((from) => {
      const { may = [] } = boundaries.find(({ module }) => module === from) ?? {};
      return drawn
        .filter((to) => to !== from && may.some((one) => (one.endsWith("/") ? to.startsWith(one) : to === one)))
        .filter((to) => to !== "src/inbox/port/" || may.includes(to))
        .map((to) => `${from} -> ${to}`);
    });
    const entry = "src/index.ts ->";
    expect(arrows.filter((arrow) => !arrow.startsWith(entry)).toSorted()).toEqual(
      allowed.filter((arrow) => !arrow.startsWith(entry)).toSorted(),
    );
  });
});
