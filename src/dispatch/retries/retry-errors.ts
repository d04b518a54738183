import { HooklineError, isHooklineError, UsageError, type ErrorOptions } from "../../errors.ts";
import { parseRetryAfter } from "../../retry-after.ts";
import { catchRejection } from "../../thrown.ts";

/**
 * Thrown by a handler: do not try again. The job is dead at once, whatever attempts are left.
 * @example throw new GiveUp("the account was deleted");
 */
export class GiveUp extends HooklineError {
  override name: string = "GiveUp";

  constructor(reason: string, options: Pick<ErrorOptions, "cause"> = {}) {
    super("give-up", reason, options);
  }
}

/** Of {@link RetryLater}. */
export interface RetryLaterOptions extends Pick<ErrorOptions, "cause"> {
  /** `account`: nothing of the event's account and this consumer starts before that time, in this process; at most 24 h. @default "job" */
  scope?: "job" | "account" | undefined;
}

/** When {@link RetryLater} asks to be tried again. */
export type RetryTime = { readonly afterMs: number } | { readonly afterSeconds: number } | { readonly at: Date };

/**
 * Thrown by a handler: try again at this time. It does not count as a failed attempt, but `retryForMs` still limits it: a later time is
 * moved to the end of that. A time that is not in the future waits as long as after a first failure. The shortest delay is 100 ms.
 * With `scope: "account"` the service has had enough of the whole account: its other jobs of this consumer wait as well, and are not tried.
 * @throws UsageError `retry-later-invalid` for anything but the three forms of a time, and another scope
 * @example throw new RetryLater({ afterSeconds: 30 });
 * @see retryAfter for another server's `Retry-After`
 */
export class RetryLater extends HooklineError {
  override name: string = "RetryLater";
  readonly when: RetryTime;
  readonly scope: "job" | "account";

  constructor(when: RetryTime, options: RetryLaterOptions = {}) {
    super("retry-later", "The handler asked to be tried again later.", options);
    this.when = when;
    this.scope = options.scope ?? "job";
    if (this.scope !== "job" && this.scope !== "account")
      throw new UsageError("retry-later-invalid", `RetryLater got scope ${JSON.stringify(this.scope)}.`, {
        fix: 'Give it "job" or "account".',
      });
    if (!Number.isFinite(this.delayMs(0))) {
      throw new UsageError("retry-later-invalid", `RetryLater got ${describe(when)}.`, {
        fix: "Give it { afterMs }, { afterSeconds } or { at: Date }, such as new RetryLater({ afterSeconds: 30 }).",
      });
    }
  }

  /** Milliseconds from now, never below 0. */
  delayMs(now: number): number {
    const { when } = this;
    if (typeof when !== "object" || when === null) return Number.NaN;
    if ("afterMs" in when) return Math.max(when.afterMs, 0);
    if ("afterSeconds" in when) return Math.max(when.afterSeconds * 1_000, 0);
    return "at" in when && when.at instanceof Date ? Math.max(when.at.getTime() - now, 0) : Number.NaN;
  }
}

function describe(when: unknown): string {
  return typeof when === "object" && when !== null
    ? `{ ${Object.entries(when)
        .map(([key, value]) => `${key}: ${String(value)}`)
        .join(", ")} }`
    : String(when);
}

/**
 * For a handler whose own request was refused with a `Retry-After`: seconds, or a date in any of HTTP's three forms. A value that is
 * missing, unreadable or not in the future waits as long as after a first failure.
 * @example if (response.status === 429) throw retryAfter(response.headers.get("retry-after"));
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
 */
export function retryAfter(header: string | null | undefined): RetryLater {
  return new RetryLater(parseRetryAfter(header) ?? { afterMs: 0 });
}

/**
 * What becomes of a job whose handler threw an error of `hookline/client`, by the error's `code`: nothing more is known of the client here.
 * Codes that are not in it, such as those of 404, 410, 412, 5xx and of no answer, are ordinary failures: what was announced may not be
 * visible yet.
 */
const SERVICE_ERRORS: Readonly<
  Record<string, { readonly to: "give-up" } | { readonly to: "later"; readonly afterMs: number }>
> = {
  "service-bad-request": { to: "give-up" }, // 400
  "service-forbidden": { to: "give-up" }, // 403
  "service-not-ready": { to: "later", afterMs: 5_000 }, // 408, where the answer names no time
  "service-rate-limited": { to: "later", afterMs: 30_000 }, // 429, the same
};

/** The service refused the account's token: 401. It is retried like any failure, and a problem of the account. */
export function isUnauthorized(error: unknown): boolean {
  return isHooklineError(error, "service-unauthorized");
}

/** Whether a handler asked by what it threw not to be tried again. Never throws, where a field can be read a few times only. */
export function isGiveUp(error: unknown): boolean {
  try {
    return retryErrorOf(error)?.code === "give-up";
  } catch (unreadable) {
    catchRejection(unreadable);
    return false;
  }
}

/**
 * What a handler asked for by what it threw: `GiveUp`, `RetryLater`, or an error of the service that means the same; undefined for an
 * ordinary failure. Never throws.
 */
export function retryErrorOf(error: unknown): GiveUp | RetryLater | undefined {
  try {
    if (!isHooklineError(error)) return undefined;
    if (error.code === "give-up") return error;
    // It may be of another copy of the package.
    if (error.code === "retry-later") return "delayMs" in error ? error : undefined;
    const meant = Object.hasOwn(SERVICE_ERRORS, error.code) ? SERVICE_ERRORS[error.code] : undefined;
    if (meant === undefined) return undefined;
    if (meant.to === "give-up") return new GiveUp(error.message, { cause: error });
    const asked = (error as { retryAfterMs?: unknown }).retryAfterMs;
    const afterMs = typeof asked === "number" && asked >= 0 ? asked : meant.afterMs;
    const isOfAccount = error.code === "service-rate-limited" && "ofAccount" in error && error.ofAccount === true;
    const scope = isOfAccount ? "account" : "job";
    return new RetryLater({ afterMs: Math.min(afterMs, Number.MAX_SAFE_INTEGER) }, { cause: error, scope });
  } catch (unreadable) {
    catchRejection(unreadable);
    return undefined;
  }
}
