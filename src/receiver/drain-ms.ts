import { assertOptions, wholeNumber } from "../assert.ts";
import { LONGEST_TIMER_MS } from "../clock.ts";

/**
 * The budget of a `close()`, milliseconds.
 * @throws UsageError `option-invalid`
 */
export function toDrainMs(options: { readonly drainMs?: number | undefined }): number {
  assertOptions("close", options, { drainMs: true });
  const { drainMs: value = 10_000 } = options;
  return wholeNumber({ where: "close", name: "drainMs", value, least: 0, most: LONGEST_TIMER_MS });
}
