import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { repository } from "./entries.ts";
import { run } from "./run.ts";

/** A folder of its own, outside the repository: inside, the package would find itself by name and hide missing files. */
export interface Project {
  readonly folder: string;
  remove(): void;
}

const QUIETLY = ["--no-audit", "--no-fund", "--loglevel=error"];

/** The tarball that `npm publish` would send, and the paths in it. Wants a built `dist/`. */
export async function pack(): Promise<Project & { readonly tarball: string; readonly files: readonly string[] }> {
  const project = newFolder("pack");
  const args = ["pack", "--json", "--ignore-scripts", "--loglevel=error", `--pack-destination=${project.folder}`];
  const printed = await run("npm", args, repository);
  // npm 11 prints a list, npm 12 an object by name.
  const packed = Object.values(JSON.parse(printed) as Record<string, { files: readonly { path: string }[] }>);
  const [name] = readdirSync(project.folder);
  if (packed[0] === undefined || name === undefined) throw new Error(`npm pack made no tarball:\n${printed}`);
  return { ...project, tarball: join(project.folder, name), files: packed[0].files.map(({ path }) => path) };
}

/** An empty project with the tarball installed and the same program in it as ESM (`use.mjs`) and as CommonJS (`use.cjs`). */
export async function emptyProject(tarball: string): Promise<Project> {
  const project = newFolder("project");
  writeFileSync(join(project.folder, "package.json"), JSON.stringify({ private: true }));
  await run("npm", ["install", ...QUIETLY, tarball], project.folder);
  for (const kind of ["mts", "cts"] as const) {
    const compilerOptions = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023 };
    const { outputText } = ts.transpileModule(usage(), { fileName: `use.${kind}`, compilerOptions });
    writeFileSync(join(project.folder, `use.${kind.replace("ts", "js")}`), outputText);
  }
  return project;
}

/** A project with users' compilers, the tarball, and the program as `use.mts` and `use.cts`. */
export async function compilersProject(tarball: string): Promise<Project> {
  const project = newFolder("compilers");
  cpSync(join(repository, "test/package/consumers"), project.folder, { recursive: true });
  await run("npm", ["ci", ...QUIETLY], project.folder);
  await run("npm", ["install", "--no-save", ...QUIETLY, tarball], project.folder);
  for (const kind of ["mts", "cts"]) writeFileSync(join(project.folder, `use.${kind}`), usage());
  return project;
}

function newFolder(purpose: string): Project {
  const folder = mkdtempSync(join(tmpdir(), `hookline-${purpose}-`));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function usage(): string {
  return readFileSync(join(repository, "test/package/usage.ts"), "utf8");
}
