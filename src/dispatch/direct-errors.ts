import { fixOf, HooklineError, isHooklineError, UsageError } from "../errors.ts";
import type { IdentifiedDelivery, StoredDelivery } from "../inbox/port/delivery.ts";
import type { Logger } from "../logger.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import { describeThrown } from "../thrown.ts";
import { fixOfFrozenWrite } from "./job-reporter.ts";
import { isGiveUp } from "./retries/retry-errors.ts";

/** Why a delivery is to come again. */
export function toHandleFailed(errors: readonly unknown[]): unknown {
  if (errors.every((error) => isHooklineError(error, "seen-busy"))) return errors[0];
  const isUnseen = errors.every((error) => isHooklineError(error, "seen-failed"));
  const what = isUnseen
    ? "The `seen` store failed: not all handlers of the delivery were called."
    : `${errors.length} of the delivery's handlers failed.`;
  return new HooklineError("handle-failed", what, {
    // A log prints the messages of causes, and no errors within them.
    cause: errors.length === 1 ? errors[0] : new AggregateError(errors, toLines(errors)),
    fix:
      errors.map(fixOfFrozenWrite).find((fix) => fix !== undefined) ??
      "Nothing is lost: the service or the queue sends the delivery again. All of its events run then; with `seen`, only those that failed.",
  });
}

function toLines(errors: readonly unknown[]): string {
  const lines = errors.slice(0, MOST_SHOWN).map((error) => {
    const { name, message } = describeThrown(error);
    return `${name}: ${message}`;
  });
  return [...lines, ...(errors.length > MOST_SHOWN ? [`and ${errors.length - MOST_SHOWN} more`] : [])].join("; ");
}

/** A delivery may have a hundred thousand events. */
const MOST_SHOWN = 5;

/**
 * Whether a handler that failed is not to run again.
 * @param log has the only trace of it: no inbox keeps a dead letter
 */
export function isGivenUp(
  error: unknown,
  { delivery, event }: { readonly delivery: IdentifiedDelivery; readonly event: SingleEvent },
  log: Logger,
): boolean {
  if (!isGiveUp(error)) return false;
  const facts = { code: "given-up", deliveryId: delivery.id, event: event.type, err: error };
  log.warn(facts, "a handler gave up: the event counts as done, and no dead letter keeps it");
  return true;
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
    const err = new HooklineError(
      "handlers-late",
      "The signal given to `handle` aborted before the handlers had ended.",
      {
        cause: signal?.reason,
        fix: "Make them faster, or raise the time limit of the function that calls `handle`. The `seen` store, if there is one, takes of that time, too. The queue sends the delivery again.",
      },
    );
    log.error({ code: err.code, ...of, fix: err.fix, err }, "the signal aborted before handlers had ended");
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
