import type { Clock, Timer } from "../../clock.ts";
import { ClosedError } from "../../errors.ts";
import type { InboxWatch } from "../../inbox/standstill-watch.ts";

/** All that runs is lost, again and again, and nothing is settled between. To the rest of the watch each start of the next ones is progress. */
export interface RepeatedLosses {
  /** All that ran was lost. Once is no standstill: an account was erased, or another process took over. */
  lost(): void;
  /** A claim was settled. */
  over(): void;
}

/** After so long without a loss it goes on. That nothing runs here says nothing: what was lost may run elsewhere, and be lost there. */
const FORGET_MS = 60_000;

export function createRepeatedLosses(clock: Clock, watch: Pick<InboxWatch, "own">): RepeatedLosses {
  let losses = 0;
  let standing: ReturnType<InboxWatch["own"]> | undefined;
  let forgetting: Timer | undefined;

  function over(): void {
    losses = 0;
    standing?.moved();
    standing = undefined;
    forgetting?.clear();
    forgetting = undefined;
  }

  return {
    lost() {
      losses += 1;
      if (losses > 1) standing ??= watch.own("complete", "What this process runs");
      standing?.failed(LOST);
      forgetting?.clear();
      forgetting = clock.setTimer(over, FORGET_MS);
      forgetting.unref?.();
    },
    over,
  };
}

const LOST = new ClosedError("claim-lost", "Its jobs are taken away, again and again.");
