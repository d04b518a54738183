import { LONGEST_TIMER_MS } from "../clock.ts";
import { UsageError } from "../errors.ts";
import type { Keeps } from "../inbox/port/inbox.ts";
import { kindOf } from "../kind-of.ts";

/**
 * 200 only when the handlers are done, else 503: the service is the queue. Each event runs once per delivery, one after another, without
 * retries of ours; nothing of the delivery is kept, so its redelivery runs all of it again.
 */
export interface AfterHandlers {
  answer: "after-handlers";
  /** For all handlers of a delivery together, milliseconds; beyond it their signals abort, and the answer is 503. Stay below the platform's own limit. */
  deadlineMs: number;
}

/** Says in a compiler's message why something cannot be mounted; nothing has it. */
export interface WontOutlive<Why extends string> {
  readonly "~": Why;
}

/** Where a process may freeze after the answer, only what is kept elsewhere outlives it. */
export type OutlivesFunction<K extends Keeps> = [K] extends ["network"]
  ? unknown
  : WontOutlive<"This inbox does not outlive the function. Use a network inbox or forwardInbox, or pass { answer: 'after-handlers', deadlineMs }. Fetch mount on a server of your own: { runtime: 'long-lived' }.">;

/**
 * What a mount's options say of when to answer: undefined for as soon as it is kept.
 * @throws UsageError `option-invalid` for another `answer`, or a deadline that is no time
 */
export function toAnswering(options: { answer?: unknown; deadlineMs?: unknown }): AfterHandlers | undefined {
  const { answer, deadlineMs } = options;
  if (answer === undefined) return undefined;
  if (answer !== "after-handlers")
    throw new UsageError("option-invalid", `A mount's \`answer\` is "after-handlers", got ${JSON.stringify(answer)}.`, {
      fix: "Leave `answer` out to answer as soon as the delivery is kept.",
    });
  if (!Number.isSafeInteger(deadlineMs) || Number(deadlineMs) < 1 || Number(deadlineMs) > LONGEST_TIMER_MS)
    throw new UsageError(
      "option-invalid",
      `\`deadlineMs\` is how long handlers may take, in whole milliseconds, got ${kindOf(deadlineMs)}.`,
      { fix: "Take less than the platform gives a request: `{ answer: 'after-handlers', deadlineMs: 20_000 }`." },
    );
  return { answer, deadlineMs: Number(deadlineMs) };
}
