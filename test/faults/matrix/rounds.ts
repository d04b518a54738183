/** Rounds of the longest row. */
const FULL = 200;

/** A row's number of rounds: all, or `HOOKLINE_ROUNDS` / 200 of them. */
export function rounds(full: number): number {
  const wanted = Number(process.env["HOOKLINE_ROUNDS"] ?? FULL);
  return Math.max(1, Math.ceil((full * Math.min(wanted, FULL)) / FULL));
}

/** Prints one line for a row: what it did, and what was lost. */
export function report(row: string, facts: Readonly<Record<string, unknown>>): void {
  const parts = Object.entries(facts).map(([name, value]) => `${name} ${String(value)}`);
  process.stdout.write(`${row}: ${parts.join(", ")}\n`);
}
