import type { Timer } from "../../clock.ts";
import type { Account } from "./account.ts";

/** A draft that is to be sent at a time. */
export interface ScheduledDraft {
  readonly jobId: number;
  readonly sendTime: string;
  readonly status: "scheduled" | "failed";
  readonly errorMessage?: string;
  readonly timer: Timer;
}

/** Nothing is sent any more. */
export function clearSchedule({ scheduled }: Account): void {
  for (const { timer } of scheduled.values()) timer.clear();
  scheduled.clear();
}
