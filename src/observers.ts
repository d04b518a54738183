import { assertFunction, assertOptions } from "./assert.ts";
import { catchRejection } from "./thrown.ts";
import type { StoredDelivery } from "./inbox/port/delivery.ts";
import type { Job } from "./inbox/port/job.ts";
import type { Logger } from "./logger.ts";
import type { Id } from "./protocol/events.ts";

/** A job at a moment of its life. */
export interface JobMoment {
  readonly job: Job;
  /** What the handler threw. */
  readonly error?: unknown;
  /** Of the call. */
  readonly durationMs?: number;
}

/** What `receiver.observe` takes: any of these. */
export type Observer = {
  /** Durable, before the answer. */
  readonly stored?: (e: { readonly delivery: Pick<StoredDelivery, "id" | "source" | "receivedAt"> }) => void;
  /** Not acknowledged. */
  readonly refused?: (e: { readonly status: number; readonly code: string }) => void;
} & {
  readonly [E in "started" | "succeeded" | "failed" | "retried" | "dead" | "duplicate"]?: (e: JobMoment) => void;
} & {
  /** A subscription is unwanted: by the gate, a handler, or a call. */
  readonly unsubscribed?: (e: { readonly subscription: Id; readonly reason: string }) => void;
};

type Moments = { [E in keyof Observer]-?: Parameters<NonNullable<Observer[E]>>[0] };

const MOMENTS: Readonly<Record<keyof Observer, true>> = {
  stored: true,
  refused: true,
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
  add(observer: Observer): () => void;
  /** `make` runs only when somebody listens. Never throws. */
  notify<E extends keyof Observer>(name: E, make: () => Moments[E]): void;
  /** Tells somebody else, who may fail as well: that is logged under this name. Never throws. */
  call(name: string, listen: () => unknown): void;
}

/** @param log throttled: an observer fails as often as it is told */
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
    add(observer) {
      assertOptions("observe()", observer, MOMENTS);
      for (const [name, listen] of Object.entries(observer))
        if (listen !== undefined) assertFunction(`observe()'s \`${name}\``, listen);
      observers.add(observer);
      return () => observers.delete(observer);
    },
    notify(name, make) {
      if (observers.size === 0) return;
      for (const observer of observers) {
        call(name, () => {
          const listen = observer[name] as ((moment: unknown) => unknown) | undefined;
          return listen?.call(observer, make());
        });
      }
    },
    call,
  };
}
