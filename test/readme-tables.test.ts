import { describe, expect, it } from "vitest";
import { memoryInbox } from "hookline";
import { resolveOptions } from "../src/receiver/options.ts";
import { errorCodes, options, problems, readmeTable, refusals } from "./support/readme-tables.ts";

describe("the README's tables say what the code does:", () => {
  it("every refusal with its status, its message and its fix", () => {
    expect(readmeTable("refusals")).toEqual(refusals());
  });

  it("every problem of health, in the order in which it is told, with its meaning and its fix", () => {
    expect(readmeTable("problems")).toEqual(problems());
  });

  it("every error that the code makes, and no other", () => {
    const told = readmeTable("errors").map(([code]) => code?.replaceAll("`", ""));
    const refused = readmeTable("refusals").map(([code]) => code?.replaceAll("`", ""));
    const codes = errorCodes();
    expect(new Set([...told, ...refused].filter((code) => codes.has(code ?? "")))).toEqual(codes);
    expect(told.filter((code) => !codes.has(code ?? ""))).toEqual([]);
  });

  it("every option with its default", () => {
    const told = readmeTable("options").map(([name, , byDefault]) => [name?.replaceAll("`", ""), byDefault]);
    expect(told).toEqual(options().map(({ name, default: byDefault }) => [name, byDefault ?? ""]));
  });

  it("defaults that the code has", () => {
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
