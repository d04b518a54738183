import type { Claim } from "../../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import type { InboxBench } from "../inbox/fixture.ts";
import type { PlainInbox } from "./reference-inbox.ts";
import type { PlainJob } from "./reference-jobs.ts";
import type { PlainStones } from "./reference-tombstones.ts";

/** Where a walk stands: an inbox and its plain specification, side by side. */
export interface Course {
  readonly bench: InboxBench;
  readonly plain: PlainInbox;
  readonly stones: PlainStones;
  inbox: WorkingInbox;
  /** All that were ever had. */
  readonly held: Held[];
  /** Deliveries. */
  stored: number;
}

/** A claim, and whether it may still be settled. */
interface Held {
  readonly claim: Claim;
  readonly run: readonly PlainJob[];
  stands: boolean;
}
