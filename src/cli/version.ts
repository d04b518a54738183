import { createRequire } from "node:module";

export function version(): string {
  return manifest().version;
}

/** Why this Node cannot run the program; undefined where it can. What an old one lacks would end a command in its middle. */
export function tooOldNode(running: string): string | undefined {
  const oldest = manifest().engines.node.replace(">=", "");
  if (running.localeCompare(oldest, "en", { numeric: true }) >= 0) return undefined;
  return `This is Node ${running}, and Hookline needs Node ${oldest} or newer: install one, such as the current LTS version.`;
}

/** By the package's own name: the sources and the build are at different depths. */
function manifest() {
  return createRequire(import.meta.url)("hookline/package.json") as {
    readonly version: string;
    readonly engines: { readonly node: string };
  };
}
