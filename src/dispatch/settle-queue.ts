import type { Clock } from "../clock.ts";
import { StorageError, type HooklineError } from "../errors.ts";
import type { InboxWatch } from "../inbox/standstill-watch.ts";
import { createBatcher } from "../inbox/batcher.ts";
import type { Claim, JobOutcome, Settlement } from "../inbox/port/claims.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { Logger } from "../logger.ts";
import { describeThrown, isError } from "../thrown.ts";
import { TRY_AGAIN_MS } from "./dispatch-deps.ts";
import { toJobError } from "./retries/retry-policy.ts";

/**
 * Settles a claim, and tries again until the inbox confirms it: a settle that failed is not certain, and its lane stays closed. What failed
 * is tried alone, so that it fails no other. If it fails on for ten minutes and more while others are settled, its jobs become dead letters.
 * @param then called with false when the claim was lost. A callback, because a promise for each job costs more than its settle.
 */
export type Settle = (settlement: Settlement, then: (settled: boolean) => void) => void;

export interface SettleQueueOptions {
  readonly clock: Clock;
  /** Throttled: while a storage fails, each job is tried again each second. */
  readonly log: Logger;
  readonly watch: InboxWatch;
  /** Wraps each answer of the inbox: something may be claimable now. */
  readonly answered: (report: () => void) => void;
  /** The inbox confirmed the outcome, or, where that does not hold, the claim was lost. */
  readonly settled: (claim: Claim, holds: boolean) => void;
  /** The inbox has failed {@link SURE_TRIES} times, and is asked again. */
  readonly unsettled: (claim: Claim) => void;
  /** The inbox took these outcomes, dead letters, and never its own ones. */
  readonly buried: (own: Settlement, outcomes: readonly JobOutcome[], error: Error) => void;
}

/**
 * So often a settlement fails alone, a second or more apart and each time while others are settled, before its jobs become dead letters. A
 * lock on a row may last for minutes, and what succeeded is to be no dead letter for that.
 */
const FAIR_TRIES = 600;

/** After one failure the outcome may be stored all the same; after so many it is not, or the next try would have said so. */
const SURE_TRIES = 10;

/** A settle that hangs for so long does not stop those that came later, milliseconds. */
const HANGS_MS = 5_000;

/** About what an outcome takes: of calls in which a thousand jobs were merged a few share a commit, so that none takes long. */
const OUTCOME_BYTES = 800;

interface Waiting {
  readonly settlement: Settlement;
  /** Undefined once it was called. */
  report: ((settled: boolean) => void) | undefined;
  tries: number;
  /** Failures while something else was settled. */
  fairTries: number;
  lastError: unknown;
  /** For `health()`, once the inbox refuses it for long: others that are settled do not hide it. */
  own: ReturnType<InboxWatch["own"]> | undefined;
}

/** Settlements of one turn of the event loop share a commit, where a commit costs anything. */
export function createSettleQueue(
  inbox: Pick<WorkingInbox, "settle" | "capabilities">,
  { clock, log, watch, answered, settled, unsettled, buried }: SettleQueueOptions,
): Settle {
  const batcher = createBatcher<Waiting, boolean | Error>({
    commit: (batch) => commit(batch),
    sizeOf: ({ settlement }) => settlement.claim.jobs.length * OUTCOME_BYTES,
    failed: toError,
    deadline: { ms: HANGS_MS, clock },
    schedule: inbox.capabilities.durability === "none" ? queueMicrotask : undefined,
  });

  /** Settlements that held. */
  let held = 0;

  function commit(
    batch: readonly Waiting[],
    settlements: readonly Settlement[] = batch.map(({ settlement }) => settlement),
    ended: typeof end = end,
  ): Promise<readonly (boolean | Error)[]> {
    return watch.call(
      "settle",
      "settle",
      () => inbox.settle(settlements),
      (results) => {
        for (const [index, waiting] of batch.entries()) ended(waiting, results[index]);
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
    waiting.own?.moved();
    if (result) held += 1;
    answered(() => {
      report(result);
      settled(settlement.claim, result);
    });
    return true;
  }

  function failed(waiting: Waiting, error: unknown): void {
    const heldBefore = held;
    answered(() => {
      waiting.lastError = error;
      watch.failed("settle", error);
      waiting.tries += 1;
      if (waiting.tries === SURE_TRIES) {
        unsettled(waiting.settlement.claim);
        waiting.own = watch.own("complete", "A job whose handler has ended");
      }
      waiting.own?.failed(error);
      log.error({ err: error, code: "settle-failed" }, "the inbox failed to settle a job: it is tried again");
      clock.setTimer(() => void settleAlone(waiting, heldBefore), TRY_AGAIN_MS);
    });
  }

  async function settleAlone(waiting: Waiting, heldBefore: number): Promise<void> {
    if (waiting.report === undefined) return; // it was answered late
    if (waiting.fairTries >= FAIR_TRIES) return bury(waiting);
    const result = await tryAlone(waiting, waiting.settlement, end);
    if (end(waiting, result)) return;
    if (held > heldBefore) waiting.fairTries += 1;
    failed(waiting, result);
  }

  /** In turns with its own outcomes. For its caller the claim is lost: those do not count. */
  async function bury(waiting: Waiting): Promise<void> {
    const { settlement } = waiting;
    const error = new StorageError("job-unsettled", "The inbox refuses to store how this job ended.");
    const dead = { claim: settlement.claim, outcomes: toDead(settlement.claim, error, clock.now()) };

    function endBuried(_: Waiting, result: unknown): boolean {
      if (result !== true || waiting.report === undefined) return end(waiting, result);
      const jobIds = settlement.claim.jobs.map(({ id }) => id).slice(0, 10);
      log.error(
        { err: waiting.lastError, code: "job-unsettled", jobIds },
        "the inbox takes other outcomes, and not what became of these jobs: they are dead letters",
      );
      end(waiting, false);
      buried(settlement, dead.outcomes, error);
      return true;
    }

    const result = await tryAlone(waiting, dead, endBuried);
    if (endBuried(waiting, result)) return;
    waiting.fairTries = FAIR_TRIES - 1;
    failed(waiting, result);
  }

  async function tryAlone(waiting: Waiting, settlement: Settlement, ended: typeof end): Promise<unknown> {
    try {
      const [result] = await commit([waiting], [settlement], ended);
      return result;
    } catch (error) {
      return toError(error);
    }
  }

  return function settle(settlement, then) {
    const waiting: Waiting = { settlement, report: then, tries: 0, fairTries: 0, lastError: undefined, own: undefined };
    batcher.put(waiting, (result) => {
      if (!end(waiting, result)) failed(waiting, result);
    });
  };
}

/** All jobs of a claim as dead letters. */
export function toDead({ jobs }: Claim, error: HooklineError, now: number): readonly JobOutcome[] {
  return jobs.map((): JobOutcome => ({ to: "dead", error: toJobError(error, now) }));
}

function toError(error: unknown): Error {
  return isError(error) ? error : new Error(describeThrown(error).message);
}
