import { kindOf } from "../../../src/adapter.ts";
import { UsageError } from "../../../src/index.ts";
import type { Histogram } from "./histograms.ts";

type Labels = Readonly<Record<string, string>>;

/** A metric, and its series. A value that cannot be had is undefined: its series is left out. */
export type Family = readonly [
  type: "gauge" | "counter" | "histogram",
  name: string,
  help: string,
  series: readonly (readonly [labels: Labels, value: number | Histogram | undefined])[],
];

/** Labels that metrics have of their own. */
const OWN = new Set(["status", "code", "consumer", "type", "outcome", "role", "le"]);

/** @throws UsageError `metrics-prefix` */
export function assertPrefix(prefix: unknown): void {
  if (typeof prefix === "string" && /^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(prefix)) return;
  const got = typeof prefix === "string" ? JSON.stringify(prefix) : kindOf(prefix);
  throw new UsageError("metrics-prefix", `prometheusMetrics got ${got} as prefix, expected letters, digits, _ and :.`, {
    fix: 'Take one that begins with a letter and ends with "_", such as "mail_".',
  });
}

/** @throws UsageError `metrics-label` */
export function assertLabels(labels: unknown): void {
  if (typeof labels !== "object" || labels === null || Array.isArray(labels))
    throw refused(`${kindOf(labels)} as labels, expected an object of texts`);
  for (const [name, value] of Object.entries(labels)) {
    const label = `the label ${JSON.stringify(name)}`;
    if (OWN.has(name)) throw refused(`${label}, which metrics have of their own`);
    if (!/^(?!__)[a-zA-Z_]\w*$/.test(name))
      throw refused(`${label}, expected letters, digits and _, without __ at the beginning`);
    if (typeof value !== "string" || /\p{Surrogate}/u.test(value))
      throw refused(`${typeof value === "string" ? "broken Unicode" : kindOf(value)} for ${label}, expected a text`);
  }
}

function refused(what: string): UsageError {
  return new UsageError("metrics-label", `prometheusMetrics got ${what}.`, {
    fix: 'Take a few fixed ones, such as { team: "mail" }: Prometheus adds the instance itself.',
  });
}

/** The text format of Prometheus, version 0.0.4. A metric without a series is left out. */
export function toText(families: readonly Family[], prefix: string, common: Labels): string {
  return families
    .map(([type, ownName, help, series]) => {
      const name = prefix + ownName;
      const lines = series.map(([labels, value]) => linesOf(name, { ...common, ...labels }, value)).join("");
      return lines && `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
    })
    .join("");
}

function linesOf(name: string, labels: Labels, value: number | Histogram | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return line(name, labels, value);
  let total = 0;
  const buckets = Array.from(value.counts, (count, index) =>
    line(`${name}_bucket`, { ...labels, le: String(value.bounds[index] ?? "+Inf") }, (total += count)),
  );
  return buckets.join("") + line(`${name}_sum`, labels, value.sum) + line(`${name}_count`, labels, total);
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text.replace(/[\\"\n]/g, escape)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
}

function escape(character: string): string {
  return character === "\n" ? "\\n" : `\\${character}`;
}
