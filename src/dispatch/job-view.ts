import type { Job } from "../inbox/port/job.ts";
import type { ClaimedJob } from "../inbox/port/claims.ts";
import type { StoredJob } from "../inbox/port/jobs.ts";
import type { SingleEvent } from "../protocol/events.ts";

/** A job as users see it. */
export function toJob(stored: StoredJob, event: SingleEvent): Job {
  const { consumer, lane, error, runAt, settledAt, replayOf } = stored;
  return {
    id: stored.id,
    state: stored.state,
    event,
    ...(consumer === undefined ? {} : { consumer }),
    ...(lane === undefined ? {} : { lane }),
    ...(stored.state === "done" ? {} : { attempts: stored.attempts }),
    ...(error === undefined ? {} : { lastError: { name: error.name, message: error.message, at: new Date(error.at) } }),
    receivedAt: new Date(stored.receivedAt),
    ...(stored.state !== "waiting" || runAt === undefined ? {} : { nextAttemptAt: new Date(runAt) }),
    ...(settledAt === undefined ? {} : { settledAt: new Date(settledAt) }),
    ...(replayOf === undefined ? {} : { replayOf }),
    deliveryId: stored.deliveryId,
  };
}

/** A claimed job as users see it: running, or what it has just become. */
export function toJobOf(
  claimed: ClaimedJob,
  event: SingleEvent,
  now?: Partial<Pick<StoredJob, "state" | "error" | "runAt" | "settledAt">>,
): Job {
  const { id, deliveryId, entry, consumer, lane, attempt, replayOf, delivery } = claimed;
  return toJob(
    {
      id,
      deliveryId,
      entry,
      state: "running",
      event,
      consumer,
      lane,
      attempts: attempt,
      error: undefined,
      receivedAt: delivery.receivedAt,
      runAt: undefined,
      settledAt: undefined,
      replayOf,
      ...now,
    },
    event,
  );
}
