import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** A runtime other than Node. */
export type Runtime = "bun" | "deno" | "workerd";

/** Where the package of a platform has its binary. The main package would link it in an install script, which is disabled here. */
const BINARIES: Readonly<Record<Runtime, readonly string[]>> = {
  bun: ["bin/bun", "bin/bun.exe"],
  deno: ["deno", "deno.exe"],
  workerd: ["bin/workerd", "bin/workerd.exe"],
};

/** The runtime's binary that npm installed for this platform. */
export function binaryOf(runtime: Runtime): string {
  const require = createRequire(join(import.meta.dirname, "node_modules", runtime, "package.json"));
  const { optionalDependencies } = require("./package.json") as { optionalDependencies: Record<string, string> };
  for (const name of Object.keys(optionalDependencies)) {
    const folder = join(import.meta.dirname, "node_modules", name);
    const found = BINARIES[runtime].map((path) => join(folder, path)).find((path) => existsSync(path));
    if (found !== undefined) return found;
  }
  throw new Error(`No binary of ${runtime} is installed. Run \`npm ci --prefix test/mounts --ignore-scripts\`.`);
}
