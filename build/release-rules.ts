/** What stands in the way of a release, of what can be read in files. @param read the text of a file of the repository, "" where there is none */
export function releaseProblems(read: (path: string) => string): readonly string[] {
  const { version } = JSON.parse(read("package.json")) as { readonly version: string };
  return [
    ...versionProblems(read, version),
    ...changelogProblems(read("CHANGELOG.md"), version),
    ...npmPageProblems(read),
    ...workflowProblems(read),
  ];
}

/** Where the version stands beside package.json. */
const VERSIONS: readonly (readonly [path: string, pattern: RegExp])[] = [
  ["package-lock.json", /^ {2}"version": "([^"]+)"/m],
  ["deploy/Dockerfile", /^ARG PACKAGE=hookline@(\S+)$/m],
  ["deploy/Dockerfile", /image\.version="([^"]+)"/],
  ["deploy/compose.yaml", /^ {2}image: hookline:(\S+)$/m],
  ["deploy/kubernetes/sqlite/statefulset.yaml", /image: \S+\/hookline:(\S+)$/m],
  ["deploy/kubernetes/postgres/deployment.yaml", /image: \S+\/hookline:(\S+)$/m],
  ["docs/deploy/container.md", /--tag hookline:(\S+)/],
  ["docs/deploy/kubernetes.md", /newTag: (\S+)$/m],
];

function versionProblems(read: (path: string) => string, version: string): readonly string[] {
  return VERSIONS.flatMap(([path, pattern]) => {
    const found = pattern.exec(read(path))?.[1];
    return found === version ? [] : `${path} has the version ${found ?? "nowhere"}, package.json ${version}.`;
  });
}

/** A release has a part of its own, with a date and something in it, and nothing is left above it. */
function changelogProblems(changelog: string, version: string): readonly string[] {
  const parts = changelog.split(/^## /m).slice(1);
  const own = parts.find((part) =>
    new RegExp(`^${version.replaceAll(".", String.raw`\.`)} \\(\\d{4}-\\d\\d-\\d\\d\\)\\n`).test(part),
  );
  const open = parts.find((part) => part.startsWith("Unreleased"));
  return [
    ...(own === undefined || isEmpty(own)
      ? [`CHANGELOG.md has no part "## ${version} (<date>)" with something in it.`]
      : []),
    ...(open !== undefined && !isEmpty(open)
      ? ['CHANGELOG.md has something under "Unreleased": move it under the version.']
      : []),
  ];
}

/** What npm would show with links and pictures that lead nowhere. */
function npmPageProblems(read: (path: string) => string): readonly string[] {
  const { repository, homepage } = JSON.parse(read("package.json")) as { repository?: unknown; homepage?: unknown };
  const empty = Object.entries({ repository, homepage }).filter(([, value]) => value === undefined);
  const unreleased = ["README.md", "docs/start/quickstart.md", "docs/mounts/index.md", "docs/deploy/server.md"].filter(
    (path) => /^Until the first release\b/m.test(read(path)),
  );
  return [
    ...empty.map(([name]) => `package.json has no \`${name}\`: links of the README do not work on npm.`),
    ...unreleased.map((path) => `${path} says that there is no release: remove the paragraph.`),
  ];
}

const isEmpty = (part: string): boolean => part.split("\n").slice(1).join("").trim() === "";

const RELEASE = ".github/workflows/release.yml";

/** What npm and who installs the package can check: that this repository built it, by this workflow. */
function workflowProblems(read: (path: string) => string): readonly string[] {
  const wanted: readonly (readonly [path: string, pattern: RegExp, what: string])[] = [
    [RELEASE, /^ +id-token: write/m, "the right to sign (`id-token: write`)"],
    [RELEASE, /npm publish .*--provenance/, "`npm publish --provenance`"],
    [RELEASE, /npm run release:check/, "`npm run release:check`"],
    [RELEASE, /^ +run: \.ci\/run$/m, "`.ci/run`"],
    [".github/workflows/ci.yml", /^ +run: \.ci\/run$/m, "`.ci/run`"],
  ];
  const missing = wanted.flatMap(([path, pattern, what]) => (pattern.test(read(path)) ? [] : `${path} lacks ${what}.`));
  const loose = [RELEASE, ".github/workflows/ci.yml"].flatMap((path) =>
    [...read(path).matchAll(/uses: (\S+)/g)].flatMap(([, action = ""]) =>
      /@[0-9a-f]{40}$/.test(action) || action.startsWith("actions/")
        ? []
        : `${path} uses ${action}, expected a commit.`,
    ),
  );
  return [...missing, ...loose];
}
