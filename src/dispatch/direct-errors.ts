import { HooklineError, isHooklineError } from "../errors.ts";
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
