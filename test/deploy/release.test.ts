import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { billOfMaterials, licenceProblems, nameOf } from "../../build/bill-of-materials.ts";
import { releaseProblems } from "../../build/release-rules.ts";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../docs/pages.ts";

const { version } = manifest;
const READY = `# Changelog\n\n## Unreleased\n\n## ${version} (2026-11-24)\n\n- All of it.\n`;

/** The repository as it is, but for some files. */
function repository(changes: Readonly<Record<string, (text: string) => string>> = {}) {
  const files = {
    "CHANGELOG.md": () => READY,
    "package.json": (text: string) => withUrls(text),
    "README.md": released,
    "docs/start/quickstart.md": released,
    "docs/mounts/index.md": released,
    "docs/deploy/server.md": released,
    ...changes,
  };
  return (path: string): string => {
    const text = existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "";
    return (files as typeof changes)[path]?.(text) ?? text;
  };
}

/** As docs/extend/releasing.md asks. */
const withUrls = (text: string): string =>
  JSON.stringify({
    ...(JSON.parse(text) as object),
    repository: "github:owner/hookline",
    homepage: "https://example.com",
  });
const released = (text: string): string => text.replace(/^Until the first release.*?\n\n/ms, "");

describe("npm run release:check", () => {
  test("finds nothing where all fits", () => expect(releaseProblems(repository())).toEqual([]));

  test.each<[file: string, says: RegExp, change: (text: string) => string]>([
    ["package-lock.json", /has the version 9\.9\.9/, (text) => text.replace(version, "9.9.9")],
    ["deploy/Dockerfile", /has the version 9\.9\.9/, (text) => text.replace(`hookline@${version}`, "hookline@9.9.9")],
    ["deploy/compose.yaml", /has the version nowhere/, (text) => text.replace(/image: hookline:\S+/, "")],
    ["docs/deploy/kubernetes.md", /has the version 0\.0\.1/, (text) => text.replace(/newTag: \S+/, "newTag: 0.0.1")],
    ["CHANGELOG.md", /has no part/, () => "# Changelog\n\n## Unreleased\n"],
    ["CHANGELOG.md", /has no part/, () => READY.replace("- All of it.\n", "")],
    ["CHANGELOG.md", /something under "Unreleased"/, () => READY.replace("Unreleased\n", "Unreleased\n\n- More.\n")],
    ["package.json", /has no `homepage`/, (text) => withUrls(text).replace("homepage", "home")],
    ["package.json", /has no `repository`/, (text) => withUrls(text).replace("repository", "home")],
    ["README.md", /says that there is no release/, (text) => text],
    [".github/workflows/release.yml", /lacks `npm publish --provenance`/, (text) => text.replace(" --provenance", "")],
    [".github/workflows/release.yml", /lacks the right to sign/, (text) => text.replace("id-token: write", "")],
    [
      ".github/workflows/release.yml",
      /lacks `npm run release:check`/,
      (text) => text.replace("release:check", "build"),
    ],
    [".github/workflows/ci.yml", /lacks `.ci\/run`/, (text) => text.replace("run: .ci/run", "run: npm test")],
    [".github/workflows/ci.yml", /expected a commit/, (text) => text.replace("actions/checkout", "someone/checkout")],
  ])("%s: %s", (file, says, change) => {
    expect(releaseProblems(repository({ [file]: change }))).toEqual([expect.stringMatching(says)]);
  });
});

test("the bill of materials has what npm installs and what is in the package's own files, under free licences", () => {
  const bill = billOfMaterials();
  expect(bill).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "hookline", version } } });
  const names = bill.components.map(nameOf);
  expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  expect(names).toEqual(expect.arrayContaining(["hono", "temporal-polyfill"]));
  expect(names).not.toContain("vitest");
  expect(licenceProblems(bill)).toEqual([]);
  const [first, ...others] = bill.components;
  const unfree = { ...first!, licenses: [{ license: { id: "AGPL-3.0-only" } }] };
  expect(licenceProblems({ ...bill, components: [unfree, ...others] })).toEqual([
    expect.stringContaining("AGPL-3.0-only"),
  ]);
});
