import { catchRejection } from "../thrown.ts";
import type { Envelope } from "../protocol/events.ts";
import { withTimeout } from "../timeout.ts";
import { Decision, type UnsubscribeDecision } from "./unsubscribe-decision.ts";
import type { ReceivingParts } from "./parts.ts";
import { toReason } from "./to-reason.ts";

/** What a gate may answer: a decision of its own call, or nothing. */
export type Decided = UnsubscribeDecision | undefined | void;

/**
 * Says whether a subscription is unwanted: `return unsubscribe("why")` is a yes, anything else keeps the delivery. Asked only about
 * signed deliveries whose envelope could be read.
 */
export type Gate = (
  delivery: Envelope & { readonly source?: string },
  unsubscribe: (reason: string) => UnsubscribeDecision,
) => Decided | Promise<Decided>;

type Parts = Pick<ReceivingParts, "gate" | "gateTimeoutMs" | "brake" | "clock" | "log">;

/** Asks the gate. An error, a late answer, a decision that was made for another delivery, or an empty brake: keep. */
export async function askGate(
  { subscription, accountId, resource }: Envelope,
  source: string | undefined,
  { gate, gateTimeoutMs, brake, clock, log }: Parts,
): Promise<Decision | undefined> {
  const ask = gate();
  if (ask === undefined) return undefined;
  const call = Symbol("call");
  let answer: unknown;
  try {
    const asked = ask(
      { subscription, accountId, resource, ...(source === undefined ? {} : { source }) },
      (reason) => new Decision(call, toReason(reason)) as unknown as UnsubscribeDecision,
    );
    // Most say nothing, and say it at once: those are not made to wait for a turn.
    answer =
      asked === undefined ? asked : await withTimeout(gateTimeoutMs, Promise.resolve(asked), { clock, late: LATE });
  } catch (error) {
    catchRejection(error);
    log.error({ err: error, code: "gate-failed", subscription }, "the gate threw: the delivery is stored");
    return undefined;
  }
  if (answer === undefined) return undefined;
  if (answer === LATE) {
    log.error(
      { code: "gate-late", subscription, timeoutMs: gateTimeoutMs },
      "the gate gave no answer in time: the delivery is stored",
    );
    return undefined;
  }
  if (!Decision.holds(answer, call)) {
    log.error(
      { code: "gate-answer", subscription, got: typeof answer },
      "the gate's answer is no decision of this call's unsubscribe(): the delivery is stored",
    );
    return undefined;
  }
  if (!brake.allows(subscription, source)) {
    log.error(
      { code: "unsubscribe-limit-reached", subscription, reason: answer.reason },
      "the gate unsubscribes more than `maxUnsubscribesPerHour`: it is not believed, the delivery is stored",
    );
    return undefined;
  }
  return answer;
}

const LATE = Symbol("late");
