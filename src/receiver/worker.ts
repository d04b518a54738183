import type { DispatchDeps } from "../dispatch/dispatch-deps.ts";
import { createDispatcher } from "../dispatch/dispatcher.ts";
import { EXPAND_AT_ONCE, expandEvents } from "../dispatch/expand.ts";
import type { AccountDelay } from "../dispatch/claims/flow-rules.ts";
import type { Prefetched } from "../dispatch/claims/prefetch.ts";
import type { ExpansionReporter } from "../dispatch/job-reporter.ts";
import { UsageError } from "../errors.ts";
import type { NewEvent } from "../inbox/port/delivery.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { DeliveryStoreOptions } from "../ingest/store.ts";
import { entryCount, eventsOf } from "../protocol/envelope.ts";
import type { Closed } from "./receiver-types.ts";

/** The working stage of a receiver; without effect where the inbox has no working half. */
export interface Work extends Pick<DeliveryStoreOptions, "expand" | "stored"> {
  /** @throws UsageError `inbox-cannot-work` */
  assertPossible(): void;
  /** Tries to become the inbox's worker; resolves when this process works or stands by. */
  start(listener: WorkerListener): Promise<void>;
  /** Ends the work; it may begin again. */
  end(): void;
  wake(): void;
  prefetched(): Prefetched;
  delays(): readonly AccountDelay[];
  /** Jobs that were removed because of their age. */
  expired(): number;
  idle(): Promise<void>;
  /** Where many work: whether another process does now. */
  othersDo(): Promise<boolean>;
  /** Where many work and nothing is due here: this process is no worker any more, once it resolves. Undefined: it goes on. */
  leave(): Promise<void> | undefined;
  stop(drainMs: number): Promise<Closed>;
  ended(): Promise<void>;
}

/** Called first when this process becomes or ceases to be the worker, maybe repeatedly. `begun` gives false: ignore it. */
interface WorkerListener {
  begun(): boolean;
  ended(): void;
}

/** Most events that a commit expands: one batch must not block the event loop. */
const EVENTS_A_COMMIT = 5 * EXPAND_AT_ONCE;

/** @param inbox undefined where it has no working half */
export function createWork(
  inbox: WorkingInbox | undefined,
  deps: DispatchDeps,
  expansionReporter: ExpansionReporter,
): Work {
  const dispatcher = inbox && createDispatcher(inbox, deps, expansionReporter.expanded);
  const { counters, observers } = deps;

  return {
    assertPossible() {
      if (inbox !== undefined) return;
      throw new UsageError("inbox-cannot-work", "This inbox only forwards deliveries: there is nothing to start.", {
        fix: "Call `receiver.handle(delivery)` in the consumer of the queue behind it; mounts work without start().",
      });
    },
    async start({ begun, ended }) {
      await inbox?.work({
        handled: deps.handlers.handled(),
        begin() {
          const works = begun();
          if (works) dispatcher?.begin();
          return works;
        },
        end(cause) {
          ended();
          dispatcher?.end(cause);
        },
        wake: () => dispatcher?.wakeToExpand(),
        lost: (claims) => dispatcher?.lost(claims),
        reopen: () => dispatcher?.reopen(),
      });
    },
    expand(batch) {
      if (dispatcher?.mayExpand() !== true) return [];
      let room = EVENTS_A_COMMIT;
      return batch.map(({ delivery, document }): readonly NewEvent[] | undefined => {
        const count = entryCount(document());
        // Deliveries after an unexpanded one stay unexpanded too: expansion follows the order of deliveries.
        room = count > EXPAND_AT_ONCE || count > room ? 0 : room - count;
        return room === 0
          ? undefined
          : expandEvents(eventsOf(document()), deps.handlers, { source: delivery.source, first: 0 });
      });
    },
    stored({ delivery, isOwn = false }, stored, events) {
      if (!isOwn) {
        counters.stored += 1;
        observers.notify("stored", () => ({
          delivery: {
            id: stored.id,
            receivedAt: new Date(delivery.receivedAt).toISOString(),
            ...(delivery.source === undefined ? {} : { source: delivery.source }),
          },
        }));
      }
      if (stored.expanded && events !== undefined)
        expansionReporter.expanded({ id: stored.id, delivery }, events, stored);
      else dispatcher?.wakeToExpand();
    },
    end: () => dispatcher?.end(),
    wake: () => dispatcher?.wake(),
    delays: () => dispatcher?.delays() ?? [],
    prefetched: () => dispatcher?.prefetched() ?? { jobs: 0, oldestReceivedAt: undefined },
    expired() {
      try {
        return inbox?.stats().expired ?? 0;
      } catch {
        return 0; // an inbox of anyone's making that cannot count now is not to break a look at the counters
      }
    },
    idle: async () => dispatcher?.idle(),
    othersDo: async () => (await inbox?.othersWork?.()) === true,
    leave() {
      if (inbox?.leave === undefined || dispatcher?.isIdle() !== true) return undefined;
      dispatcher.end();
      return inbox.leave();
    },
    async stop(drainMs) {
      const stopping = dispatcher?.stop(drainMs);
      const told = (async () => inbox?.stopWork?.())();
      told.catch((err: unknown) => deps.faultLog.error({ err, code: "inbox-failed" }, "the inbox failed"));
      return (await stopping) ?? { done: 0, released: 0, stuck: 0 };
    },
    ended: async () => dispatcher?.ended(),
  };
}
