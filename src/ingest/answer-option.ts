import { LONGEST_TIMER_MS } from "../clock.ts";
import { UsageError } from "../errors.ts";
import type { StorageKind } from "../inbox/port/inbox.ts";
import { kindOf } from "../assert.ts";

/**
 * 200 only when the handlers are done, else 503: the service is the queue. Each event runs once per delivery, one after another, without
 * retries of ours; nothing of the delivery is stored, so its redelivery runs all of it again.
 */
export interface AfterHandlers {
  answer: "after-handlers";
  /** For all handlers of a delivery together, milliseconds; beyond it their signals abort, and the answer is 503. Stay below the platform's own limit. */
  timeoutMs: number;
}

/** Says in a compiler's message why something cannot be mounted; nothing has it. */
export interface WontOutlive<Why extends string> {
  readonly "~": Why;
}

/** Where a process may freeze after the answer, only what is stored elsewhere outlives it. */
export type OutlivesFunction<K extends StorageKind> = [K] extends ["network"]
  ? unknown
  : WontOutlive<"This inbox does not outlive the function. Use a network inbox or forwardInbox, or pass { answer: 'after-handlers', timeoutMs }. Fetch mount on a server of your own: { runtime: 'long-lived' }.">;

/**
 * What a mount's options say of when to answer: undefined for as soon as it is stored.
 * @throws UsageError `option-invalid` for another `answer`, or a deadline that is no time
 */
export function toAnswering(options: { answer?: unknown; timeoutMs?: unknown }): AfterHandlers | undefined {
  const { answer, timeoutMs } = options;
  if (answer === undefined) return undefined;
  if (answer !== "after-handlers")
    throw new UsageError("option-invalid", `A mount's \`answer\` is "after-handlers", got ${JSON.stringify(answer)}.`, {
      fix: "Leave `answer` out to answer as soon as the delivery is stored.",
    });
  if (!Number.isSafeInteger(timeoutMs) || Number(timeoutMs) < 1 || Number(timeoutMs) > LONGEST_TIMER_MS)
    throw new UsageError(
      "option-invalid",
      `\`timeoutMs\` is how long handlers may take, in whole milliseconds, got ${kindOf(timeoutMs)}.`,
      { fix: "Take less than the platform gives a request: `{ answer: 'after-handlers', timeoutMs: 20_000 }`." },
    );
  return { answer, timeoutMs: Number(timeoutMs) };
}
