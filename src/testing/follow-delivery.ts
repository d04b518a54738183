import type { ExpandedListener } from "../dispatch/news.ts";
import type { Job } from "../inbox/job.ts";
import type { Receiver } from "../kit/face.ts";
import { internalsOf } from "../kit/internals.ts";
import { entryCount, parseDocument } from "../protocol/envelope.ts";

/** What becomes of one delivery's jobs. */
export interface FollowedDelivery {
  /** All of them are settled. */
  ended(): boolean;
  /** There is nothing to follow. */
  end(): void;
  /** A handler runs. */
  running(): boolean;
  /** When the first of those that wait for a retry is due. */
  nextAttemptAt(): number | undefined;
  /** Resolves when something has changed. */
  news(): Promise<void>;
  /** Those that are settled. */
  jobs(): readonly Job[];
}

/** @param body the very bytes that are handed to the receiver: they tell this delivery from its equals */
export function followDelivery(receiver: Receiver, body: Uint8Array): FollowedDelivery {
  const { expandedListeners } = internalsOf(receiver);
  /** As they stand, by id, of every delivery: a job may start before it is known whose it is. */
  const jobs = new Map<string, Job>();
  const unmade: Job[] = [];
  let deliveryId: string | undefined;
  let unexpanded = entryCount(parseDocument(body));
  let expected = 0;
  let over = false;
  let waiting: (() => void)[] = [];

  const ours = (state: Job["state"]): Job[] =>
    [...jobs.values()].filter((job) => job.deliveryId === deliveryId && job.state === state);
  const settled = (): Job[] => [...ours("done"), ...ours("dead")];

  function tell(): void {
    if (unexpanded <= 0 && settled().length >= expected) finish();
    const told = waiting;
    waiting = [];
    for (const resolve of told) resolve();
  }

  const expanded: ExpandedListener = ({ id, delivery }, made) => {
    if (delivery.body !== body) return;
    deliveryId = id;
    unexpanded -= new Set(made.map(({ event }) => event)).size;
    expected += made.filter(({ state }) => state === "waiting").length;
    unmade.push(...made.filter(({ state }) => state !== "waiting"));
    tell();
  };
  const moved = ({ job }: { readonly job: Job }): void => {
    jobs.set(job.id, job);
    tell();
  };
  expandedListeners.add(expanded);
  const unobserve = receiver.observe({ started: moved, succeeded: moved, dead: moved, retried: moved });

  function finish(): void {
    over = true;
    expandedListeners.delete(expanded);
    unobserve();
  }

  return {
    ended: () => over,
    end: finish,
    running: () => ours("running").length > 0,
    nextAttemptAt() {
      const times = ours("waiting").map(({ nextAttemptAt }) => nextAttemptAt?.getTime() ?? 0);
      return times.length === 0 ? undefined : Math.min(...times);
    },
    news: () => (over ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    jobs: () => [...unmade, ...settled()].toSorted((a, b) => Number(a.id) - Number(b.id)),
  };
}
