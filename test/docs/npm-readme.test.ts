import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { pageOf, root } from "./pages.ts";

/** Stands for the one that is not known yet (docs/extend/releasing.md). */
const REPOSITORY = "https://github.com/owner/hookline";

/** The README as npm shows it: relative links and pictures are those of the repository. */
function asNpmShows(text: string, repository: string): string {
  const raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/");
  return text.replaceAll(
    /(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)/g,
    (_, picture: string, words: string, path: string) =>
      picture === "" ? `[${words}](${repository}/blob/HEAD/${path})` : `![${words}](${raw}/HEAD/${path})`,
  );
}

const readme = pageOf("README.md").text;
const shown = asNpmShows(readme, REPOSITORY);
const urls = [...shown.matchAll(/\]\((https?:[^)\s]+)\)/g)].map(([, url = ""]) => url);

test("each link and picture of the README leads to a file of the repository, or to another site", () => {
  expect(shown).not.toMatch(/\]\((?!https?:|#)/);
  const own = urls.filter((url) => url.includes("owner/hookline"));
  expect(own.length).toBeGreaterThan(40);
  const paths = own.map((url) => url.replace(/^.*\/HEAD\//, "").replace(/#.*/, ""));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  expect(urls.filter((url) => url.startsWith("https://raw."))).toEqual([
    expect.stringMatching(/\.svg$/),
    expect.stringMatching(/\.png$/),
    expect.stringMatching(/\.png$/),
  ]);
});

test("what npm would not render is not there: HTML, and anchors without a heading", () => {
  expect(readme.replaceAll(/^```.*?^```$/gms, "").replaceAll(/`[^`]*`/g, "")).not.toMatch(/<[a-z/!]/i);
  const headings = [...readme.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(" ", "-"),
  );
  const anchors = [...readme.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor);
  expect(headings).toEqual(expect.arrayContaining(anchors));
});

test("while there is no repository, one page says so, and README and quickstart install from a tarball", () => {
  const isUnknown = !("repository" in manifest) && !("homepage" in manifest);
  expect(pageOf("docs/extend/releasing.md").text).toContain("`repository` and `homepage`");
  for (const file of ["README.md", "docs/start/quickstart.md"]) {
    const [paragraph = ""] = /^Until the first release.*?(?=\n\n)/ms.exec(pageOf(file).text) ?? [];
    expect(paragraph !== "").toBe(isUnknown);
    if (isUnknown) {
      expect(paragraph).toContain(`hookline-${manifest.version}.tgz express`);
      for (const [, script = ""] of paragraph.matchAll(/npm run (\w+)/g))
        expect(manifest.scripts).toHaveProperty(script);
    }
  }
  const others = ["README.md", "CONTRIBUTING.md"].map((file) => readFileSync(join(root, file), "utf8"));
  expect(others.join("")).not.toContain("github.com/owner");
});

test("the landing page shows the README's program, version and licence", () => {
  const programOf = (text: string): string => /^```ts file=app\.ts\n(.*?)^```$/ms.exec(text)?.[1] ?? "";
  const { text } = pageOf("docs/index.md");
  expect(programOf(text)).toBe(programOf(readme));
  expect(programOf(text)).not.toBe("");
  expect(text).toContain(`Version ${manifest.version}, [${manifest.license} licence]`);
});
