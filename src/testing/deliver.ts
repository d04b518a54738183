import { ClosedError } from "../errors.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { Receiver } from "../receiver/receiver-types.ts";
import { internalsOf } from "../receiver/internals.ts";
import type { Reply } from "../ingest/types.ts";
import { followDelivery } from "./follow-delivery.ts";
import { signedDelivery, type SigningOptions } from "./signed-delivery.ts";
import { skipperOf } from "./test-clock.ts";
import type { Sendable } from "./wire.ts";

/** The answer to a delivery, and what became of it. */
export type Delivered = Reply & {
  /**
   * Waits until each of the delivery's jobs is done, skipped, unhandled or dead, and gives them in the order of its
   * entries; a duplicate is skipped. None where nothing was stored, or another process has to handle it.
   *
   * Under a `testClock` what waits for its time is let through at once, whatever the hours. No time passes while a
   * handler runs: one that waits for a real server does not meet its time limit. To let it, advance the clock.
   *
   * @throws ClosedError `closed` when the receiver was closed before
   */
  settled(): Promise<readonly Job[]>;
};

/**
 * Signs an event and hands it to a receiver, without a socket; starts the receiver if need be.
 *
 * @param event an event, several of one delivery, or `{ wire }` for any body
 * @param options the receiver's secret, and when it is signed: by default at the receiver's own time
 * @throws UsageError `events-apart`, `secret-missing`, `receiver-invalid`
 * @throws ClosedError `closed`
 * @example
 * const delivery = await deliver(receiver, sample("email.created"), { secret });
 * expect(await delivery.settled()).toMatchObject([{ state: "done" }]);
 */
export async function deliver(receiver: Receiver, event: Sendable, { secret, at }: SigningOptions): Promise<Delivered> {
  const { clock, works } = internalsOf(receiver);
  if (works) await receiver.start();
  const request = signedDelivery(event, { secret, at: at ?? new Date(clock.now()) });
  const followed = followDelivery(receiver, request.body);
  const reply = await receiver.receive(request);
  if (reply.status !== 200 || !works) followed.end();
  const skip = skipperOf(clock);

  return {
    ...reply,
    async settled() {
      while (!followed.over()) {
        if (skip !== undefined) await Promise.race([followed.ended, receiver.idle()]);
        if (followed.over()) break;
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
