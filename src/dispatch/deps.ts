import type { Clock } from "../clock.ts";
import type { Counters } from "../stats.ts";
import type { Job } from "../inbox/port/job.ts";
import type { Logger } from "../logger.ts";
import type { Observers } from "../observers.ts";
import type { ContextServices } from "./context.ts";
import type { Middleware, Handlers } from "./handlers.ts";

/** What everything that runs handlers works with. */
export interface DispatchDeps {
  readonly handlers: Handlers;
  readonly middleware: readonly Middleware[];
  readonly onDead: readonly ((job: Job) => unknown)[];
  readonly services: ContextServices;
  readonly log: Logger;
  /** Throttled: for a storage that fails, which it does as often as there are jobs. */
  readonly faultLog: Logger;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly counters: Counters;
  readonly observers: Observers;
  /** Jobs run at once. */
  readonly concurrency: number;
  /** From the abort of a handler to giving its slot back. */
  readonly graceMs: number;
  /** So many handlers past their grace may run on without a slot. */
  readonly maxStuck: number;
}
