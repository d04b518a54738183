import type { Reporter } from "../../ingest/reporter.ts";
import type { KnownSubscriptions } from "./known-subscriptions.ts";
import type { RecentRefusals } from "./recent-refusals.ts";

/** A reporter whose news `health()` hears of, too: nothing of what went well, so that it costs nothing. */
export function watchedReporter(
  reporter: Reporter,
  {
    recent,
    unstored,
    subscriptions,
  }: {
    readonly recent: RecentRefusals;
    /** A delivery could not be stored, or not in time. */
    readonly unstored: () => void;
    readonly subscriptions: Pick<KnownSubscriptions, "forget">;
  },
): Reporter {
  return {
    ...reporter,
    refused(refused, status) {
      recent.saw(refused);
      if (refused.code === "storage-failed" || refused.code === "storage-late") unstored();
      reporter.refused(refused, status);
    },
    unwanted(verified, decision) {
      const subscription = verified.document().envelope?.subscription;
      if (subscription !== undefined) subscriptions.forget(subscription, verified.delivery.source);
      reporter.unwanted(verified, decision);
    },
  };
}
