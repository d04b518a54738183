import { UsageError } from "./errors.ts";
import { kindOf } from "./kind-of.ts";

/** A number that somebody gave, and what it may be. */
export interface GivenNumber {
  /** Who got it, such as `createReceiver`. */
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
 * The number, if it is a whole one within its range.
 * @throws UsageError `option-invalid` with what was got and what was expected
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
