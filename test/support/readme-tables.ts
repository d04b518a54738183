import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROBLEMS } from "../../src/receiver/health/problem-catalog.ts";
import { REFUSALS } from "../../src/ingest/responses.ts";

const root = join(import.meta.dirname, "../..");

/** The rows of a table of the README, by the marker above it: cells as they read, without the two rows of its head. */
export function readmeTable(marker: string): readonly (readonly string[])[] {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const start = readme.indexOf(`<!-- ${marker} -->`);
  if (start === -1) throw new Error(`README.md has no table marked ${marker}.`);
  const lines = readme.slice(start).split("\n");
  const first = lines.findIndex((line) => line.startsWith("|"));
  const end = lines.findIndex((line, index) => index > first && !line.startsWith("|"));
  return lines.slice(first + 2, end).map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Why a request was refused, with its status and the fix. */
export function refusals(): readonly (readonly string[])[] {
  return Object.entries(REFUSALS).map(([code, { status, message, fix }]) => [
    `\`${code}\``,
    String(status),
    message,
    fix,
  ]);
}

/** What `health()` may tell, with what to do. */
export function problems(): readonly (readonly string[])[] {
  return Object.entries(PROBLEMS).map(([code, { message, fix }]) => [`\`${code}\``, message, fix]);
}

/** Every option of `createReceiver` with its default, as its documentation says. */
export function options(): readonly { readonly name: string; readonly default: string | undefined }[] {
  const source = readFileSync(join(root, "src/receiver/options.ts"), "utf8");
  const body = source.slice(source.indexOf("export interface ReceiverOptions"), source.indexOf("const DAY_SECONDS"));
  const found: { name: string; default: string | undefined }[] = [];
  let group = "";
  for (const [, comment, indent, name, rest] of body.matchAll(
    /(?:\/\*\*((?:(?!\*\/)[^])*?)\*\/\s*)?^( +)(\w+)\??:(.*)$/gm,
  )) {
    if (rest?.trim() === "") {
      group = `${name}.`;
      continue;
    }
    const text = comment?.replace(/\s*\*\s*/g, " ").match(/@default (.*?)\s*$/)?.[1];
    found.push({ name: indent?.length === 8 ? `${group}${name}` : `${name}`, default: text });
  }
  return found;
}

/** The codes of errors that the sources make. */
export function errorCodes(): ReadonlySet<string> {
  const codes = new Set<string>();
  for (const folder of ["src", "adapters"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || file.startsWith("cli/")) continue;
      const source = readFileSync(join(root, folder, file), "utf8");
      for (const [, code] of source.matchAll(/(?:new \w*Error|super)\(\s*"([a-z-]+)"/g)) codes.add(code ?? "");
    }
  }
  return codes;
}
