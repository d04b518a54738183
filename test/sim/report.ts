import type { Outcome } from "./run.ts";

/** So much of a story tells why it ended badly. */
const LINES = 60;

/** What reproduces it. */
export function commandFor(seed: number): string {
  return `npm run test:sim -- --seed ${seed}`;
}

/** For whoever has to find out why. */
export function report({ seed, failure, trace }: Outcome): string {
  return `${trace.slice(-LINES).join("\n")}\n\nseed ${seed}: ${failure}\nReproduce it: ${commandFor(seed)}\n`;
}
