import { kindOf } from "../assert.ts";
import { UsageError } from "../errors.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { catchRejection, cutText } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";
import type { IngestDeps } from "./types.ts";

declare const decision: unique symbol;

/** What `unsubscribe` of a gate returns; nothing else makes one. */
export interface UnsubscribeDecision {
  readonly [decision]: true;
  readonly reason: string;
}

/** What a gate may return: the decision of its own call, or nothing. */
export type Decided = UnsubscribeDecision | undefined | void;

/**
 * Decides whether a subscription is unwanted: `return unsubscribe("why")` answers 422, anything else stores the delivery. Called only
 * for signed deliveries with a valid envelope.
 */
export type Gate = (
  delivery: Envelope & { readonly source?: string },
  unsubscribe: (reason: string) => UnsubscribeDecision,
) => Decided | Promise<Decided>;

/**
 * The only thing that becomes a 422, which deletes a subscription. Nothing that looks like it is one: no copy, no `true`, no error
 * with a status of 422.
 */
export class Decision {
  /** The delivery that it was made for. A gate that returns an old decision must not delete another subscription. */
  readonly #call: unknown;
  readonly reason: string;

  constructor(call: unknown, reason: string) {
    this.#call = call;
    this.reason = reason;
  }

  /** Whether this class made it, for this call. */
  static isOf(value: unknown, call: unknown): value is Decision {
    return typeof value === "object" && value !== null && #call in value && value.#call === call;
  }
}

/** Time for the gate, milliseconds; then the delivery is stored. */
export const DEFAULT_GATE_TIMEOUT_MS = 500;

/** Calls the gate. Undefined after an error, a late answer, a decision for another delivery, or with the rate limit reached. */
export async function askGate(
  { subscription, accountId, resource }: Envelope,
  source: string | undefined,
  { gate, gateTimeoutMs, rateLimit, clock, log }: IngestDeps,
): Promise<Decision | undefined> {
  const decide = gate();
  if (decide === undefined) return undefined;
  const ignore = (why: string, facts: { readonly code: string; readonly [fact: string]: unknown }): undefined => {
    log.error({ ...facts, subscription }, `${why}: the delivery is stored`);
  };
  const call = Symbol("call");
  let returned: unknown;
  let answer: unknown;
  try {
    returned = decide(
      { subscription, accountId, resource, ...(source === undefined ? {} : { source }) },
      (reason) => new Decision(call, toReason(reason)) as unknown as UnsubscribeDecision,
    );
    // Most gates return nothing at once: those need no timer.
    if (returned === undefined) return undefined;
    answer = await withTimeout(gateTimeoutMs, Promise.resolve(returned), { clock, late: LATE });
  } catch (error) {
    catchRejection(error);
    return ignore("the gate threw", { code: "gate-failed", err: error });
  }
  if (answer === undefined) return undefined;
  if (answer === LATE) {
    catchRejection(returned); // it may still throw, and what it throws may be a promise
    return ignore("the gate did not answer in time", { code: "gate-late", timeoutMs: gateTimeoutMs });
  }
  if (!Decision.isOf(answer, call))
    return ignore("the gate's answer is no decision of this call's unsubscribe()", {
      code: "gate-answer",
      got: typeof answer,
    });
  let isAllowed: unknown;
  try {
    isAllowed = await withTimeout(gateTimeoutMs, rateLimit.allows(subscription, source), { clock, late: LATE });
  } catch (error) {
    return ignore("whether the limit on unsubscribes allows one more is not known", {
      code: "unsubscribe-limit-unknown",
      err: error,
    });
  }
  if (isAllowed === true) return answer;
  if (isAllowed !== false)
    return ignore("whether the limit on unsubscribes allows one more was not known in time", {
      code: "unsubscribe-limit-unknown",
      timeoutMs: gateTimeoutMs,
    });
  return ignore("the gate unsubscribes more than `maxUnsubscribesPerHour`", {
    code: "unsubscribe-limit-reached",
    reason: answer.reason,
  });
}

const LATE = Symbol("late");

/** A longer reason is cut, in characters: it is stored and logged. */
const MAX_REASON_CHARACTERS = 1_000;

/**
 * The reason for unsubscribing, which is stored in the tombstone and logged with each of its 422.
 * @throws UsageError `option-invalid` for anything but a text
 */
export function toReason(reason: unknown): string {
  if (typeof reason !== "string")
    throw new UsageError("option-invalid", `unsubscribe() got ${kindOf(reason)} as its reason, expected a text.`, {
      fix: "Say in a few words why; of an error, give its `message`.",
    });
  if (reason.length <= MAX_REASON_CHARACTERS) return reason;
  return `${cutText(reason, MAX_REASON_CHARACTERS - 1)}…`;
}
