import { UsageError } from "../errors.ts";
import { kindOf } from "../assert.ts";

/** So much of a reason is stored, and logged, in characters. */
const MAX_REASON_CHARACTERS = 1_000;

/**
 * The reason for unsubscribing, which is stored with a tombstone and told with each of its 422.
 * @throws UsageError `option-invalid` for what is no text
 */
export function toReason(reason: unknown): string {
  if (typeof reason !== "string")
    throw new UsageError("option-invalid", `unsubscribe() got ${kindOf(reason)} as its reason, expected a text.`, {
      fix: "Say in a few words why; of an error, give its `message`.",
    });
  if (reason.length <= MAX_REASON_CHARACTERS) return reason;
  // Half of a pair of characters would be another one in a file.
  return `${reason.slice(0, MAX_REASON_CHARACTERS - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
