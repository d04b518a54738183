import type { Claim } from "../../inbox/port/claims.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { InboxBench } from "../inbox-suite/bench.ts";
import type { PlainInbox } from "./plain-inbox.ts";
import type { PlainJob } from "./plain-jobs.ts";
import type { PlainStones } from "./plain-stones.ts";

/** Where a walk stands: an inbox and its plain specification, side by side. */
export interface Course {
  readonly bench: InboxBench;
  readonly plain: PlainInbox;
  readonly stones: PlainStones;
  inbox: WorkingInbox;
  /** All that were ever had. */
  readonly held: Held[];
  /** Deliveries. */
  kept: number;
}

/** A claim, and whether it may still be settled. */
interface Held {
  readonly claim: Claim;
  readonly run: readonly PlainJob[];
  stands: boolean;
}
