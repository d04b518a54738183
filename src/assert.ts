import { UsageError } from "./errors.ts";
import { cutText } from "./thrown.ts";

/**
 * Refuses unknown option names: a misspelt one would be ignored silently.
 *
 * @param where the function that takes the options, such as `createReceiver`
 * @param allowed all option names
 * @throws UsageError `option-invalid` with the unknown name, the nearest allowed one, and all allowed ones
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
  throw new UsageError(
    "option-invalid",
    `${where} got "${cutText(unknown, MAX_SHOWN_CHARACTERS)}", which is no option.`,
    {
      fix: `${meant === undefined ? "" : `Did you mean "${meant}"? `}Allowed are: ${names.join(", ")}.`,
    },
  );
}

/** @throws UsageError `option-invalid` for anything but a function, which would fail only when called */
export function assertFunction(where: string, given: unknown): void {
  if (typeof given === "function") return;
  throw new UsageError("option-invalid", `${where} got ${kindOf(given)}, expected a function.`);
}

/** @throws UsageError `option-invalid` for anything but a boolean: the text "false" of an environment variable is truthy */
export function assertBoolean(where: string, given: unknown): void {
  if (typeof given === "boolean") return;
  throw new UsageError("option-invalid", `${where} got ${kindOf(given)}, expected true or false.`);
}

/** A numeric option and its allowed range. */
export interface GivenNumber {
  /** The function that takes the option, such as `createReceiver`. */
  readonly where: string;
  readonly name: string;
  readonly value: unknown;
  readonly least: number;
  /** @default the largest safe integer */
  readonly most?: number;
  /** Infinity stands for no limit. @default false */
  readonly orInfinity?: boolean;
}

/**
 * The number, if it is an integer within its range.
 * @throws UsageError `option-invalid` with the given and the expected value
 */
export function wholeNumber({ where, name, value, least, most, orInfinity = false }: GivenNumber): number {
  if (typeof value === "number" && value >= least && value <= (most ?? Infinity)) {
    if (Number.isSafeInteger(value) || (orInfinity && value === Infinity)) return value;
  }
  const range = most === undefined ? `from ${least} on` : `from ${least} to ${most.toLocaleString("en-US")}`;
  throw new UsageError(
    "option-invalid",
    `${where} got ${name} ${kindOf(value)}, expected a whole number ${range}${orInfinity ? ", or Infinity" : ""}.`,
  );
}

/**
 * One of some texts.
 * @throws UsageError `option-invalid`
 */
export function oneText<const T extends string>(of: readonly T[], { where, name, value }: GivenText): T {
  const found = of.find((text) => text === value);
  if (found !== undefined) return found;
  const got = typeof value === "string" ? `"${value}"` : kindOf(value);
  const expected = of.map((text) => `"${text}"`).join(" or ");
  throw new UsageError("option-invalid", `${where} got ${name} ${got}, expected ${expected}.`);
}

/** A text that somebody gave, and where. */
export interface GivenText {
  /** The function that got it. */
  readonly where: string;
  readonly name: string;
  readonly value: unknown;
}

/** Describes the type of a value for error messages; never its content, which may be a secret or a megabyte long. */
export function kindOf(value: unknown): string {
  try {
    return kindOfReadable(value);
  } catch {
    return "an object"; // such as a revoked Proxy
  }
}

/** Such a text may be read again as another one: with NUL Node 22 reads it from SQLite only up to there, and half of a pair becomes U+FFFD. */
export const UNSTORABLE = /[\0\p{Surrogate}]/u;

/** Whether it may be the source of a delivery. */
export function isSource(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === "string" && !UNSTORABLE.test(value));
}

/** Describes one that is none. */
export function kindOfSource(value: unknown): string {
  return typeof value === "string" ? "NUL or half of a surrogate pair" : kindOf(value);
}

const MAX_SHOWN_CHARACTERS = 100;
/** Largest share of a name that a misspelling may change: `maxBodySize` for `maxBodyBytes`. */
const MAX_EDIT_SHARE = 0.4;

function nearest(name: string, allowed: readonly string[]): string | undefined {
  const [best] = allowed
    .map((one) => ({
      one,
      distance: editDistance(name.slice(0, MAX_SHOWN_CHARACTERS).toLowerCase(), one.toLowerCase()),
    }))
    .toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.ceil(best.one.length * MAX_EDIT_SHARE) ? best.one : undefined;
}

/** Levenshtein distance. */
function editDistance(from: string, to: string): number {
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

function kindOfReadable(value: unknown): string {
  if (value === undefined || value === null || typeof value === "number" || typeof value === "boolean")
    return String(value);
  if (typeof value === "string") return value === "" ? "an empty text" : "a text";
  if (typeof value !== "object") return typeof value === "function" ? "a function" : `a ${typeof value}`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (value instanceof Uint8Array) return Buffer.isBuffer(value) ? "a Buffer" : "a Uint8Array";
  if (value instanceof Date) return "a Date";
  if (value instanceof Error) return "an Error";
  return "then" in value && typeof value.then === "function" ? "a promise" : "an object";
}
