import { memoryInbox } from "hookline";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { REFUSALS } from "../src/ingest/responses.ts";
import { PROBLEMS } from "../src/receiver/health/problem-catalog.ts";
import { resolveOptions } from "../src/receiver/options.ts";

const root = join(import.meta.dirname, "..");

describe("the README's tables match the code:", () => {
  it("every refusal with its status, its message and its fix", () => {
    expect(readmeTable("refusals")).toEqual(refusals());
  });

  it("every problem of health, in the order of `health()`, with its meaning and its fix", () => {
    expect(readmeTable("problems")).toEqual(problems());
  });

  it("every error of the code, and no other", () => {
    const listed = readmeTable("errors").map(([code]) => code?.replaceAll("`", ""));
    const refused = readmeTable("refusals").map(([code]) => code?.replaceAll("`", ""));
    const codes = errorCodes();
    expect(new Set([...listed, ...refused].filter((code) => codes.has(code ?? "")))).toEqual(codes);
    expect(listed.filter((code) => !codes.has(code ?? ""))).toEqual([]);
  });

  it("every option with its default", () => {
    const listed = readmeTable("options").map(([name, , byDefault]) => [name?.replaceAll("`", ""), byDefault]);
    expect(listed).toEqual(options().map(({ name, default: byDefault }) => [name, byDefault ?? ""]));
  });

  it("the same defaults as the code", () => {
    const resolved = resolveOptions({ secret: "s", inbox: memoryInbox() });
    const { limits, gateTimeoutMs, maxUnsubscribesPerHour, ...rest } = resolved;
    const values: Record<string, unknown> = {
      ...rest,
      ...limits,
      "gate.timeoutMs": gateTimeoutMs,
      "gate.maxUnsubscribesPerHour": maxUnsubscribesPerHour,
    };
    for (const { name, default: byDefault = "" } of options()) {
      const number = /^([\d_]+)( MiB)?/.exec(byDefault);
      if (number === null || byDefault.includes("days;")) continue;
      expect([name, values[name]]).toEqual([
        name,
        Number(number[1]?.replaceAll("_", "")) * (number[2] ? 1024 ** 2 : 1),
      ]);
    }
    expect(resolved.dedupeWindowMs).toBe(8 * 86_400_000);
    expect(resolved.maxStuck).toBe(resolved.concurrency);
    expect(resolved.limits.attempts).toBe(Infinity);
  });
});

/** The rows of a table of the README, by the marker above it: cells as they read, without the two rows of its head. */
function readmeTable(marker: string): readonly (readonly string[])[] {
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
function refusals(): readonly (readonly string[])[] {
  return Object.entries(REFUSALS).map(([code, { status, message, fix }]) => [
    `\`${code}\``,
    String(status),
    message,
    fix,
  ]);
}

/** What `health()` may tell, with what to do. */
function problems(): readonly (readonly string[])[] {
  return Object.entries(PROBLEMS).map(([code, { message, fix }]) => [`\`${code}\``, message, fix]);
}

/** Every option of `createReceiver` with its default, as its documentation says. */
function options(): readonly { readonly name: string; readonly default: string | undefined }[] {
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
function errorCodes(): ReadonlySet<string> {
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
