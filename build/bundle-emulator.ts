import { build } from "esbuild";
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";

// Puts what the emulator needs of other packages into its own files, so that an app which installs hookline for its receiver gains no
// package. The compiler has run before: this replaces its files of src/emulator/ by a few, and copies the pages.
const root = join(import.meta.dirname, "..");
const folder = join(root, "dist/src/emulator");
const entryPoints = ["create-emulator.js", "load.js"].map((file) => join(folder, file));

const { metafile } = await build({
  entryPoints,
  outdir: folder,
  splitting: true,
  chunkNames: "shared-[hash]",
  allowOverwrite: true,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node22.16",
  external: ["zod"],
  metafile: true,
  logLevel: "warning",
  plugins: [
    {
      name: "shared-files",
      setup({ onResolve }) {
        // Classes of errors must be one for all entry points, and the sender's code is in hookline/testing as well.
        onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
          const target = relative(folder, resolve(resolveDir, path)).split(sep).join("/");
          if (resolveDir.includes("node_modules") || !/^(?:\.\.|wire)\//.test(target)) return undefined;
          return { path: target.startsWith(".") ? target : `./${target}`, external: true };
        });
      },
    },
  ],
});

const inputs = Object.keys(metafile.inputs).map((path) => resolve(path));
for (const path of inputs) if (path.startsWith(folder) && !entryPoints.includes(path)) rmSync(path);
rmSync(join(folder, "http"), { recursive: true });
for (const page of ["emulator/page", "dashboard/page", "page"])
  cpSync(join(root, "src", page), join(root, "dist/src", page), {
    recursive: true,
    filter: (path) => !path.endsWith(".ts"),
  });
writeFileSync(join(root, "THIRD_PARTY_LICENSES"), licenceTexts(bundledPackages()));

/** The folders of the packages that are in the bundle. */
function bundledPackages(): readonly string[] {
  const folders = inputs
    .filter((path) => path.includes("node_modules"))
    .map((path) => {
      let parent = dirname(path);
      while (!existsSync(join(parent, "package.json")) || nameOf(parent) === undefined) parent = dirname(parent);
      return parent;
    });
  return [...new Set(folders)].toSorted();
}

function nameOf(parent: string): string | undefined {
  return (JSON.parse(readFileSync(join(parent, "package.json"), "utf8")) as { readonly name?: string }).name;
}

function licenceTexts(folders: readonly string[]): string {
  const texts = folders.map((parent) => {
    const { name, version } = JSON.parse(readFileSync(join(parent, "package.json"), "utf8")) as Record<string, string>;
    return `${name} ${version}\n\n${readFileSync(join(parent, "LICENSE"), "utf8").trim()}\n`;
  });
  return `The emulator (dist/src/emulator/*.js) contains code of these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
