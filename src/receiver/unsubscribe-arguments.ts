import { assertOptions, kindOf } from "../assert.ts";
import { UsageError } from "../errors.ts";
import type { Id } from "../protocol/events.ts";
import { toId } from "../protocol/ids.ts";

/** What somebody gave to `unsubscribe()` or `resubscribe()`, checked. */
export interface Unsubscribable {
  readonly subscription: Id;
  readonly source: string | undefined;
}

/**
 * A subscription by its number or its numeric text, as the service gives it, and the source that is meant.
 * @throws UsageError `subscription-invalid`, `option-invalid`
 */
export function toUnsubscribable(
  where: string,
  given: unknown,
  options: { readonly source?: unknown },
): Unsubscribable {
  const subscription = toId(given);
  if (subscription === undefined)
    throw new UsageError(
      "subscription-invalid",
      `${where}() got ${typeof given === "string" ? JSON.stringify(given.slice(0, 100)) : kindOf(given)} as the subscription, expected its number.`,
      { fix: "Take `event.subscription`, or the `id` that the service gave when it was created." },
    );
  assertOptions(where, options, { source: true });
  const { source } = options;
  if (source === undefined || typeof source === "string") return { subscription, source };
  throw new UsageError("option-invalid", `${where}() got ${kindOf(source)} for \`source\`, expected a text.`, {
    fix: "Leave `source` out for every source.",
  });
}
