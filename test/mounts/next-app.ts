import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, "../..");
const SOURCE = join(ROOT, "test/adapters/next-app");
const PROBED = join(ROOT, "test/suites/http/probed-receiver.ts");
/** Below the folder with Next; ignored by Git. */
const FOLDER = join(import.meta.dirname, ".next-app");
const NEXT = join(import.meta.dirname, "node_modules/next/dist/bin/next");

/** Without the test runner's environment, and without telemetry. */
const ENV = { PATH: process.env["PATH"], CI: "1", NEXT_TELEMETRY_DISABLED: "1" };

export interface NextServer {
  readonly url: string;
  /** Its output so far. */
  printed(): string;
  /** Its exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * Builds the app of test/adapters/next-app with the files of examples/next.ts, and with the built package. Next gets
 * JavaScript: for TypeScript it would install packages that only an app with pages needs.
 */
export async function buildNextApp(): Promise<void> {
  rmSync(FOLDER, { recursive: true, force: true });
  const hookline = join(FOLDER, "node_modules/hookline");
  await tsc("-p", "tsconfig.build.json", "--noCheck", "--outDir", join(hookline, "dist"));
  cpSync(join(ROOT, "package.json"), join(hookline, "package.json"));
  for (const file of readdirSync(SOURCE, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isFile()) put(relative(SOURCE, path), readFileSync(path, "utf8").replaceAll("../../suites/http/", "./"));
  }
  // Of the built package, as all of the app.
  put("probed-receiver.ts", readFileSync(PROBED, "utf8").replaceAll(/"(?:\.\.\/)+src\/[^"]+"/g, '"hookline"'));
  const example = readFileSync(join(ROOT, "examples/next.ts"), "utf8");
  put("receiver.ts", example);
  for (const [, name = "", text = ""] of example.matchAll(/^\/\/ {3}(\S+): (.+)$/gm))
    put(name.replace("next.config", "example.config"), text);
  put("package.json", '{ "type": "module", "private": true }');
  await run(process.execPath, [NEXT, "build"], { cwd: FOLDER, env: ENV });
}

/** Serves the built app on a free port of this machine. */
export async function startNextApp(env: Readonly<Record<string, string>>): Promise<NextServer> {
  const child = spawn(process.execPath, [NEXT, "start", "--hostname", "127.0.0.1", "--port", "0"], {
    cwd: FOLDER,
    env: { ...ENV, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  let printed = "";
  const url = new Promise<string>((resolve) => {
    const look = (text: string): void => {
      printed += text;
      const [found] = printed.match(/http:\/\/127\.0\.0\.1:\d+(?=[^]*Ready)/) ?? [];
      if (found !== undefined) resolve(found);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", look);
  });
  const failed = ended.then((code) => Promise.reject(new Error(`next start ended with ${code}:\n${printed}`)));
  return {
    url: await Promise.race([url, failed]),
    printed: () => printed,
    end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** Type errors in a file of the app, with Next's own types. */
export async function typeErrorsOf(text: string): Promise<string> {
  const file = join(FOLDER, "types.ts");
  writeFileSync(file, text);
  const bundler = ["--module", "esnext", "--moduleResolution", "bundler", "--target", "es2023"];
  const flags = [
    "--ignoreConfig",
    "--noEmit",
    "--strict",
    "--exactOptionalPropertyTypes",
    "--skipLibCheck",
    "--types",
    "node",
  ];
  return tsc(...flags, ...bundler, file).then(
    () => "",
    ({ stdout }: { stdout: string }) => stdout,
  );
}

async function tsc(...args: readonly string[]): Promise<void> {
  await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), ...args], { cwd: ROOT });
}

function put(name: string, text: string): void {
  const file = join(FOLDER, name);
  mkdirSync(dirname(file), { recursive: true });
  if (!name.endsWith(".ts")) return writeFileSync(file, text);
  const compilerOptions = { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext };
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: { ...compilerOptions, verbatimModuleSyntax: true, rewriteRelativeImportExtensions: true },
  });
  writeFileSync(file.replace(/\.ts$/, ".js"), outputText);
}
