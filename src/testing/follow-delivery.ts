import type { ExpandedListener } from "../dispatch/reporter.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { Receiver } from "../receiver/receiver-types.ts";
import { internalsOf } from "../receiver/internals.ts";
import { entryCount, parseDocument } from "../protocol/envelope.ts";

/** What becomes of one delivery's jobs. */
export interface FollowedDelivery {
  /** Resolves when all of them are settled, or there is nothing to follow. */
  readonly ended: Promise<void>;
  /** The same, to look at. */
  over(): boolean;
  /** There is nothing to follow. */
  end(): void;
  /** Those that are settled, in the order in which they were made. */
  jobs(): readonly Job[];
}

/** @param body the very bytes that are handed to the receiver: they tell this delivery from its equals */
export function followDelivery(receiver: Receiver, body: Uint8Array): FollowedDelivery {
  const { expandedListeners } = internalsOf(receiver);
  /** As they were made, those that wait without their own ids. */
  const made: Job[] = [];
  /** Of every delivery until it is known which is this one: a job may be settled before. */
  let settled: Job[] = [];
  let deliveryId: string | undefined;
  let unexpanded = entryCount(parseDocument(body));
  let expected = 0;
  let over = false;
  const { promise: ended, resolve: finished } = Promise.withResolvers<void>();

  function look(): void {
    if (deliveryId !== undefined && unexpanded <= 0 && settled.length >= expected) end();
  }

  const expanded: ExpandedListener = ({ id, delivery }, jobs) => {
    if (delivery.body !== body) return;
    deliveryId = id;
    settled = settled.filter((job) => job.deliveryId === id);
    unexpanded -= new Set(jobs.map(({ event }) => event)).size;
    expected += jobs.filter(waits).length;
    for (const job of jobs) made.push(job);
    look();
  };
  const moved = ({ job }: { readonly job: Job }): void => {
    if (deliveryId !== undefined && job.deliveryId !== deliveryId) return;
    settled.push(job);
    look();
  };
  expandedListeners.add(expanded);
  const unobserve = receiver.observe({ succeeded: moved, dead: moved });

  function end(): void {
    over = true;
    expandedListeners.delete(expanded);
    unobserve();
    finished();
  }

  return {
    ended,
    over: () => over,
    end,
    jobs() {
      // An inbox counts jobs as they are made.
      const inOrder = settled.toSorted((a, b) => Number(a.id) - Number(b.id)).values();
      return made.flatMap((job) => (waits(job) ? (inOrder.next().value ?? []) : job));
    },
  };
}

function waits({ state }: Job): boolean {
  return state === "waiting";
}
