import { HooklineError } from "../errors.ts";

/** What is known of a failed call. */
export interface ServiceErrorFacts {
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
  readonly serviceCode?: string | undefined;
  readonly serviceMessage?: string | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  /** @default false */
  readonly outcomeUnknown?: boolean | undefined;
  /** @default false */
  readonly ofAccount?: boolean | undefined;
  readonly fix?: string | undefined;
  readonly cause?: unknown;
}

/**
 * A call of the service failed. Thrown by a handler, it decides about the job's retry.
 *
 * Its `code` is `service-error`, `service-forbidden` (403), `service-unreachable` and `service-timeout` (no answer), or
 * `service-answer-invalid` (an answer that cannot be read); each class has a code of its own. The message has the request's path without
 * ids, the status, and the service's code: neither a token nor content.
 *
 * @see protocol 7
 */
export class ServiceError extends HooklineError {
  override name: string = "ServiceError";
  /** HTTP status; 0 where no answer came. */
  readonly status: number;
  /** The service's own code, such as `token.notValid`: an open list. */
  readonly serviceCode?: string;
  /** By which the service's operator finds the request. */
  readonly requestId?: string;
  /** What `Retry-After` asked for, milliseconds. */
  readonly retryAfterMs?: number;
  /** A call that does harm when repeated, such as sending a mail, may have been carried out: look before you repeat it. */
  readonly outcomeUnknown: boolean;
  /** The call was made with the token of one account: what is refused, such as too many calls, is that account's. */
  readonly ofAccount: boolean;
  readonly #serviceMessage: string | undefined;

  constructor(code: string, message: string, facts: ServiceErrorFacts) {
    super(code, message, "cause" in facts ? { fix: facts.fix, cause: facts.cause } : { fix: facts.fix });
    this.status = facts.status;
    if (facts.serviceCode !== undefined) this.serviceCode = facts.serviceCode;
    if (facts.requestId !== undefined) this.requestId = facts.requestId;
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    this.outcomeUnknown = facts.outcomeUnknown ?? false;
    this.ofAccount = facts.ofAccount ?? false;
    this.#serviceMessage = facts.serviceMessage;
  }

  /** The service's own words. They may have addresses, so they are not in the message, and loggers do not see them. */
  get serviceMessage(): string | undefined {
    return this.#serviceMessage;
  }
}

/** 400: the request is wrong, and stays so. Code `service-bad-request`. */
export class BadRequest extends ServiceError {
  override name: string = "BadRequest";
}

/** 401: the token is missing, invalid or dead. Code `service-unauthorized`. @see protocol 5 */
export class Unauthorized extends ServiceError {
  override name: string = "Unauthorized";
}

/** 404: there is no such record, or not yet. Code `service-not-found`. */
export class NotFound extends ServiceError {
  override name: string = "NotFound";
}

/** 408: not available yet, such as the thread id of a message. Code `service-not-ready`. @see protocol 7 */
export class NotReady extends ServiceError {
  override name: string = "NotReady";
}

/** 410: a sync token has expired; start the sync again. Code `service-token-expired`. @see protocol 7 */
export class TokenExpired extends ServiceError {
  override name: string = "TokenExpired";
}

/** 412: the record has changed since its entity tag was read. Code `service-precondition-failed`. */
export class PreconditionFailed extends ServiceError {
  override name: string = "PreconditionFailed";
}

/**
 * 429: too many requests. Thrown by a handler, it makes the whole account wait if the call was made with the account's token: see `RetryLater`
 * with `scope: "account"`. Code `service-rate-limited`.
 */
export class RateLimited extends ServiceError {
  override name: string = "RateLimited";
}

/** How a status becomes an error. */
export interface StatusMeaning {
  readonly code: string;
  readonly type: new (code: string, message: string, facts: ServiceErrorFacts) => ServiceError;
  readonly fix?: string;
}

const BY_STATUS: Readonly<Record<number, StatusMeaning>> = {
  400: {
    code: "service-bad-request",
    type: BadRequest,
    fix: "`error.serviceMessage` has the service's words, and perhaps addresses.",
  },
  401: { code: "service-unauthorized", type: Unauthorized, fix: "Have the account authorised again." },
  403: { code: "service-forbidden", type: ServiceError, fix: "Authorise the account with the scopes that this needs." },
  404: {
    code: "service-not-found",
    type: NotFound,
    fix: "Look at the id: the record may be deleted, or be another account's.",
  },
  408: { code: "service-not-ready", type: NotReady },
  410: { code: "service-token-expired", type: TokenExpired, fix: "Start the sync again." },
  412: {
    code: "service-precondition-failed",
    type: PreconditionFailed,
    fix: "Read the record again, and repeat the change with its new `etag`.",
  },
  429: { code: "service-rate-limited", type: RateLimited, fix: "Lower `rateLimit`." },
};

const OTHER: StatusMeaning = { code: "service-error", type: ServiceError };

/** What an error status means. @see protocol 7 */
export function meaningOf(status: number): StatusMeaning {
  if (status < 400) return { ...OTHER, fix: "Set `baseUrl`: no redirect is followed." };
  return BY_STATUS[status] ?? OTHER;
}
