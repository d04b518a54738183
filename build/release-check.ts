import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { billOfMaterials, licenceProblems } from "./bill-of-materials.ts";
import { releaseProblems } from "./release-rules.ts";

// All that must hold before `npm publish`, and nobody sees by reading. Tests are run by `.ci/run`.
const root = join(import.meta.dirname, "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };

/** A build from scratch, as npm would send it. */
function packed(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookline-release-"));
  try {
    run("npm", ["run", "build"]);
    run("npm", ["pack", "--ignore-scripts", `--pack-destination=${folder}`]);
    const [name = ""] = readdirSync(folder);
    return createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

const read = (path: string): string => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");
const problems = [...releaseProblems(read)];
const changed = run("git", ["status", "--porcelain"]).trim();
if (changed !== "") problems.push(`Files are not committed:\n${changed}`);
// Of the workflow that a tag has started.
const { GITHUB_REF_TYPE: kind, GITHUB_REF_NAME: tag } = process.env;
if (kind === "tag" && tag !== `v${version}`) problems.push(`The tag is ${tag}, expected v${version}.`);
const [first, second] = [packed(), packed()];
if (first !== second) problems.push(`Two builds gave two tarballs: sha256 ${first} and ${second}.`);
const bill = billOfMaterials();
problems.push(...licenceProblems(bill));
writeFileSync(join(root, "hookline.cdx.json"), `${JSON.stringify(bill, undefined, 2)}\n`);

for (const problem of problems) console.error(problem);
console.log(
  problems.length === 0 ? `${version} may be released: sha256 ${first}.` : `${version} must not be released.`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
