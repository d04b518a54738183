import type { Job } from "../inbox/job.ts";
import type { Receiver } from "../kit/face.ts";
import { internalsOf } from "../kit/internals.ts";
import type { Reply } from "../receiver/raw.ts";
import { signedDelivery, type SigningOptions } from "./signed-delivery.ts";
import { isTestClock } from "./test-clock.ts";
import { followDelivery } from "./follow-delivery.ts";
import type { Sendable } from "./wire.ts";

/** The answer to a delivery, and what became of it. */
export type Delivered = Reply & {
  /** Waits until each of the delivery's jobs is done, skipped, unhandled or dead. Under a `testClock` it skips the backoff. */
  settled(): Promise<readonly Job[]>;
};

/** Time for other deliveries' jobs in the same lanes, when nothing of this one moves. */
const STEP_MS = 1_000;

/**
 * Signs an event and hands it to a receiver, without a socket; starts the receiver if need be.
 *
 * @throws UsageError `events-apart`, `secret-missing`, and what `receiver.start()` throws
 * @example
 * const delivery = await deliver(receiver, sample("email.created"), { secret });
 * expect(await delivery.settled()).toMatchObject([{ state: "done" }]);
 */
export async function deliver(receiver: Receiver, event: Sendable, { secret, at }: SigningOptions): Promise<Delivered> {
  const { clock, works } = internalsOf(receiver);
  if (works) await receiver.start();
  const request = signedDelivery(event, { secret, at: at ?? new Date(clock.now()) });
  const followed = followDelivery(receiver, request.body as Uint8Array);
  const reply = await receiver.receive(request);
  if (reply.status !== 200 || !works) followed.end();

  return {
    ...reply,
    async settled() {
      for (let quiet = 0; !followed.ended(); quiet += 1) {
        if (!isTestClock(clock)) {
          await followed.news();
          continue;
        }
        await clock.advance(0);
        if (followed.ended() || followed.running()) continue;
        // What waits for its retry is let through; what waits for others is given time.
        const next = followed.nextAttemptAt();
        if (next !== undefined) await clock.advance(Math.max(next - clock.now(), 0));
        else if (quiet > 0) await clock.advance(STEP_MS);
      }
      return followed.jobs();
    },
  };
}
