import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** An alert of deploy/prometheus/hookline.rules.yml. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: "page" | "ticket" };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

export function alertRules(): readonly AlertRule[] {
  const file = join(import.meta.dirname, "../../deploy/prometheus/hookline.rules.yml");
  const { groups } = parse(readFileSync(file, "utf8")) as { groups: readonly { rules: readonly AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

const BEGIN = "<!-- alerts: made by npm run docs:reference from deploy/prometheus/hookline.rules.yml -->";
const END = "<!-- /alerts -->";

/** The table of docs/operate/monitoring.md, between its marks. */
export function alertTable(): string {
  const rows = alertRules().map(({ alert, for: time, labels, annotations: { summary, description, runbook_url } }) => {
    const anchor = runbook_url.split("#")[1] ?? "";
    const after = time === "0m" ? "at once" : time.replace(/m$/, " min").replace(/h$/, " h").replace(/d$/, " d");
    return [
      `\`${alert}\``,
      `${after}: ${labels.severity}`,
      `${summary} ${description}`,
      `[${anchor}](runbook.md#${anchor})`,
    ];
  });
  const all = [["alert", "after", "meaning", "what to do"], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = all;
  return [BEGIN, "", line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line), "", END].join("\n");
}

/** The page with the table as the rules have it. */
export function withAlerts(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  return begin === -1 || end === -1 ? page : page.slice(0, begin) + alertTable() + page.slice(end + END.length);
}
