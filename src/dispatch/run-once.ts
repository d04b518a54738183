import type { Clock } from "../clock.ts";
import { HooklineError, isHooklineError } from "../errors.ts";
import type { SeenStore } from "../inbox/port/seen-store.ts";
import type { Logger } from "../logger.ts";
import { withTimeout } from "../timeout.ts";

interface RunOnceOptions {
  readonly store: SeenStore;
  readonly leaseMs: number;
  readonly keepMs: number;
  readonly clock: Clock;
  /** Throttled. */
  readonly log: Pick<Logger, "error">;
}

/** A store that gives no answer must not hold up the answer of a delivery, milliseconds. */
const LIMIT_MS = 5_000;
const LATE = Symbol("late");

/**
 * Runs what no process has done yet.
 *
 * @returns whether it ran; false: it was done before
 * @throws HooklineError `seen-busy` while another process does it, `seen-failed` where the store does not say: it must not run unseen
 */
export async function runOnce(key: string, run: () => Promise<void>, options: RunOnceOptions): Promise<boolean> {
  const { store, leaseMs, keepMs, clock, log } = options;
  // In a promise: a store of the user's may throw, or give no promise.
  const inTime = async <T>(call: () => T) => {
    const result = await withTimeout(LIMIT_MS, Promise.resolve().then(call), { clock, late: LATE });
    if (result === LATE) throw new Error(`No answer within ${LIMIT_MS} ms.`);
    return result;
  };

  async function settle(how: "done" | "failed"): Promise<void> {
    await inTime(() => store.settle(key, how, keepMs)).catch((err: unknown) => {
      log.error({ code: "seen-failed", err }, "the `seen` store did not note how an event ended: it may run again");
    });
  }

  const claimed = await inTime(() => store.claim(key, leaseMs)).catch((cause: unknown) => {
    throw toFailure("failed", cause);
  });
  if (claimed === "done") return false;
  if (claimed === "busy")
    throw new HooklineError("seen-busy", "Another process handles the event, or died while it did.");
  if (claimed !== "mine") throw toFailure(`gave ${String(claimed)}`);
  try {
    await run();
  } catch (error) {
    // A handler that ignores its signal still runs: nobody else is to begin before the end of the lease.
    if (!isHooklineError(error, "handler-stuck")) await settle("failed");
    throw error;
  }
  await settle("done");
  return true;
}

function toFailure(what: string, cause?: unknown): HooklineError {
  return new HooklineError("seen-failed", `The \`seen\` store ${what}: the event was not handled.`, {
    cause,
    fix: "Check the store's server; the delivery comes again.",
  });
}
