import { ClosedError } from "../../errors.ts";
import type { InboxWatch } from "../../inbox/standstill-watch.ts";

/** All that runs is lost, again and again, and nothing is settled between. To the rest of the watch each start of the next ones is progress. */
export interface RepeatedLosses {
  /** All that ran was lost. Once is no standstill: an account was erased, or another process took over. */
  lost(): void;
  /** A claim was settled, or nothing is left to run. */
  over(): void;
}

export function createRepeatedLosses(watch: Pick<InboxWatch, "own">): RepeatedLosses {
  let losses = 0;
  let standing: ReturnType<InboxWatch["own"]> | undefined;
  return {
    lost() {
      losses += 1;
      if (losses > 1) standing ??= watch.own("complete", "What this process runs");
      standing?.failed(LOST);
    },
    over() {
      losses = 0;
      standing?.moved();
      standing = undefined;
    },
  };
}

const LOST = new ClosedError("claim-lost", "Its jobs are taken away, again and again.");
