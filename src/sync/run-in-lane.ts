import { HooklineError, type Job, type Receiver } from "../index.ts";
import { internalsOf } from "../receiver/internals.ts";
import type { SyncScope } from "./scopes.ts";
import type { SyncFamily } from "./sources.ts";

/** A sync that runs as a job of its `.changes` handler, in whichever process has its lane. */
export interface LaneRun {
  readonly scope: Pick<SyncScope, "accountId" | "resource">;
  readonly family: SyncFamily;
  readonly consumer: string;
  /** Throws where it is not to be waited for any more. */
  readonly proceed: () => void;
  /** How long it may take, milliseconds. */
  readonly waitsMs: number;
}

/** Between two looks at the job, milliseconds. */
const LOOK_EVERY_MS = 250;

/**
 * Where many processes work, only the lane of `.changes` keeps two of them from syncing a resource at once. Resolves when the job is done.
 *
 * @throws HooklineError `sync-failed` with the error of the first attempt that failed, `sync-late`
 */
export async function runInLane(
  receiver: Receiver,
  { scope, family, consumer, proceed, waitsMs }: LaneRun,
): Promise<void> {
  const { clock, ownSignals } = internalsOf(receiver);
  const begunAt = clock.now();
  // No subscription has asked for it.
  const target = { ...scope, subscription: 0, source: undefined };
  const { id, receivedAt } = await ownSignals.put(target, { cause: "run", consumer });
  const what = `The sync of ${scope.resource} of account ${scope.accountId}`;

  async function look(): Promise<Job | undefined> {
    const { jobs } = await receiver.jobs.list({
      type: `${family}.signal`,
      accountId: scope.accountId,
      subscription: target.subscription,
      receivedAfter: new Date(receivedAt - 1),
    });
    return jobs.find((job) => job.deliveryId === id);
  }

  for (let job = await look(); clock.now() - begunAt <= waitsMs; job = await look()) {
    proceed();
    if (job?.state === "done") return;
    const error = job?.lastError;
    if (job?.state === "dead" || (error !== undefined && error.name !== "RetryLater"))
      throw new HooklineError("sync-failed", `${what} failed: ${error?.message ?? "its job is dead"}`, {
        fix: "See the cause in the log of the process that tried it. Unless its job is dead, it is tried again.",
      });
    await new Promise<void>((resolve) => void clock.setTimer(resolve, LOOK_EVERY_MS));
  }
  throw new HooklineError("sync-late", `${what} is still waiting after ${waitsMs} ms.`, {
    fix: "It goes on by itself: see `receiver.health()` for what holds it up.",
  });
}
