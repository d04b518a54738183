import { SIGNATURE_PROBLEMS, type SignatureProblem } from "../protocol/signature/signature-headers.ts";
import { catchRejection } from "../thrown.ts";
import type { Reply } from "./types.ts";

/** Why a request was refused, for the log, the counters and observers. The sender sees the status only. */
export type RefusalCode = keyof typeof REFUSALS;

export function isRefusalCode(code: string): code is RefusalCode {
  return Object.hasOwn(REFUSALS, code);
}

/** The output of a step that refuses the request: nothing was acknowledged. */
export class Refused {
  readonly code: RefusalCode;
  readonly cause: unknown;

  constructor(code: RefusalCode, cause?: unknown) {
    this.code = code;
    this.cause = cause;
    catchRejection(cause); // a user's function may have thrown a promise, and its rejection would end the process
  }
}

interface Refusal {
  /** Never 200; and never 422, which needs a decision of the application. */
  readonly status: Exclude<Reply["status"], 200 | 422>;
  /** `warn`: caused by the sender's network or key; `error`: caused by this receiver or its host, and stops deliveries. */
  readonly level: "warn" | "error";
  readonly message: string;
  readonly fix: string;
}

/** Every refusal. The service redelivers after each of them. */
export const REFUSALS = {
  "method-not-allowed": {
    status: 405,
    level: "warn",
    message: "A delivery is a POST.",
    fix: "Nothing to do: a browser or a probe looked at the URL.",
  },
  ...unauthorized(SIGNATURE_PROBLEMS),
  "content-encoding": {
    status: 415,
    level: "error",
    message: "The body is compressed.",
    fix: "Switch request compression off in the proxy: the signature is over the bytes that the service sent.",
  },
  "body-too-large": {
    status: 413,
    level: "error",
    message: "The body is over `maxBodyBytes`.",
    fix: "It is redelivered until it fits: raise `maxBodyBytes`.",
  },
  "intake-full": {
    status: 503,
    level: "error",
    message: "Bodies being read, or waiting to be stored, hold `maxInFlightBytes`.",
    fix: "Raise `maxInFlightBytes`, or look for a client that floods or a disk that is slow.",
  },
  "body-late": {
    status: 408,
    level: "warn",
    message: "The body did not arrive within `bodyTimeoutMs`.",
    fix: "Look at the network, or raise `bodyTimeoutMs`.",
  },
  "body-cut-off": {
    status: 408,
    level: "warn",
    message: "The connection ended before the body did.",
    fix: "Nothing to do: it is redelivered.",
  },
  "body-consumed": {
    status: 500,
    level: "error",
    message: "A parser read the body before the mount, and the bytes are gone.",
    fix: "Mount Hookline before the parser.",
  },
  "secret-missing": {
    status: 503,
    level: "error",
    message: "There is no signing secret.",
    fix: "Set the `secret` of `createReceiver`; it is on the service's dashboard.",
  },
  "secret-lookup-failed": {
    status: 503,
    level: "error",
    message: "The look-up of the secret failed.",
    fix: "See the cause; no delivery can be verified until the look-up works.",
  },
  "secret-lookup-late": {
    status: 503,
    level: "error",
    message: "The look-up of the secret took longer than `secretTimeoutMs`.",
    fix: "Make it faster, or raise `secretTimeoutMs`.",
  },
  "secret-unknown": {
    status: 401,
    level: "warn",
    message: "The look-up found no secret for this request.",
    fix: "Nothing to do if the request is not the service's; else add the secret.",
  },
  "token-bad": {
    status: 400,
    level: "warn",
    message: "The verification token is empty or over 1,024 characters.",
    fix: "Nothing to do: the service sends a short one.",
  },
  closing: {
    status: 503,
    level: "warn",
    message: "The receiver is closing.",
    fix: "Nothing to do: it is redelivered.",
  },
  "storage-failed": {
    status: 503,
    level: "error",
    message: "The inbox could not store the delivery.",
    fix: "See the cause; nothing was acknowledged.",
  },
  "forward-results": {
    status: 503,
    level: "error",
    message:
      "The function of `forwardInbox` gave no settled result for each delivery: which of them are stored is not known.",
    fix: "Let it resolve with nothing, or with one settled result a delivery, in order.",
  },
  "storage-late": {
    status: 503,
    level: "error",
    message: "The inbox took longer than `storeTimeoutMs`.",
    fix: "Look at what the inbox stores in: the disk, the database server or the queue.",
  },
  "inbox-full": {
    status: 503,
    level: "error",
    message: "The inbox is full.",
    fix: "Handlers are slower than the stream, or blocked: look at `stats()`; or take a durable inbox.",
  },
  "handlers-failed": {
    status: 503,
    level: "error",
    message: "A handler failed, and the answer waits for the handlers.",
    fix: "See the cause; all of the delivery runs again when it is redelivered. `GiveUp` ends that.",
  },
  "seen-busy": {
    status: 503,
    level: "warn",
    message: "Another process handles the same event, or an equal delivery.",
    fix: "Nothing to do: it is redelivered. If no process handles it, it runs again when the lease of the `seen` store is over.",
  },
  "handlers-late": {
    status: 503,
    level: "error",
    message: "The handlers took longer than `timeoutMs`.",
    fix: "Make them faster, or raise `timeoutMs` as far as the platform allows. The `seen` store, if there is one, takes of that time, too.",
  },
  internal: {
    status: 503,
    level: "error",
    message: "Something threw unexpectedly, such as the mount's `source`.",
    fix: "See the cause; nothing was acknowledged.",
  },
} satisfies Readonly<Record<string, Refusal>>;

/** In seconds. The service has its own backoff; this is for proxies and clients between it and the receiver. */
const RETRY_AFTER_SECONDS = "10";

/** All other rows. The log has the reason, the answer never. */
export function replyRefused({ code }: Refused): Reply {
  const { status } = REFUSALS[code];
  if (status === 405) return { status, headers: { Allow: "POST" }, body: "" };
  if (status === 503) return { status, headers: { "Retry-After": RETRY_AFTER_SECONDS }, body: "" };
  return { status, headers: {}, body: "" };
}

function unauthorized(problems: typeof SIGNATURE_PROBLEMS): Record<SignatureProblem, Refusal> {
  const entries = Object.entries(problems).map(([code, problem]) => [code, { status: 401, level: "warn", ...problem }]);
  return Object.fromEntries(entries) as Record<SignatureProblem, Refusal>;
}
