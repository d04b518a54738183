import type { Clock } from "../clock.ts";
import { createBatcher } from "../inbox/batcher.ts";
import type { Claim, Settlement } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { Logger } from "../logger.ts";
import { describeThrown, isError } from "../thrown.ts";

/**
 * Settles a claim, and tries again until the inbox confirms it: a settle that failed is not certain, and its lane stays closed.
 * @param then called with false when the claim was lost. A callback, because a promise for each job costs more than its settle.
 */
export type Settle = (settlement: Settlement, then: (settled: boolean) => void) => void;

export interface SettleQueueOptions {
  readonly clock: Clock;
  /** Throttled: while a storage fails, each job is tried again each second. */
  readonly log: Logger;
  /** After a failure of the inbox itself. */
  readonly tryAgainMs: number;
  /** Wraps each answer of the inbox: something may be claimable now. */
  readonly answered: (report: () => void) => void;
  /** The inbox confirmed the outcome, or the claim was lost. */
  readonly settled: (claim: Claim) => void;
}

/** Settlements of one turn of the event loop share a commit, where a commit costs anything. */
export function createSettleQueue(
  inbox: Pick<WorkingInbox, "settle" | "capabilities">,
  { clock, log, tryAgainMs, answered, settled }: SettleQueueOptions,
): Settle {
  const batcher = createBatcher<Settlement, boolean | Error>({
    commit: (settlements) => inbox.settle(settlements),
    sizeOf: () => 0,
    failed: (error) => (isError(error) ? error : new Error(describeThrown(error).message)),
    schedule: inbox.capabilities.durability === "none" ? queueMicrotask : undefined,
  });

  return function settle(settlement, then) {
    batcher.put(settlement, (result) =>
      answered(() => {
        if (typeof result === "boolean") {
          then(result);
          settled(settlement.claim);
          return;
        }
        log.error({ err: result, code: "settle-failed" }, "the inbox failed to settle a job: it is tried again");
        clock.setTimer(() => settle(settlement, then), tryAgainMs);
      }),
    );
  };
}
