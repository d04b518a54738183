/** What the longest row does in full. */
const FULL = 200;

/** A row's number of rounds: all of them, or in proportion to the `HOOKLINE_ROUNDS` of 200 that somebody has time for. */
export function rounds(full: number): number {
  const wanted = Number(process.env["HOOKLINE_ROUNDS"] ?? FULL);
  return Math.max(1, Math.ceil((full * Math.min(wanted, FULL)) / FULL));
}

/** One line for each row: what was tried, and what was lost. */
export function report(row: string, facts: Readonly<Record<string, unknown>>): void {
  const told = Object.entries(facts).map(([name, value]) => `${name} ${String(value)}`);
  process.stdout.write(`${row}: ${told.join(", ")}\n`);
}
