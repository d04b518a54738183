/** One line of the text format. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The series of a text in Prometheus's format. */
export function seriesOf(text: string): readonly Series[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", labels = "", value = ""] = /^([\w:]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === "") throw new Error(`Got ${line}, expected a line of Prometheus's text format.`);
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, quoted]) => [key, quoted]);
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
    });
}

/** The sum of a metric's series whose labels have these values; undefined where there is none. */
export function valueIn(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const found = seriesOf(text).filter(
    (one) =>
      one.name === `hookline_${name}` && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}
