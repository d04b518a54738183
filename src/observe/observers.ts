import { assertFunction, assertOptions } from "../assert.ts";
import type { StoredDelivery } from "../inbox/port/delivery.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { Instruments } from "./instruments.ts";
import type { Logger } from "../logger.ts";
import type { Id } from "../protocol/event-types.ts";
import { catchRejection } from "../thrown.ts";

/** What observers are given about a job. */
export interface JobMoment {
  readonly job: Job;
  /** The error that the handler threw. */
  readonly error?: unknown;
  /** Duration of the handler call. */
  readonly durationMs?: number;
}

/** What `receiver.observe` takes: any of these callbacks. */
export type Observer = {
  /** A delivery was stored; called before the answer. */
  readonly stored?: (e: { readonly delivery: Pick<StoredDelivery, "id" | "source" | "receivedAt"> }) => void;
  /** A request was not acknowledged. */
  readonly refused?: (e: { readonly status: number; readonly code: string }) => void;
  /** Every answer; `code` where it is a refusal. */
  readonly answered?: (e: { readonly status: number; readonly code?: string; readonly durationMs: number }) => void;
} & {
  readonly [E in "started" | "succeeded" | "failed" | "retried" | "dead" | "duplicate"]?: (e: JobMoment) => void;
} & {
  /** The gate, a handler or a call unsubscribed. */
  readonly unsubscribed?: (e: { readonly subscription: Id; readonly reason: string }) => void;
};

type Payloads = { [E in keyof Observer]-?: Parameters<NonNullable<Observer[E]>>[0] };

const ALLOWED: Readonly<Record<keyof Observer, true>> = {
  stored: true,
  refused: true,
  answered: true,
  started: true,
  succeeded: true,
  failed: true,
  retried: true,
  dead: true,
  duplicate: true,
  unsubscribed: true,
};

/** All observers of a receiver. */
export interface Observers {
  /** The package's own, beside those of users. */
  readonly instruments: Instruments;
  add(observer: Observer): () => void;
  /** Calls every observer of `name`. `make` runs only if there are any. Never throws. */
  notify<E extends keyof Observer>(name: E, make: () => Payloads[E]): void;
  /** Calls another listener; logs its failure under `name`. Never throws. */
  call(name: string, listen: () => unknown): void;
}

/** @param log throttled: an observer may fail at every call */
export function createObservers(log: Logger): Observers {
  const observers = new Set<Observer>();

  function failed(name: string, error: unknown): void {
    catchRejection(error);
    log.warn({ code: "observer-failed", err: error, observer: name }, "an observer threw");
  }

  function call(name: string, listen: () => unknown): void {
    try {
      catchRejection(listen(), (error) => failed(name, error));
    } catch (error) {
      failed(name, error);
    }
  }

  return {
    instruments: {},
    add(observer) {
      assertOptions("observe()", observer, ALLOWED);
      for (const [name, listen] of Object.entries(observer))
        if (listen !== undefined) assertFunction(`observe()'s \`${name}\``, listen);
      observers.add(observer);
      return () => observers.delete(observer);
    },
    notify(name, make) {
      if (observers.size === 0) return;
      for (const observer of observers) {
        call(name, () => {
          const listen = observer[name] as ((payload: unknown) => unknown) | undefined;
          return listen?.call(observer, make());
        });
      }
    },
    call,
  };
}
