import { catchRejection } from "./thrown.ts";

/** Options of `HooklineError`: fix hint and cause. */
export interface ErrorOptions {
  /** What to change so that the error does not recur. */
  readonly fix?: string | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/**
 * Base class of every error that Hookline makes: a stable `code`, a message with the given and the expected value, and the fix.
 *
 * @example
 * try { await receiver.start(); } catch (error) { if (isHooklineError(error, "secret-missing")) explainSetup(error.fix); }
 */
export class HooklineError extends Error {
  override name: string = "HooklineError";
  /** Stable, kebab-case; docs/reference/errors.md lists them all. */
  readonly code: string;
  /** What to change, in one sentence. */
  readonly fix?: string;

  constructor(code: string, message: string, options: ErrorOptions = {}) {
    super(
      options.fix === undefined ? message : `${message} ${options.fix}`,
      "cause" in options ? { cause: options.cause } : undefined,
    );
    this.code = code;
    if (options.fix !== undefined) this.fix = options.fix;
  }
}

/** The program uses Hookline wrongly: thrown by the call that does so. */
export class UsageError extends HooklineError {
  override name: string = "UsageError";
}

/** A request's signature or timestamp is invalid. The code says why, such as `signature-wrong` or `timestamp-stale`. */
export class SignatureError extends HooklineError {
  override name: string = "SignatureError";
}

/** The body could not be read: too large, too late, cut off, or consumed before the mount. */
export class BodyError extends HooklineError {
  override name: string = "BodyError";
}

/** An inbox could not store, or not in time. Nothing was acknowledged. */
export class StorageError extends HooklineError {
  override name: string = "StorageError";
}

/** The receiver is closing or closed. */
export class ClosedError extends HooklineError {
  override name: string = "ClosedError";
}

/**
 * True for an error of Hookline, with that `code` if one is given. Works across copies of the package because it checks the error's
 * `name`, not only its class. Never throws.
 */
export function isHooklineError(error: unknown, code?: string): error is HooklineError {
  try {
    if (!(error instanceof Error) || typeof (error as { code?: unknown }).code !== "string") return false;
    const known = error instanceof HooklineError || HOOKLINE_NAMES.has(error.name);
    return known && (code === undefined || (error as HooklineError).code === code);
  } catch (unreadable) {
    catchRejection(unreadable);
    return false; // `error` may be unreadable: a getter that throws, a revoked proxy
  }
}

/** The fix of a Hookline error; undefined for anything else. Never throws. */
export function fixOf(error: unknown): string | undefined {
  try {
    return isHooklineError(error) && typeof error.fix === "string" ? error.fix : undefined;
  } catch (unreadable) {
    catchRejection(unreadable);
    return undefined;
  }
}

const HOOKLINE_NAMES: ReadonlySet<string> = new Set([
  "HooklineError",
  "UsageError",
  "SignatureError",
  "BodyError",
  "StorageError",
  "ClosedError",
  "GiveUp",
  "RetryLater",
  "ServiceError",
  "BadRequest",
  "Unauthorized",
  "NotFound",
  "NotReady",
  "TokenExpired",
  "PreconditionFailed",
  "RateLimited",
]);
