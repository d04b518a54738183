import { createRequire } from "node:module";

/** By the package's own name: the sources and the build are at different depths. */
export function version(): string {
  return (createRequire(import.meta.url)("hookline/package.json") as { readonly version: string }).version;
}
