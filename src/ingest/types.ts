import type { Clock } from "../clock.ts";
import type { Delivery } from "../inbox/port/delivery.ts";
import type { Tombstones } from "../inbox/port/tombstones.ts";
import type { Instruments, RequestCarrier } from "../observe/instruments.ts";
import type { Logger } from "../logger.ts";
import type { Document } from "../protocol/envelope.ts";
import type { SignatureHeaders } from "../protocol/signature/signature-headers.ts";
import type { ResolvedScheme } from "../protocol/signature/signature-scheme.ts";
import type { HandleThenAnswer } from "./after-handlers.ts";
import type { Reporter } from "./answer-reporter.ts";
import type { InFlightBytes } from "./body-limits.ts";
import type { SecretLookup } from "./secret-lookup.ts";
import type { DeliveryStore } from "./store.ts";
import type { Gate } from "./unsubscribe-gate.ts";
import type { UnsubscribeRateLimit } from "./unsubscribe-rate-limit.ts";

/** The limits of a function that reads a body. */
export interface ReadLimits {
  /** More bytes than this are refused: throw `bodyTooLarge(maxBytes)` of hookline/adapter. */
  readonly maxBytes: number;
  /** Aborts when the body is late. */
  readonly signal: AbortSignal;
  /**
   * Call it with each chunk's length while the body streams, because all bodies being read share one limit.
   * @throws BodyError `intake-full` when `maxInFlightBytes` is reached: stop reading
   */
  count?(bytes: number): void;
}

/** One HTTP request as a mount passes it to `receiver.receive`. */
export interface RawRequest {
  readonly method: string;
  /** Path and query as they arrived, or a whole URL. */
  readonly url: string;
  /** In any case; a header that came twice as a list, or joined by a comma. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Bytes, a stream, or a function that reads the bytes; it is called only after the headers have passed. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | ((limits: ReadLimits) => Promise<Uint8Array>);
  /** Which of your URLs or applications this came through. Read once, when the headers have passed: a getter may look it up. */
  readonly source?: string | undefined;
  /** What the platform passes beside the request; a secret look-up gets it. */
  readonly platform?: unknown;
  /** Set by a mount whose body was parsed before, although the bytes survived: the fix. Logged once. */
  readonly parsedBefore?: string | undefined;
}

/** The whole answer: a mount sends it unchanged. @see docs/concepts/answers.md */
export interface Reply {
  readonly status: 200 | 400 | 401 | 405 | 408 | 413 | 415 | 422 | 500 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What every mount takes. */
export interface MountOptions<Req = unknown> {
  /** Compared with the original URL's path; requests for other paths are passed on, or answered 404 where nothing follows the mount. @default every request that reaches the mount */
  path?: string | undefined;
  /** Which of your URLs or applications; stored with the delivery. A function returns a text, not a promise: anything else is answered 503. */
  source?: string | ((request: Req) => string | undefined) | undefined;
}

// The steps of a request: check headers -> read body -> verify signature -> admit -> store. Only the step itself makes its output
// type, so no step can be skipped or repeated.

declare const passed: unique symbol;
type Passed<Step extends string> = { readonly [passed]: Step };

/** A POST with well-formed signature headers, whose body may be read. */
export type Checked = Passed<"check"> & {
  readonly request: RawRequest;
  readonly signatureHeaders: SignatureHeaders;
  readonly source: string | undefined;
};

/** The same with its bytes. */
export type Read = Passed<"read"> & {
  readonly checked: Checked;
  readonly body: Uint8Array;
  readonly receivedAt: number;
  /** Its bytes are in flight until then. */
  readonly release: () => void;
  /** Of its span. */
  readonly carrier?: RequestCarrier;
};

/** Its signature is right: from here on, its content never earns a 4xx. */
export type Verified = Passed<"verify"> & {
  readonly url: string;
  readonly delivery: Delivery;
  readonly document: () => Document;
};

/** The receiver is open, and its subscription is wanted. */
export type Admitted = Passed<"admit"> & {
  readonly delivery: Delivery;
  readonly document: () => Document;
  /** Set where a queue in front brings it. */
  readonly idInQueue?: string;
  /** Set where the receiver made it itself: no request brought it. */
  readonly isOwn?: true;
};

/** Told of each delivery that is to be stored. */
export interface DeliveryOutcomes {
  stored(verified: Pick<Verified, "delivery" | "document">): void;
  refused(verified: Pick<Verified, "delivery" | "document">): void;
}

/** What the steps work with. */
export interface IngestDeps {
  readonly scheme: ResolvedScheme;
  readonly clock: Clock;
  /** Throttled, because every request may cause a line. */
  readonly log: Logger;
  /** Of a request's timestamp, seconds. */
  readonly maxAgeSeconds: number;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly inFlightBytes: InFlightBytes;
  readonly secrets: SecretLookup;
  /** True once `receiver.close` was called: no new deliveries. */
  readonly closing: () => boolean;
  /** Resolves when the inbox is open; rejects with the reason why it is not. Undefined where it is open already. */
  readonly opened: () => Promise<void> | undefined;
  readonly tombstones: Tombstones;
  readonly gate: () => Gate | undefined;
  readonly gateTimeoutMs: number;
  readonly rateLimit: UnsubscribeRateLimit;
  readonly store: DeliveryStore["store"];
  readonly handleThenAnswer: HandleThenAnswer;
  /** How a delivery whose signature is right was answered: what is refused may never come again. */
  readonly outcomes: DeliveryOutcomes;
  readonly reporter: Reporter;
  readonly instruments: Instruments;
}
