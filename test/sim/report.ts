import type { Outcome } from "./run-seed.ts";
import type { StoreName } from "./stores.ts";

/** So much of a story tells why it ended badly. */
const LINES = 60;

/** What reproduces it. */
export function commandFor(seed: number, store: StoreName): string {
  return `npm run test:sim -- --seed ${seed}${store === "memory" ? "" : ` --inbox ${store}`}`;
}

/** Whether a seed has one story: the times of a thread or a server are not of the seed. */
export function isRepeatable(store: StoreName): boolean {
  return store === "memory" || store === "sqlite";
}

export const NOT_REPEATABLE =
  "On this inbox a seed has the same world, but not always the same story: run it some times.";

/** For whoever has to find out why. */
export function report({ seed, failure, trace }: Outcome, store: StoreName): string {
  const how = `Reproduce it: ${commandFor(seed, store)}\n${isRepeatable(store) ? "" : `${NOT_REPEATABLE}\n`}`;
  return `${trace.slice(-LINES).join("\n")}\n\nseed ${seed}: ${failure}\n${how}`;
}
