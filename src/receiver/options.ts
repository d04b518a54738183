import { assertBoolean, assertOptions, kindOf, wholeNumber } from "../assert.ts";
import { LONGEST_TIMER_MS, toClock, type Clock } from "../clock.ts";
import { DEFAULT_GRACE_MS, DEFAULT_TIMEOUT_MS } from "../dispatch/calls/run-handler.ts";
import { DEFAULT_CONCURRENCY } from "../dispatch/claims/prefetch.ts";
import { assertLimits } from "../dispatch/handlers.ts";
import { DEFAULT_ATTEMPTS, DEFAULT_RETRY_FOR_MS } from "../dispatch/retries/retry-policy.ts";
import { UsageError } from "../errors.ts";
import { DEFAULT_GAP_LIMITS, type GapLimits } from "../gaps/gap-watch.ts";
import type { Inbox, StorageKind, WorkingInbox } from "../inbox/port/inbox.ts";
import { DEFAULT_BODY_TIMEOUT_MS, DEFAULT_MAX_BODY_BYTES, DEFAULT_MAX_IN_FLIGHT_BYTES } from "../ingest/body-limits.ts";
import { DEFAULT_SECRET_TIMEOUT_MS, type SecretSource } from "../ingest/secret-lookup.ts";
import { DEFAULT_STORE_TIMEOUT_MS } from "../ingest/store.ts";
import { DEFAULT_GATE_TIMEOUT_MS } from "../ingest/unsubscribe-gate.ts";
import { DEFAULT_UNSUBSCRIBES_PER_HOUR } from "../ingest/unsubscribe-rate-limit.ts";
import { toLogger, type Logger } from "../logger.ts";
import { resolveScheme, serviceScheme, type SignatureScheme } from "../protocol/signature/signature-scheme.ts";
import { DEFAULT_MAX_AGE_SECONDS } from "../protocol/signature/timestamp-age.ts";

/** Options of `createReceiver`. Only `secret` and `inbox` are required. */
export interface ReceiverOptions<K extends StorageKind = StorageKind> {
  /**
   * The signing secret. `undefined` is allowed in the type (`process.env.X`); a missing or empty value is refused by `start()` and by
   * the first request, not at import.
   */
  secret: SecretSource | undefined;
  /** Where deliveries and jobs are stored. */
  inbox: Inbox<K>;
  /** Of this receiver: a file belongs to one name, and another one is refused. @default "default" */
  name?: string | undefined;
  /** Most jobs running at once. @default 10 */
  concurrency?: number | undefined;
  /** Who takes turns where more is due than may run: accounts, or nobody. @default "account" */
  fairness?: "account" | "none" | undefined;
  /** A job is dead after this many failed attempts; a handler may set its own. @default no limit but `retryForMs` */
  attempts?: number | undefined;
  /** How long after its first attempt a job is retried, milliseconds; a handler may set its own. @default 86_400_000 */
  retryForMs?: number | undefined;
  /** One attempt's time until its signal aborts, milliseconds, 0 = none; a handler may set its own. @default 30_000 */
  timeoutMs?: number | undefined;
  /** A longer body is answered 413. @default 1 MiB, or less where a message of the inbox's queue holds less */
  maxBodyBytes?: number | undefined;
  /** Bodies being read or waiting to be stored, all requests together; beyond it 503. @default 64 MiB, or `maxBodyBytes` where that is more */
  maxInFlightBytes?: number | undefined;
  /** From the headers to the end of the body, milliseconds. @default 10_000 */
  bodyTimeoutMs?: number | undefined;
  /** Largest age of a signed timestamp. @default 604_800 (7 days) */
  maxAgeSeconds?: number | undefined;
  /** Look-up of a secret by function, milliseconds. @default 2_000 */
  secretTimeoutMs?: number | undefined;
  /** Time for storing before 503, milliseconds. @default 5_000 */
  storeTimeoutMs?: number | undefined;
  /** From the abort of a handler to giving its slot back, milliseconds. @default 30_000 */
  graceMs?: number | undefined;
  /** Handlers past their grace that may run on without a slot. @default `concurrency` */
  maxStuck?: number | undefined;
  gate?:
    | {
        /** Time for the function of `unsubscribeWhen`, milliseconds; then the delivery is stored. @default 500 */
        timeoutMs?: number | undefined;
        /**
         * Different subscriptions an hour, by the gate and `ctx.unsubscribe` together. Beyond it the gate is ignored and logged, and `ctx.unsubscribe` rejects.
         * @default 10
         */
        maxUnsubscribesPerHour?: number | undefined;
      }
    | undefined;
  /**
   * Windows in which something may be missing, such as an outage or a subscription in error, end in one call of `.changes` for each resource.
   * False: nothing is recorded. Not with `forwardInbox`.
   */
  gaps?:
    | {
        /** Shorter outages are no gap: the service redelivers. Milliseconds. @default 600_000 */
        afterMs?: number | undefined;
        /** At most so many calls a second. @default 5 */
        perSecond?: number | undefined;
        /** A silence that is far longer than usual for a resource is a gap, too. @default false */
        silence?: boolean | undefined;
      }
    | false
    | undefined;
  dedupe?:
    | {
        /**
         * So long a tracking event or a booking that comes again is a duplicate. A value below `maxAgeSeconds` and one day is raised to that.
         * @default 691_200 (8 days)
         */
        windowSeconds?: number | undefined;
      }
    | undefined;
  /** For signatures in another header or encoding; the body's format stays the service's. @default the service's */
  scheme?: SignatureScheme | undefined;
  /** Where log lines go; `false`: nowhere. @default a pino on stderr, level info */
  log?: Logger | false | undefined;
  /** Log events' content at level debug: mail content, addresses and IPs of people. @default false */
  logContent?: boolean | undefined;
  /** Where the time comes from: for tests. @default the machine's */
  clock?: Clock | undefined;
}

const DAY_SECONDS = 86_400;

/**
 * Checks the options and adds the defaults.
 * @throws UsageError `option-invalid`, `scheme-invalid`
 */
export function resolveOptions(options: ReceiverOptions) {
  assertOptions("createReceiver", options, ALLOWED);
  const { gate = {}, dedupe = {} } = options;
  assertOptions("createReceiver's `gate`", gate, ALLOWED_OF_GATE);
  assertOptions("createReceiver's `dedupe`", dedupe, ALLOWED_OF_DEDUPE);
  const maxBodyBytes = maxBodyBytesOf(options);
  const { logContent = false } = options;
  assertBoolean("createReceiver's `logContent`", logContent);
  const log = toLogger(options.log);
  const maxAgeSeconds = number("maxAgeSeconds", options.maxAgeSeconds ?? DEFAULT_MAX_AGE_SECONDS, 1);
  const concurrency = number("concurrency", options.concurrency ?? DEFAULT_CONCURRENCY, 1);
  const windowSeconds = number("dedupe.windowSeconds", dedupe.windowSeconds ?? 8 * DAY_SECONDS, 1);
  const limits = {
    attempts: options.attempts ?? DEFAULT_ATTEMPTS,
    retryForMs: options.retryForMs ?? DEFAULT_RETRY_FOR_MS,
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  };
  return {
    name: nameOf(options.name ?? "default"),
    concurrency,
    fairness: fairnessOf(options.fairness ?? "account"),
    limits: assertLimits(limits, "createReceiver"),
    maxBodyBytes,
    maxInFlightBytes: number(
      "maxInFlightBytes",
      options.maxInFlightBytes ?? Math.max(DEFAULT_MAX_IN_FLIGHT_BYTES, maxBodyBytes),
      1,
    ),
    bodyTimeoutMs: time("bodyTimeoutMs", options.bodyTimeoutMs ?? DEFAULT_BODY_TIMEOUT_MS, 1),
    maxAgeSeconds,
    secretTimeoutMs: time("secretTimeoutMs", options.secretTimeoutMs ?? DEFAULT_SECRET_TIMEOUT_MS, 1),
    storeTimeoutMs: time("storeTimeoutMs", options.storeTimeoutMs ?? DEFAULT_STORE_TIMEOUT_MS, 1),
    graceMs: time("graceMs", options.graceMs ?? DEFAULT_GRACE_MS, 0),
    maxStuck: number("maxStuck", options.maxStuck ?? concurrency, 0),
    gateTimeoutMs: time("gate.timeoutMs", gate.timeoutMs ?? DEFAULT_GATE_TIMEOUT_MS, 1),
    maxUnsubscribesPerHour: number(
      "gate.maxUnsubscribesPerHour",
      gate.maxUnsubscribesPerHour ?? DEFAULT_UNSUBSCRIBES_PER_HOUR,
      0,
    ),
    // A redelivery whose timestamp is still accepted must find the dedupe key of the first one.
    dedupeWindowMs: Math.max(windowSeconds, maxAgeSeconds + DAY_SECONDS) * 1_000,
    gaps: gapsOf(options),
    scheme: resolveScheme(options.scheme ?? serviceScheme),
    log,
    logContent,
    clock: toClock(options.clock, log),
  };
}

const ALLOWED: Readonly<Record<keyof ReceiverOptions, true>> = {
  secret: true,
  inbox: true,
  name: true,
  concurrency: true,
  fairness: true,
  attempts: true,
  retryForMs: true,
  timeoutMs: true,
  maxBodyBytes: true,
  maxInFlightBytes: true,
  bodyTimeoutMs: true,
  maxAgeSeconds: true,
  secretTimeoutMs: true,
  storeTimeoutMs: true,
  graceMs: true,
  maxStuck: true,
  gate: true,
  gaps: true,
  dedupe: true,
  scheme: true,
  log: true,
  logContent: true,
  clock: true,
};
const ALLOWED_OF_GATE = { timeoutMs: true, maxUnsubscribesPerHour: true } as const;
const ALLOWED_OF_GAPS = { afterMs: true, perSecond: true, silence: true } as const;
const ALLOWED_OF_DEDUPE = { windowSeconds: true } as const;

/** What the inbox cannot hold must be refused at the start: a delivery that is never stored would be redelivered for ever. */
function maxBodyBytesOf({ inbox, maxBodyBytes }: ReceiverOptions): number {
  const most = (inbox as Inbox | null | undefined)?.maxBodyBytes;
  const given = number("maxBodyBytes", maxBodyBytes ?? Math.min(DEFAULT_MAX_BODY_BYTES, most ?? Infinity), 1);
  if (most === undefined || given <= most) return given;
  throw new UsageError(
    "option-invalid",
    `createReceiver got maxBodyBytes ${given}, expected at most ${most}: a delivery with a longer body does not fit into a message of the queue.`,
    { fix: "Leave `maxBodyBytes` out, which takes as much as fits; or take a queue, or an inbox, with room for more." },
  );
}

/** Undefined: nothing is watched. */
function gapsOf({ inbox, gaps }: ReceiverOptions): GapLimits | undefined {
  const hasRoom = (inbox as Partial<WorkingInbox> | null | undefined)?.gaps !== undefined;
  if (gaps === false || (gaps === undefined && !hasRoom)) return undefined;
  const {
    afterMs = DEFAULT_GAP_LIMITS.afterMs,
    perSecond = DEFAULT_GAP_LIMITS.perSecond,
    silence = DEFAULT_GAP_LIMITS.silence,
  } = gaps ?? {};
  assertOptions("createReceiver's `gaps`", gaps ?? {}, ALLOWED_OF_GAPS);
  assertBoolean("createReceiver's `gaps.silence`", silence);
  if (!hasRoom)
    throw new UsageError("option-invalid", "createReceiver got `gaps` with an inbox that cannot record them.", {
      fix: "Leave `gaps` out: behind a queue, the receiver of its consumer has an inbox that can.",
    });
  return {
    afterMs: time("gaps.afterMs", afterMs, 1_000),
    perSecond: number("gaps.perSecond", perSecond, 1),
    silence,
  };
}

function fairnessOf(fairness: unknown): "account" | "none" {
  if (fairness === "account" || fairness === "none") return fairness;
  throw new UsageError(
    "option-invalid",
    `createReceiver got fairness ${kindOf(fairness)}, expected "account" or "none".`,
  );
}

function nameOf(name: unknown): string {
  // Half of a surrogate pair comes back from a database as another text.
  if (typeof name === "string" && name !== "" && !/\p{Surrogate}|\0/u.test(name)) return name;
  throw new UsageError(
    "option-invalid",
    `createReceiver got name ${typeof name === "string" ? JSON.stringify(name) : kindOf(name)}, expected a text that is not empty and that a database stores.`,
    { fix: 'Leave `name` out for "default".' },
  );
}

function number(name: string, value: unknown, least: number): number {
  return wholeNumber({ where: "createReceiver", name, value, least });
}

/** A duration that a timer can take. */
function time(name: string, value: unknown, least: number): number {
  return wholeNumber({ where: "createReceiver", name, value, least, most: LONGEST_TIMER_MS });
}
