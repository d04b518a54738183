import { kindOf } from "../../../src/adapter.ts";
import { UsageError } from "../../../src/index.ts";
import type { Histogram } from "./counting.ts";

type Labels = Readonly<Record<string, string>>;

/** The series of one metric. */
export type Family = { readonly name: string; readonly help: string } & (
  | {
      readonly type: "counter" | "gauge";
      readonly samples: readonly { readonly labels: Labels; readonly value: number }[];
    }
  | {
      readonly type: "histogram";
      readonly samples: readonly { readonly labels: Labels; readonly histogram: Histogram }[];
    }
);

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
    const quoted = JSON.stringify(name);
    if (!/^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/.test(name))
      throw refused(`the label ${quoted}, expected letters, digits and _, without __ at the beginning`);
    if (OWN.has(name)) throw refused(`the label ${quoted}, which metrics have of their own`);
    if (typeof value !== "string" || /\p{Surrogate}/u.test(value))
      throw refused(
        `${typeof value === "string" ? "broken Unicode" : kindOf(value)} for the label ${quoted}, expected a text`,
      );
  }
}

function refused(what: string): UsageError {
  return new UsageError("metrics-label", `prometheusMetrics got ${what}.`, {
    fix: 'Take a few fixed ones, such as { team: "mail" }: Prometheus adds the instance itself.',
  });
}

/** The text format of Prometheus, version 0.0.4. A metric without a series is left out. */
export function toText(
  families: readonly Family[],
  { prefix, labels }: { readonly prefix: string; readonly labels: Labels },
): string {
  const common = pairs(labels);
  return families
    .filter(({ samples }) => samples.length > 0)
    .map((family) => {
      const name = prefix + family.name;
      const lines =
        family.type === "histogram"
          ? family.samples.map((sample) => histogramLines(name, sample.histogram, common.concat(pairs(sample.labels))))
          : family.samples.map((sample) => line(name, common.concat(pairs(sample.labels)), sample.value));
      return `# HELP ${name} ${family.help}\n# TYPE ${name} ${family.type}\n${lines.join("")}`;
    })
    .join("");
}

function histogramLines(name: string, { bounds, counts, sum }: Histogram, labels: readonly string[]): string {
  let total = 0;
  let text = "";
  for (const [index, count] of counts.entries()) {
    total += count;
    text += line(`${name}_bucket`, labels.concat(`le="${bounds[index] ?? "+Inf"}"`), total);
  }
  return text + line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, total);
}

function line(name: string, labels: readonly string[], value: number): string {
  return labels.length === 0 ? `${name} ${value}\n` : `${name}{${labels.join(",")}} ${value}\n`;
}

function pairs(labels: Labels): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escape)}"`);
}

function escape(character: string): string {
  return character === "\n" ? "\\n" : `\\${character}`;
}
