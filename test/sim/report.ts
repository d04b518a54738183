import type { Outcome } from "./run-seed.ts";
import type { StoreName } from "./stores.ts";

/** So much of a story tells why it ended badly. */
const LINES = 60;

/** What reproduces it. */
export function commandFor(seed: number, store: StoreName): string {
  return `npm run test:sim -- --seed ${seed}${store === "memory" ? "" : ` --inbox ${store}`}`;
}

/** For whoever has to find out why. */
export function report({ seed, failure, trace }: Outcome, store: StoreName): string {
  return `${trace.slice(-LINES).join("\n")}\n\nseed ${seed}: ${failure}\nReproduce it: ${commandFor(seed, store)}\n`;
}
