import type { ErroredSubscription, Subscriptions } from "../../../../src/adapter.ts";
import type { CommitQueue } from "./commit-queue.ts";

/** Subscriptions of a file, with the copy in memory that health checks ask. */
export interface FileSubscriptions extends Subscriptions {
  /** Reads what this process or another one may have changed. */
  refresh(): Promise<void>;
}

export function createFileSubscriptions(commits: CommitQueue): FileSubscriptions {
  let errored: readonly ErroredSubscription[] = [];
  let isReading = false;

  async function refresh(): Promise<void> {
    isReading = true;
    try {
      errored = await commits.add("erroredSubscriptions", undefined);
    } finally {
      isReading = false;
    }
  }

  return {
    refresh,
    errored() {
      // Nobody waits for it; what it finds is told at the next look.
      if (!isReading) refresh().catch(() => {});
      return errored;
    },
    async forget(subscription, source) {
      await commits.add("forgetSubscription", { subscription, source });
      await refresh();
    },
  };
}
