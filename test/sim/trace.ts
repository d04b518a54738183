import { createHash } from "node:crypto";

/** What happened in a simulated world, in order. */
export interface Trace {
  note(line: string): void;
  readonly lines: readonly string[];
  /** The same for the same story. */
  hash(): string;
}

export function createTrace(mono: () => number): Trace {
  const hash = createHash("sha256");
  const lines: string[] = [];
  const since = mono();

  return {
    note(line) {
      const whole = `${((mono() - since) / 1_000).toFixed(3).padStart(12)} s  ${line}`;
      hash.update(whole);
      lines.push(whole);
    },
    lines,
    hash: () => hash.copy().digest("hex"),
  };
}
