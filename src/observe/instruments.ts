import type { ClaimedJob } from "../inbox/port/claims.ts";
import type { Delivery } from "../inbox/port/delivery.ts";
import type { AnyEvent } from "../protocol/event-types.ts";

/** What the package's own metrics and traces hook into: one of each a receiver. None of their methods throws. */
export interface Instruments {
  meter?: Meter | undefined;
  tracer?: Tracer | undefined;
}

/** Counts what `stats()` does not tell apart. Durations in milliseconds. */
export interface Meter {
  /** A delivery is durable. @param durationMs since it was verified */
  stored(durationMs: number): void;
  /** A job begins an attempt. */
  began(job: Pick<ClaimedJob, "attempt" | "replayOf" | "consumer" | "delivery">, now: number): void;
  /** A call of a handler ended. */
  called(consumer: string, durationMs: number): void;
  failed(consumer: string, type: string): void;
  /** `merged`: done by the call of another job. A skipped job has no consumer. */
  finished(consumer: string | undefined, type: string, outcome: "done" | "merged" | "dead" | "skipped"): void;
  /** So many gaps begin. */
  gaps(count: number): void;
}

/** What a request's span and its delivery say of each other. */
export interface RequestCarrier {
  /** Stored beside the delivery's own headers. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Set when it is stored. */
  deliveryId?: string;
}

/** A call of a handler as its span shows it. */
interface TracedCall {
  readonly event: AnyEvent;
  readonly consumer: string;
  readonly attempt: number;
  readonly jobId: string;
  readonly deliveryId: string;
}

/** Makes spans. */
export interface Tracer {
  /** Around the verification and the storing of a request, which ends with the status of its answer, or the code of its refusal. */
  request<T extends { readonly status?: number; readonly code?: string }>(
    work: (carrier: RequestCarrier) => Promise<T>,
  ): Promise<T>;
  /**
   * Around one call.
   * @param jobs those that it settles, oldest first
   * @param isDirect it runs for its caller, within the caller's span
   */
  call(
    call: TracedCall,
    jobs: readonly { readonly id: string; readonly delivery: Pick<Delivery, "headers"> }[],
    isDirect?: boolean,
  ): CallSpan | undefined;
}

/** The span of one call of a handler. */
export interface CallSpan {
  /** In each line of the handler's log. */
  readonly logged: object | undefined;
  run<T>(work: () => T): T;
  /** @param outcome of its oldest job */
  end(
    outcome: string | undefined,
    result: { readonly ok: true } | { readonly ok: false; readonly error: unknown },
  ): void;
}
