import type { AnyEvent } from "../protocol/events.ts";
import type { Context } from "./context.ts";

/** Handles one event. What it returns is ignored; what it throws, or its rejection, is a failed attempt. */
export type Handler<E extends AnyEvent = AnyEvent> = (event: E, ctx: Context) => unknown;

/** Runs around every handler, in the order of `use`. Without a call of `next` the handler does not run, and the job is done. */
export type Middleware = (event: AnyEvent, ctx: Context, next: () => Promise<void>) => unknown;

/** What may not overlap, and stays in order. @see the chapter on order in the README */
export type LaneOption<E> = "record" | "resource" | "account" | "none" | ((event: E) => string);

/** How one handler's jobs are run. */
export interface HandlerOptions<E> {
  /** Who handles: each consumer gets its own job, retries and lanes. @default "default" */
  consumer?: string | undefined;
  /** What may not overlap. @default "record"; "resource" for `.changes` */
  lane?: LaneOption<E> | undefined;
  /** Merge waiting changes of one record into one call. @default true */
  merge?: boolean | undefined;
  /** Most attempts that fail. @default no limit but `retryForMs` */
  attempts?: number | undefined;
  /** How long after its first attempt a job is retried, milliseconds. @default 86_400_000 */
  retryForMs?: number | undefined;
  /** One attempt's time until the signal aborts, milliseconds; 0 = none. @default 30_000 */
  timeoutMs?: number | undefined;
}

/** Limits that a handler may set for itself and the receiver sets for all. */
export interface RunLimits {
  readonly attempts: number;
  readonly retryForMs: number;
  readonly timeoutMs: number;
}
