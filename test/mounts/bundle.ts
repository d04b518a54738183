import { build, type BuildOptions, type Metafile } from "esbuild";

/** As bundlers for Workers do: browser builds of packages, and Node's modules from the runtime. */
export const FOR_WORKERS: BuildOptions = {
  platform: "browser",
  conditions: ["hookline-source", "workerd", "worker", "browser"],
  external: ["node:*", "cloudflare:*"],
};

/** For a function on Node. */
export const FOR_NODE: BuildOptions = {
  platform: "node",
  conditions: ["hookline-source"],
  external: ["fast-check", "@nestjs/*", "pg", "@aws-sdk/*", "@opentelemetry/api"],
};

/** Bundles a program to one file, with the metafile. */
export async function bundle(options: BuildOptions): Promise<{ readonly code: string; readonly metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    bundle: true,
    format: "esm",
    target: "es2024",
    logLevel: "silent",
    ...options,
    write: false,
    metafile: true,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error("esbuild made no file.");
  return { code: file.text, metafile };
}
