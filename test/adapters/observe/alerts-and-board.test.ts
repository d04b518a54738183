import { readFileSync } from "node:fs";
import { createReceiver, memoryInbox } from "hookline";
import { prometheusMetrics } from "hookline/prometheus";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { alertRules, alertTable } from "../../../docs/tools/alert-table.ts";
import { PROBLEMS } from "../../../src/receiver/health/problem-catalog.ts";
import { pageOf, root } from "../../docs/pages.ts";
import { noPrometheus, startPrometheus } from "./prometheus-server.ts";

const folder = join(root, "deploy/prometheus");
const rules = alertRules();

describe("the alert rules", () => {
  test.skipIf(noPrometheus).each([
    ["check", "hookline.rules.yml"],
    ["test", "hookline.rules.test.yml"],
  ])("promtool %s rules %s", (verb, file) => {
    const { status, stdout, stderr } = spawnSync("promtool", [verb, "rules", file], { cwd: folder, encoding: "utf8" });
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining("SUCCESS") as string]);
  });

  test("each have a time, a severity, words, and a section of the runbook", () => {
    expect(rules.length).toBeGreaterThan(25);
    const runbook = pageOf("docs/operate/runbook.md").text;
    const anchors = [...runbook.matchAll(/^##+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
    for (const { alert, for: time, labels, annotations } of rules) {
      expect([alert, time]).toEqual([alert, expect.stringMatching(/^\d+[mhd]$/)]);
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(?:page|ticket)$/)]);
      expect(annotations.summary).toMatch(/\.$/);
      expect(annotations.description).toMatch(/\.$/);
      const [page, anchor] = annotations.runbook_url.split("#");
      expect(page).toBe("node_modules/hookline/docs/operate/runbook.md");
      expect(anchors).toContain(anchor);
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  });

  test("each have a case that fires and one that is silent", () => {
    const cases = readFileSync(join(folder, "hookline.rules.test.yml"), "utf8");
    for (const { alert } of rules) {
      expect(cases).toMatch(new RegExp(`alertname: ${alert}\\n +exp_alerts:\\n +- exp_labels`));
      expect(cases).toMatch(new RegExp(`alertname: ${alert}\\n +exp_alerts: \\[\\]`));
    }
  });

  test("name metrics and problems that there are", async () => {
    const exported = await exportedNames();
    for (const { alert, expr } of rules) {
      expect(
        namesIn(expr).filter((name) => !exported.has(name)),
        alert,
      ).toEqual([]);
      for (const [, code = ""] of expr.matchAll(/code="([^"]+)"/g)) expect(PROBLEMS).toHaveProperty(code);
    }
  });

  test("have their metrics and their names in that section of the runbook", () => {
    const sections = pageOf("docs/operate/runbook.md").text.split(/^## /m);
    for (const { alert, expr, annotations } of rules) {
      const anchor = annotations.runbook_url.split("#")[1];
      const section = sections.find((text) => text.split("\n")[0]?.toLowerCase().replaceAll(" ", "-") === anchor) ?? "";
      const missing = namesIn(expr).filter((name) => !section.includes(`\`${name}`));
      expect([alert, missing]).toEqual([alert, []]);
      for (const [code] of expr.matchAll(/code="[^"]+"/g)) expect(section).toContain(`hookline_problem{${code}}`);
    }
  });

  test("are the table of docs/operate/monitoring.md (npm run docs:reference)", () => {
    expect(pageOf("docs/operate/monitoring.md").text).toContain(alertTable());
  });
});

test("docs/operate/monitoring.md has each metric, and no other", async () => {
  const [, section = ""] = pageOf("docs/operate/monitoring.md").text.split(/^## Prometheus$/m);
  const table = section.split(/^## /m)[0] ?? "";
  const rows = [...table.matchAll(/^\| (`[^|]+`) +\| (?:counter|gauge|histogram) /gm)].map(([, names = ""]) => names);
  const written = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `hookline_${name}`));
  const exported = [...(await exportedNames())].map((name) => name.replace(/(_seconds)_(?:bucket|sum|count)$/, "$1"));
  expect(written.toSorted()).toEqual([...new Set(exported)].toSorted());
});

describe("the board for Grafana", () => {
  const text = readFileSync(join(root, "deploy/grafana/hookline.json"), "utf8");
  const board = JSON.parse(text) as {
    readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
    readonly panels: readonly {
      readonly title: string;
      readonly datasource: { readonly uid: string };
      readonly targets: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
    }[];
  };
  const expressions = board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

  test("takes any data source of Prometheus, without inputs that file provisioning does not know", () => {
    expect(text).not.toMatch(/DS_|__inputs|__requires/);
    expect(board.templating.list).toContainEqual(expect.objectContaining({ name: "datasource", type: "datasource" }));
    for (const { datasource, targets } of board.panels)
      expect(new Set([datasource, ...targets.map((target) => target.datasource)].map(({ uid }) => uid))).toEqual(
        new Set(["${datasource}"]),
      );
  });

  test("counts what waits once, as promtool tests it: of the processes that work each has a share", () => {
    const waiting = expressions.find((expr) => expr.includes("inbox_waiting_jobs")) ?? "";
    const cases = readFileSync(join(folder, "hookline.rules.test.yml"), "utf8");
    expect(cases).toContain(`\n          ${waiting.replaceAll("$job", "mail")}\n`);
  });

  test("names exported metrics only", async () => {
    const exported = await exportedNames();
    const shown = new Set(expressions.flatMap(namesIn));
    expect([...shown].filter((name) => !exported.has(name))).toEqual([]);
  });

  test.skipIf(noPrometheus)("has expressions that Prometheus can read", async () => {
    const { query } = await startPrometheus();
    for (const expr of [...expressions, ...rules.map((rule) => rule.expr)])
      await query(expr.replaceAll("$__rate_interval", "5m").replaceAll("$job", ".+"));
    await expect(query("sum(")).rejects.toThrow("parse error");
  });
});

/** Those of a receiver with all that one can have. */
async function exportedNames(): Promise<ReadonlySet<string>> {
  const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log: false });
  onTestFinished(() => void receiver.close());
  const metrics = prometheusMetrics(receiver);
  receiver.on("*", () => {});
  await receiver.start();
  const names = [...(await metrics.text()).matchAll(/^(hookline_\w+)/gm)].map(([, name = ""]) => name);
  const ofSome = ["problem", "inbox_free_bytes", "workers", "shards"].map((name) => `hookline_${name}`);
  return new Set([...names, ...ofSome]);
}

function namesIn(expr: string): readonly string[] {
  return expr.match(/hookline_\w+/g) ?? [];
}
