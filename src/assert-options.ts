import { UsageError } from "./errors.ts";
import { kindOf } from "./kind-of.ts";

/**
 * Refuses what is no option: a misspelt name would be taken in silence.
 *
 * @param where whose options they are, such as `createReceiver`
 * @param allowed every name there is
 * @throws UsageError `option-invalid` with the name, the one that may be meant, and all that are allowed
 */
export function assertOptions<T extends object>(
  where: string,
  given: T,
  allowed: Readonly<Record<keyof T, true>>,
): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new UsageError("option-invalid", `${where} got ${kindOf(given)} for its options, expected an object.`);
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(allowed, name));
  if (unknown === undefined) return;
  const names = Object.keys(allowed);
  const meant = nearest(unknown, names);
  throw new UsageError("option-invalid", `${where} got "${unknown.slice(0, MOST_SHOWN)}", which is no option.`, {
    fix: `${meant === undefined ? "" : `Did you mean "${meant}"? `}Allowed are: ${names.join(", ")}.`,
  });
}

const MOST_SHOWN = 100;
/** So much of a name may be written otherwise: `maxBodySize` for `maxBodyBytes`. */
const CLOSE = 0.4;

function nearest(name: string, allowed: readonly string[]): string | undefined {
  const [best] = allowed
    .map((one) => ({ one, steps: stepsBetween(name.slice(0, MOST_SHOWN).toLowerCase(), one.toLowerCase()) }))
    .toSorted((a, b) => a.steps - b.steps);
  return best !== undefined && best.steps <= Math.ceil(best.one.length * CLOSE) ? best.one : undefined;
}

/** Letters to put in, take out or change (Levenshtein). */
function stepsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const letter of from) {
    const next = [(row[0] ?? 0) + 1];
    for (let index = 1; index <= to.length; index += 1)
      next.push(
        Math.min(
          (next[index - 1] ?? 0) + 1,
          (row[index] ?? 0) + 1,
          (row[index - 1] ?? 0) + (letter === to[index - 1] ? 0 : 1),
        ),
      );
    row = next;
  }
  return row[to.length] ?? 0;
}
