import { createDispatcher } from "../dispatch/dispatcher.ts";
import { EXPAND_AT_ONCE, expandEvents } from "../dispatch/expand.ts";
import type { ExpansionReporter } from "../dispatch/reporter.ts";
import type { DispatchDeps } from "../dispatch/deps.ts";
import { UsageError } from "../errors.ts";
import type { Closed } from "./receiver-types.ts";
import type { NewEvent } from "../inbox/port/storing.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { entryCount, eventsOf } from "../protocol/envelope.ts";
import type { DeliveryStoreOptions } from "../ingest/store.ts";

/** The working stage as the receiver sees it: there or not, begun or not. */
export interface Work extends Pick<DeliveryStoreOptions, "expand" | "stored"> {
  /** @throws UsageError `inbox-cannot-work` */
  assertPossible(): void;
  /** Asks for the worker's place. */
  start(place: PlaceListener): Promise<void>;
  /** This process works no more, but may begin again. */
  end(): void;
  wake(): void;
  idle(): Promise<void>;
  stop(drainMs: number): Promise<Closed>;
  ended(): Promise<void>;
  /** Handlers past their grace. */
  stuck(): number;
  /** So many of them that nothing more is claimed. */
  jammed(): boolean;
}

/** Who is told first of the worker's place, maybe more than once. False: it means nothing any more. */
interface PlaceListener {
  begun(): boolean;
  ended(): boolean;
}

/** A commit expands no more events than this: the loop must not stop for one batch. */
const EVENTS_A_COMMIT = 5 * EXPAND_AT_ONCE;

/** @param inbox undefined where it has no working half */
export function createWork(inbox: WorkingInbox | undefined, parts: DispatchDeps, news: ExpansionReporter): Work {
  const dispatcher = inbox && createDispatcher(inbox, parts, news.expanded);
  const { counters, observers } = parts;

  return {
    assertPossible() {
      if (inbox !== undefined) return;
      throw new UsageError("inbox-cannot-work", "This inbox only hands deliveries on: there is nothing to start.", {
        fix: "Call `receiver.handle(delivery)` in the consumer of the queue behind it; mounts work without start().",
      });
    },
    async start({ begun, ended }) {
      await inbox?.work({
        begin() {
          const works = begun();
          if (works) dispatcher?.begin();
          return works;
        },
        end() {
          if (ended()) dispatcher?.end();
        },
        wake: () => dispatcher?.fallBehind(),
        lost: (claims) => dispatcher?.lost(claims),
      });
    },
    expand(batch) {
      if (dispatcher?.expanding() !== true) return [];
      let room = EVENTS_A_COMMIT;
      return batch.map(({ delivery, document }): readonly NewEvent[] | undefined => {
        const count = entryCount(document());
        // What follows one that is left unexpanded is left so too: expansion follows the order of deliveries.
        room = count > EXPAND_AT_ONCE || count > room ? 0 : room - count;
        return room === 0
          ? undefined
          : expandEvents(eventsOf(document()), parts.handlers, { source: delivery.source, first: 0 });
      });
    },
    stored({ delivery }, stored, events) {
      counters.stored += 1;
      observers.notify("stored", () => ({
        delivery: {
          id: stored.id,
          receivedAt: new Date(delivery.receivedAt).toISOString(),
          ...(delivery.source === undefined ? {} : { source: delivery.source }),
        },
      }));
      if (stored.expanded && events !== undefined) news.expanded({ id: stored.id, delivery }, events, stored);
      else dispatcher?.fallBehind();
    },
    end: () => dispatcher?.end(),
    wake: () => dispatcher?.wake(),
    idle: async () => dispatcher?.idle(),
    stop: async (drainMs) => (await dispatcher?.stop(drainMs)) ?? { done: 0, released: 0, stuck: 0 },
    ended: async () => dispatcher?.ended(),
    stuck: () => dispatcher?.stuck() ?? 0,
    jammed: () => dispatcher?.jammed() ?? false,
  };
}
