import type { ErroredSubscription, Subscriptions } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";

/** Subscriptions of a file, cached in memory for health checks. */
export interface FileSubscriptions extends Subscriptions {
  /** Reads changes of this and other processes. */
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
      // Runs in the background; the next call returns what it finds.
      if (!isReading) refresh().catch(() => {});
      return errored;
    },
    async forget(subscription, source) {
      await commits.add("forgetSubscription", { subscription, source });
      await refresh();
    },
    async record(notice, origin) {
      await commits.add("noteSubscription", { ...notice, ...origin });
      await refresh();
    },
    known: () => commits.add("knownSubscriptions", undefined),
  };
}
