import { fixOf, HooklineError, isHooklineError, UsageError } from "../errors.ts";
import type { StoredDelivery } from "../inbox/port/delivery.ts";
import type { Logger } from "../logger.ts";
import { fixOfFrozenWrite } from "./job-reporter.ts";

/** Why a delivery is to come again. */
export function toHandleFailed(errors: readonly unknown[]): unknown {
  if (errors.every((error) => isHooklineError(error, "seen-busy"))) return errors[0];
  return new HooklineError("handle-failed", `${errors.length} of the delivery's handlers failed.`, {
    cause: errors.length === 1 ? errors[0] : new AggregateError(errors),
    fix:
      errors.map(fixOfFrozenWrite).find((fix) => fix !== undefined) ??
      "Nothing is lost: the service or the queue sends the delivery again. All of its events run then; with `seen`, only those that failed.",
  });
}

export function toStuck(cause: unknown): HooklineError {
  return new HooklineError("handler-stuck", "A handler ignores its signal: its lane is closed until it ends.", {
    cause,
    fix: "Pass `ctx.signal` on to whatever the handler waits for.",
  });
}

/** `ctx.unsubscribe` behind a queue, in memory: a handler must not believe that it has unsubscribed. */
export async function refuseTombstone(): Promise<never> {
  throw new UsageError(
    "no-tombstones",
    "The delivery came by a queue: the receiver that answers does not read a tombstone in this process's memory.",
    {
      fix: "Record the subscription in a store of yours, and check it in `unsubscribeWhen` of the receiver that answers.",
    },
  );
}

/**
 * Logs why a message of a queue comes again: neither an inbox nor an answer says it. One line, at once where the signal aborts: a handler
 * may ignore it until the process freezes.
 * @param log throttled
 */
export async function logFailure(
  log: Logger,
  { delivery, signal }: { readonly delivery: StoredDelivery; readonly signal: AbortSignal | undefined },
  handle: () => Promise<void>,
): Promise<void> {
  const id: unknown = delivery?.id; // a queue may bring anything
  const of = typeof id === "string" ? { deliveryId: id } : {};
  let isLogged = false;
  const aborted = (): void => {
    isLogged = true;
    log.error({ code: "handlers-late", ...of, err: signal?.reason }, "the signal aborted before handlers had ended");
  };
  signal?.addEventListener("abort", aborted, { once: true });
  try {
    await handle();
  } catch (err) {
    const known = ["seen-busy", "delivery-invalid"].find((code) => isHooklineError(err, code));
    const facts = { code: known ?? "handlers-failed", ...of, fix: fixOf(err), err };
    if (!isLogged) log[known === "seen-busy" ? "warn" : "error"](facts, "a delivery from a queue was not handled");
    throw err;
  } finally {
    signal?.removeEventListener("abort", aborted);
  }
}
