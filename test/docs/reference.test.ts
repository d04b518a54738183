import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import { OLDEST_VERSION, prepareSchema, SCHEMA_VERSION } from "../../adapters/inbox/sqlite/schema/tables.ts";
import { referencePages } from "../../docs/tools/reference-pages.ts";
import { PROBLEMS } from "../../src/receiver/health/problem-catalog.ts";
import { resolveOptions } from "../../src/receiver/options.ts";
import { EVENT_NAMES } from "../../src/protocol/event-names.ts";
import { UNIFIED_ROWS } from "../client/protocol-table.ts";
import { DESCRIBED_OPERATIONS } from "./described-operations.ts";
import { root } from "./pages.ts";

const generated = await referencePages();

test.each([...generated.keys()])("%s is as the code says (npm run docs:reference)", (file) => {
  expect(readFileSync(join(root, file), "utf8")).toBe(generated.get(file));
});

test("docs/reference has no other page", () => {
  const pages = readdirSync(join(root, "docs/reference")).filter((name) => name.endsWith(".md"));
  expect(pages.map((name) => `docs/reference/${name}`).toSorted()).toEqual([...generated.keys()].toSorted());
});

test("the runbook has a section for each problem, in the order of `health()`", () => {
  const runbook = readFileSync(join(root, "docs/operate/runbook.md"), "utf8");
  const sections = [...runbook.matchAll(/^#+ `?([a-z-]+)`?$/gm)].map(([, code = ""]) => code);
  expect(sections.filter((code) => code in PROBLEMS)).toEqual(Object.keys(PROBLEMS));
});

test("each code of the log has its meaning in docs/operate/monitoring.md", () => {
  const documented = ["operate/monitoring", "reference/answers", "reference/problems"]
    .map((page) => readFileSync(join(root, `docs/${page}.md`), "utf8"))
    .join("");
  const logged = globSync(
    ["src/{dashboard,dispatch,gaps,inbox,ingest,observe,receiver,subscriptions}/**/*.ts", "adapters/inbox/**/*.ts"],
    {
      cwd: root,
    },
  ).flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(/\.(?:info|warn|error)\(\s*\{[^}]*\bcode: "([a-z-]+)"/g)].map(
      ([, code]) => code,
    ),
  );
  expect(new Set(logged).size).toBeGreaterThan(50);
  expect([...new Set(logged)].filter((code) => !documented.includes(`\`${code}\``))).toEqual([]);
});

test("the defaults that the options' comments say are those of the code", () => {
  const { limits, gateTimeoutMs, maxUnsubscribesPerHour, ...rest } = resolveOptions({
    secret: "s",
    inbox: memoryInbox(),
  });
  const values: Record<string, unknown> = {
    ...rest,
    ...limits,
    "gate.timeoutMs": gateTimeoutMs,
    "gate.maxUnsubscribesPerHour": maxUnsubscribesPerHour,
  };
  const table = generated.get("docs/reference/options.md")?.split("## receiver.on")[0] ?? "";
  const numbers = [...table.matchAll(/^\| `([\w.]+)` \|.*\| ([\d_]+)( MiB)?[^|]*\|$/gm)].filter(
    ([, name]) => name !== "dedupe.windowSeconds",
  );
  expect(numbers.length).toBeGreaterThan(10);
  for (const [, name = "", digits = "", isMiB] of numbers)
    expect([name, values[name]]).toEqual([name, Number(digits.replaceAll("_", "")) * (isMiB ? 1024 ** 2 : 1)]);
  expect(rest.dedupeWindowMs).toBe(8 * 86_400_000);
  expect(rest.maxStuck).toBe(rest.concurrency);
  expect(limits.attempts).toBe(Infinity);
});

describe("docs/reference/service.md", () => {
  const rows = [
    ...(generated.get("docs/reference/service.md") ?? "").matchAll(/^\| `([^`]+)` \| (.*) \| (.*) \| (.*) \|$/gm),
  ];
  const toKey = (operation: string) => operation.replaceAll(/\{\w+\}/g, "{}");
  const described = [...UNIFIED_ROWS.map(({ method, path }) => `${method} ${path}`), ...DESCRIBED_OPERATIONS];
  const stateOf = new Map(rows.map(([, operation = "", , state]) => [toKey(operation), state]));

  test("has each operation of the service's public description once, and no other", () => {
    expect(rows.map(([, operation = ""]) => toKey(operation)).toSorted()).toEqual(described.map(toKey).toSorted());
  });

  test("has a state of each, and follow-ups and sessions of users are not played", () => {
    expect(
      [...new Set(stateOf.values())].every((state) => ["exact", "assumed", "not played"].includes(state ?? "")),
    ).toBe(true);
    const isOut = (operation: string) => /\/v1\/(?:followup|user)\b/.test(operation);
    for (const operation of described.filter(isOut)) expect(stateOf.get(toKey(operation))).toBe("not played");
  });

  test("names a call of the client for all that is played, but the older form of the exchange of a code", () => {
    const without = rows.filter(([, , call = "", state]) => state !== "not played" && call.includes("client.request"));
    expect(without.map(([, operation]) => operation)).toEqual(["GET /v1/auth/token/{code}"]);
  });

  test("names only events that there are", () => {
    const events = rows.flatMap(([, , , , causes = ""]) => [...causes.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
    expect(events.length).toBeGreaterThan(10);
    expect(EVENT_NAMES).toEqual(expect.arrayContaining(events));
  });
});

test("storage: the page names each table of the file", () => {
  const db = new DatabaseSync(":memory:");
  prepareSchema(db, "app");
  const names = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const page = readFileSync(join(root, "docs/operate/storage.md"), "utf8");
  for (const { name } of names) expect(page).toContain(`\`${String(name)}\``);
  db.close();
});

test("upgrading: the numbers of the file's schema are those of the code", () => {
  const page = readFileSync(join(root, "docs/operate/upgrade.md"), "utf8");
  expect(page).toContain(`schema version, now **${SCHEMA_VERSION}**`);
  expect(page).toContain(`a file of version ${OLDEST_VERSION} or later`);
  expect(page).toContain(`| an older version, from ${OLDEST_VERSION} on `);
  expect(page).toContain(`| an older version, below ${OLDEST_VERSION} `);
});
