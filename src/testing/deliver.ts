import type { ExpandedListener } from "../dispatch/job-reporter.ts";
import { ClosedError } from "../errors.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { Reply } from "../ingest/types.ts";
import { entryCount, parseDocument } from "../protocol/envelope.ts";
import { internalsOf } from "../receiver/internals.ts";
import type { Receiver } from "../receiver/receiver-types.ts";
import { signedDelivery, type Sendable, type SigningOptions } from "./signed-delivery.ts";
import { skipperOf } from "./test-clock.ts";

/** The answer to a delivery, and its jobs. */
export type Delivered = Reply & {
  /**
   * Waits until each of the delivery's jobs is done, skipped, unhandled or dead, and returns them in the order of its
   * entries; a duplicate is skipped. Empty if nothing was stored, or another process handles the delivery.
   *
   * A `testClock` is advanced to whatever the jobs wait for, such as a retry in hours. It does not advance while a handler
   * runs: a handler that waits for a real server does not time out. To test that, advance the clock yourself.
   *
   * @throws ClosedError `closed` if the receiver was closed before
   */
  settled(): Promise<readonly Job[]>;
};

/**
 * Signs an event and passes it to a receiver, without a socket; starts the receiver if needed.
 *
 * @param event an event, several of one delivery, or `{ wire }` for any body
 * @param options the receiver's secret, and the time of the signature, by default the receiver's current time
 * @throws UsageError `events-not-combinable`, `secret-missing`, `receiver-invalid`
 * @throws ClosedError `closed`
 * @example
 * const delivery = await deliver(receiver, sample("email.created"), { secret });
 * expect(await delivery.settled()).toMatchObject([{ state: "done" }]);
 */
export async function deliver(receiver: Receiver, event: Sendable, { secret, at }: SigningOptions): Promise<Delivered> {
  const { clock, workers } = internalsOf(receiver);
  if (workers !== undefined) await receiver.start();
  const request = signedDelivery(event, { secret, at: at ?? new Date(clock.now()) });
  const followed = followDelivery(receiver, request.body);
  // Bytes of a reader are stored as they are; bytes that are given directly are copied first.
  const reply = await receiver.receive({ ...request, body: () => Promise.resolve(request.body) });
  if (reply.status !== 200 || workers === undefined) followed.end();
  const skip = skipperOf(clock);

  return {
    ...reply,
    async settled() {
      while (!followed.isOver()) {
        if (skip !== undefined) await Promise.race([followed.ended, receiver.idle()]);
        if (followed.isOver()) break;
        assertWorking(receiver);
        await (skip === undefined ? followed.ended : skip());
      }
      return followed.jobs();
    },
  };
}

function assertWorking(receiver: Receiver): void {
  if (receiver.stats().role !== "receiving") return;
  throw new ClosedError("closed", "The receiver was closed before the delivery was settled.", {
    fix: "Await settled() before `receiver.close()`.",
  });
}

/** Tracks one delivery's jobs. */
interface FollowedDelivery {
  /** Resolves when all jobs are settled, or after `end()`. */
  readonly ended: Promise<void>;
  isOver(): boolean;
  /** Stops tracking. */
  end(): void;
  /** The settled jobs, in the order of their creation. */
  jobs(): readonly Job[];
}

/** @param body the same object that the receiver stores: it distinguishes this delivery from others with equal bytes */
function followDelivery(receiver: Receiver, body: Uint8Array): FollowedDelivery {
  const { expandedListeners } = internalsOf(receiver);
  /** As created; waiting ones have no id yet. */
  const created: Job[] = [];
  /** Of all deliveries until this one's id is known: a job may be settled before. */
  let settled: Job[] = [];
  let deliveryId: string | undefined;
  let unexpanded = entryCount(parseDocument(body));
  let expected = 0;
  let over = false;
  const { promise: ended, resolve: finished } = Promise.withResolvers<void>();

  function check(): void {
    if (deliveryId !== undefined && unexpanded <= 0 && settled.length >= expected) end();
  }

  const expanded: ExpandedListener = ({ id, delivery }, jobs) => {
    if (delivery.body !== body) return;
    deliveryId = id;
    settled = settled.filter((job) => job.deliveryId === id);
    unexpanded -= new Set(jobs.map(({ event }) => event)).size;
    expected += jobs.filter(waits).length;
    created.push(...jobs);
    check();
  };
  const onSettled = ({ job }: { readonly job: Job }): void => {
    if (deliveryId !== undefined && job.deliveryId !== deliveryId) return;
    settled.push(job);
    check();
  };
  expandedListeners.add(expanded);
  const unobserve = receiver.observe({ succeeded: onSettled, dead: onSettled });

  function end(): void {
    over = true;
    expandedListeners.delete(expanded);
    unobserve();
    finished();
  }

  return {
    ended,
    isOver: () => over,
    end,
    jobs() {
      // Job ids ascend in the order of creation.
      const inOrder = settled.toSorted((a, b) => Number(a.id) - Number(b.id)).values();
      return created.flatMap((job) => (waits(job) ? (inOrder.next().value ?? []) : job));
    },
  };
}

function waits({ state }: Job): boolean {
  return state === "waiting";
}
