import type { Clock } from "../../clock.ts";
import { HooklineError, StorageError } from "../../errors.ts";
import { offerCompletion, type CompletedCall, type Transactional } from "../../inbox/port/transactional.ts";
import type { ClaimedJob } from "../../inbox/port/claims.ts";
import type { InboxWatch } from "../../inbox/standstill-watch.ts";
import type { Logger } from "../../logger.ts";
import { TRY_AGAIN_MS } from "../dispatch-deps.ts";
import type { CallResult } from "../retries/retry-policy.ts";

/** Calls that settle themselves, in a transaction of the application. */
export interface Completions {
  /** @returns whether the handler completed its jobs in a transaction, which may be open yet */
  offer(ctx: object, call: CompletedCall): () => boolean;
  /** The result of such a call: its transaction decides. */
  resultOf(call: CompletedCall, result: CallResult, claim: CompletedClaim): Promise<CallResult>;
}

interface CompletedClaim {
  /** It was lost: nothing is to be asked any more. */
  readonly isOver: () => boolean;
  /** Its transaction is open. */
  readonly waits: () => void;
}

const OPEN = new StorageError("transaction-open", "its handler has ended, and its transaction is still open.");

export interface CompletionsOptions {
  readonly clock: Clock;
  /** Throttled. */
  readonly log: Logger;
  readonly watch: InboxWatch;
}

export function createCompletions(inbox: Transactional, { clock, log, watch }: CompletionsOptions): Completions {
  return {
    offer(ctx, call) {
      let isCompleted = false;
      offerCompletion(ctx, {
        async complete(transaction) {
          await inbox.complete(call, transaction);
          isCompleted = true;
        },
      });
      return () => isCompleted;
    },
    async resultOf(call, result, { isOver, waits }) {
      const [{ id, consumer }] = call.jobs as readonly [ClaimedJob, ...ClaimedJob[]];
      // What others settle meanwhile does not hide that this one is not.
      const own = watch.own("complete", `Job ${id} of consumer ${JSON.stringify(consumer)}`);
      const moved = (): void => {
        watch.moved("settle");
        own.moved();
      };
      while (!isOver()) {
        try {
          const isCommitted = await watch.call("settle", "isCompleted", () => inbox.isCompleted(call));
          watch.moved("settle");
          own.failed(OPEN);
          if (isCommitted === undefined) {
            waits();
            continue;
          }
          own.moved();
          return toResult(isCommitted, result);
        } catch (error) {
          watch.failed("settle", error);
          own.failed(error);
          log.error(
            { err: error, code: "settle-failed" },
            "it is not known whether a transaction was committed: it is asked again",
          );
          await new Promise<void>((resolve) => void clock.setTimer(resolve, TRY_AGAIN_MS));
        }
      }
      moved();
      return result;
    },
  };

  function toResult(isCommitted: boolean, result: CallResult): CallResult {
    if (isCommitted && !result.ok)
      log.warn(
        { err: result.error, code: "failed-after-commit" },
        "a handler failed after its transaction: its jobs are done",
      );
    if (isCommitted) return { ok: true };
    if (!result.ok) return result;
    const error = new HooklineError(
      "transaction-rolled-back",
      "The transaction that completed the job was rolled back.",
      {
        fix: "Let the error that rolled it back leave the handler: await the transaction, and do not catch around it.",
      },
    );
    return { ok: false, error };
  }
}
