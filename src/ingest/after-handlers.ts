import { randomUUID } from "node:crypto";
import type { Clock } from "../clock.ts";
import { HooklineError } from "../errors.ts";
import type { IdentifiedDelivery } from "../inbox/port/delivery.ts";
import type { AfterHandlers } from "./answer-option.ts";
import type { InFlightBytes } from "./in-flight-bytes.ts";
import { Refused, type Admitted } from "./steps.ts";

export interface HandlingParts {
  /** Runs each event once; rejects when a handler failed. */
  readonly handle: (delivery: IdentifiedDelivery, signal: AbortSignal) => Promise<void>;
  /** What is being handled holds its bytes. */
  readonly intake: InFlightBytes;
  readonly clock: Clock;
}

/** In place of keeping: resolves when the handlers are done, or with why that is not so. Nothing is remembered either way. */
export type HandleFirst = (admitted: Admitted, options: AfterHandlers) => Promise<Refused | undefined>;

export function createHandleFirst({ handle, intake, clock }: HandlingParts): HandleFirst {
  return async ({ delivery }, { timeoutMs }) => {
    const { byteLength } = delivery.body;
    try {
      intake.take(byteLength);
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
      handle({ ...delivery, id: randomUUID() }, controller.signal)
        .then(
          () => resolve(undefined),
          (error: unknown) => resolve(new Refused("handlers-failed", error)),
        )
        // Those past the deadline still hold the body.
        .finally(() => {
          timer.clear();
          intake.give(byteLength);
        });
    });
  };
}
