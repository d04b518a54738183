import { UsageError } from "./errors.ts";
import { kindOf } from "./kind-of.ts";

/** @throws UsageError `option-invalid` for anything but a function: it would fail only when it is called */
export function assertFunction(where: string, given: unknown): void {
  if (typeof given === "function") return;
  throw new UsageError("option-invalid", `${where} got ${kindOf(given)}, expected a function.`);
}

/** @throws UsageError `option-invalid` for anything but a boolean: the text "false" of an environment variable would be a yes */
export function assertBoolean(where: string, given: unknown): void {
  if (typeof given === "boolean") return;
  throw new UsageError("option-invalid", `${where} got ${kindOf(given)}, expected true or false.`);
}
