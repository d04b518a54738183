import { randomUUID } from "node:crypto";
import { kindOf } from "../assert.ts";
import { LONGEST_TIMER_MS, type Clock } from "../clock.ts";
import { HooklineError, isHooklineError, UsageError } from "../errors.ts";
import type { IdentifiedDelivery } from "../inbox/port/delivery.ts";
import { toSeen, type Seen, type SeenOptions } from "../inbox/port/seen-store.ts";
import type { StorageKind } from "../inbox/port/inbox.ts";
import type { InFlightBytes } from "./body-limits.ts";
import { Refused } from "./refusals.ts";
import type { Admitted } from "./types.ts";

/**
 * 200 only when the handlers are done, else 503: the service is the queue. Each event runs once per delivery, one after another, without
 * retries of ours; nothing of the delivery is stored, so its redelivery runs all of it again, but for what `seen` remembers.
 */
export interface AfterHandlers extends SeenOptions {
  /** Answer only when the handlers have ended. */
  answer: "after-handlers";
  /**
   * For all handlers of a delivery together, milliseconds; then their signals abort, and the answer is 503. A call behind which others of the
   * delivery wait gets at most half of what is left. Stay below the platform's own limit.
   */
  timeoutMs: number;
}

/** A type that no value has: it carries the reason into the compiler's message. */
export interface WontOutlive<Why extends string> {
  readonly "~": Why;
}

/** Where a process may freeze after the answer, only what is stored elsewhere outlives it. */
export type OutlivesFunction<K extends StorageKind> = [K] extends ["network"]
  ? unknown
  : WontOutlive<"This inbox does not outlive the function. Use a network inbox or forwardInbox, or pass { answer: 'after-handlers', timeoutMs }. Fetch mount on a server of your own: { runtime: 'long-lived' }.">;

/**
 * Reads `answer` and `timeoutMs` of a mount's options. Undefined: answer as soon as the delivery is stored.
 * @throws UsageError `option-invalid` for another `answer`, or a `timeoutMs` that is no time
 */
export function toAfterHandlers(
  options: SeenOptions & { answer?: unknown; timeoutMs?: unknown },
): AfterHandlers | undefined {
  const { answer, timeoutMs, seen, leaseMs, keepMs } = options;
  toSeen(options, "A mount");
  if (answer === undefined) {
    if (timeoutMs === undefined && seen === undefined) return undefined;
    throw new UsageError(
      "option-invalid",
      `A mount got \`${seen === undefined ? "timeoutMs" : "seen"}\` without \`answer\`.`,
      {
        fix: 'Add `answer: "after-handlers"`, or leave out what belongs to it: `timeoutMs`, `seen`, `leaseMs` and `keepMs`.',
      },
    );
  }
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
  return { answer, timeoutMs: Number(timeoutMs), seen, leaseMs, keepMs };
}

/** Replaces the storing: resolves when the handlers are done, or with the refusal. Nothing is remembered either way. */
export type HandleThenAnswer = (admitted: Admitted, options: AfterHandlers) => Promise<Refused | undefined>;

export function createHandleThenAnswer({
  handle,
  inFlightBytes,
  clock,
}: {
  /** Runs each event once; rejects when a handler failed. */
  readonly handle: (
    delivery: IdentifiedDelivery,
    options: { signal: AbortSignal; mostMs: number; seen: Seen | undefined; isMessage: false },
  ) => Promise<void>;
  readonly inFlightBytes: InFlightBytes;
  readonly clock: Clock;
}): HandleThenAnswer {
  return async ({ delivery }, { timeoutMs, ...options }) => {
    const seen = toSeen(options, "receive");
    const { byteLength } = delivery.body;
    try {
      inFlightBytes.reserve(byteLength);
    } catch (error) {
      return new Refused("intake-full", error);
    }
    const controller = new AbortController();
    return new Promise((resolve) => {
      const timer = clock.setTimer(() => {
        const late = new HooklineError("handlers-late", `The handlers took longer than ${timeoutMs} ms.`);
        resolve(new Refused("handlers-late", late));
        controller.abort(late);
      }, timeoutMs);
      handle(
        { ...delivery, id: randomUUID() },
        { signal: controller.signal, mostMs: timeoutMs, seen, isMessage: false },
      )
        .then(
          () => resolve(undefined),
          (error: unknown) =>
            resolve(new Refused(isHooklineError(error, "seen-busy") ? "seen-busy" : "handlers-failed", error)),
        )
        // Only now: a handler past the deadline holds the body until it ends, or is stuck.
        .finally(() => {
          timer.clear();
          inFlightBytes.release(byteLength);
        });
    });
  };
}
