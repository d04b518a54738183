import type { Clock } from "../clock.ts";
import type { InboxWatch } from "../inbox/standstill-watch.ts";
import type { Delivery, NewEvent } from "../inbox/port/delivery.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { Logger } from "../logger.ts";
import type { Observers } from "../observe/observers.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import type { Counters } from "../observe/counters.ts";
import type { ContextServices } from "./calls/context.ts";
import type { HandlerCalls } from "./calls/handler-calls.ts";
import type { Handlers } from "./handlers.ts";
import type { CallResult } from "./retries/retry-policy.ts";

/** After a failure of the inbox itself, and after it gave nothing though something is due. */
export const TRY_AGAIN_MS = 1_000;

/** What the receiver gives to all that runs handlers. */
export interface DispatchDeps {
  readonly handlers: Handlers;
  readonly handlerCalls: HandlerCalls;
  readonly onDead: readonly ((job: Job) => unknown)[];
  readonly services: ContextServices;
  readonly log: Logger;
  /** Throttled: a storage that fails does so as often as there are jobs. */
  readonly faultLog: Logger;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly counters: Counters;
  readonly observers: Observers;
  /** Called before the events of a delivery become jobs, which waits for the promise, if there is one. Never rejects. */
  readonly expanding: (events: readonly NewEvent[], delivery: Delivery) => Promise<void> | undefined;
  /** A handler's call ended: of merged events this is the oldest. Never throws. */
  readonly handlerEnded: (event: SingleEvent, result: CallResult, consumer: string) => void;
  /** Sees whether the inbox moves. */
  readonly watch: InboxWatch;
  /** Jobs run at once. */
  readonly concurrency: number;
  readonly fairness: "account" | "none";
}
