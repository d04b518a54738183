import type { Clock } from "../clock.ts";
import type { InboxWatch } from "../inbox-watch.ts";
import { createBatcher } from "../inbox/batcher.ts";
import type { Claim, JobOutcome, Settlement } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { Logger } from "../logger.ts";
import { describeThrown, isError } from "../thrown.ts";

/**
 * Settles a claim, and tries again until the inbox confirms it: a settle that failed is not certain, and its lane stays closed. What failed
 * is tried alone, so that it fails no other. If it fails on while others are settled, its jobs become dead letters.
 * @param then called with false when the claim was lost. A callback, because a promise for each job costs more than its settle.
 */
export type Settle = (settlement: Settlement, then: (settled: boolean) => void) => void;

export interface SettleQueueOptions {
  readonly clock: Clock;
  /** Throttled: while a storage fails, each job is tried again each second. */
  readonly log: Logger;
  readonly watch: InboxWatch;
  /** After a failure of the inbox itself. */
  readonly tryAgainMs: number;
  /** Wraps each answer of the inbox: something may be claimable now. */
  readonly answered: (report: () => void) => void;
  /** The inbox confirmed the outcome, or the claim was lost. */
  readonly settled: (claim: Claim) => void;
}

/** So often a settlement fails alone, each time while others are settled, before its jobs become dead letters. */
const FAIR_TRIES = 3;

interface Waiting {
  readonly settlement: Settlement;
  /** Undefined once it was called. */
  report: ((settled: boolean) => void) | undefined;
  /** Failures while something else was settled. */
  fairTries: number;
}

/** Settlements of one turn of the event loop share a commit, where a commit costs anything. */
export function createSettleQueue(
  inbox: Pick<WorkingInbox, "settle" | "capabilities">,
  { clock, log, watch, tryAgainMs, answered, settled }: SettleQueueOptions,
): Settle {
  const batcher = createBatcher<Waiting, boolean | Error>({
    commit: (batch) => commit(batch),
    sizeOf: () => 0,
    failed: toError,
    schedule: inbox.capabilities.durability === "none" ? queueMicrotask : undefined,
  });

  /** Settlements that held. */
  let held = 0;

  function commit(
    batch: readonly Waiting[],
    settlements: readonly Settlement[] = batch.map(({ settlement }) => settlement),
  ): Promise<readonly (boolean | Error)[]> {
    return watch.call(
      "settle",
      "settle",
      () => inbox.settle(settlements),
      (results) => {
        for (const [index, waiting] of batch.entries()) end(waiting, results[index]);
      },
    );
  }

  /** @returns whether that is known now, or was before */
  function end(waiting: Waiting, result: unknown): boolean {
    const { report, settlement } = waiting;
    if (report === undefined) return true;
    if (typeof result !== "boolean") return false;
    waiting.report = undefined;
    watch.moved("settle", result);
    if (result) held += 1;
    answered(() => {
      report(result);
      settled(settlement.claim);
    });
    return true;
  }

  function failed(waiting: Waiting, error: unknown): void {
    const heldBefore = held;
    answered(() => {
      watch.failed("settle", error);
      log.error({ err: error, code: "settle-failed" }, "the inbox failed to settle a job: it is tried again");
      clock.setTimer(() => void settleAlone(waiting, heldBefore), tryAgainMs);
    });
  }

  async function settleAlone(waiting: Waiting, heldBefore: number): Promise<void> {
    if (waiting.report === undefined) return; // it was answered late
    let result = await tryAlone(waiting);
    if (end(waiting, result)) return;
    if (held > heldBefore) waiting.fairTries += 1;
    if (waiting.fairTries >= FAIR_TRIES) {
      const buried = await tryAlone(waiting, toDead(waiting.settlement, clock.now()));
      if (buried === true) reportBuried(waiting.settlement, result);
      if (end(waiting, buried)) return;
      result = buried;
    }
    failed(waiting, result);
  }

  async function tryAlone(waiting: Waiting, settlement: Settlement = waiting.settlement): Promise<unknown> {
    try {
      const [result] = await commit([waiting], [settlement]);
      return result;
    } catch (error) {
      return toError(error);
    }
  }

  function reportBuried({ claim }: Settlement, err: unknown): void {
    log.error(
      { err, code: "job-unsettled", jobIds: claim.jobs.map(({ id }) => id).slice(0, 10) },
      "the inbox takes other outcomes, and not what became of these jobs: they are dead letters",
    );
  }

  return function settle(settlement, then) {
    const waiting: Waiting = { settlement, report: then, fairTries: 0 };
    batcher.put(waiting, (result) => {
      if (!end(waiting, result)) failed(waiting, result);
    });
  };
}

function toDead({ claim }: Settlement, at: number): Settlement {
  const error = { name: "StorageError", message: "The inbox does not take what became of this job.", at };
  return { claim, outcomes: claim.jobs.map((): JobOutcome => ({ to: "dead", error })) };
}

function toError(error: unknown): Error {
  return isError(error) ? error : new Error(describeThrown(error).message);
}
