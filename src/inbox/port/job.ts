import type { AnyEvent } from "../../protocol/events.ts";

/**
 * Where a job stands: `waiting` for its turn or its retry, `running`, `done`, `skipped` (no handler for this change, but one for
 * its family), `dead` (out of attempts), `unhandled` (nobody handles such an event yet).
 */
export type JobState = "waiting" | "running" | "done" | "skipped" | "dead" | "unhandled";

/** One event on its way to one consumer's handler: the unit of retry, order, dead letter and replay. */
export interface Job {
  readonly id: string;
  readonly state: JobState;
  readonly event: AnyEvent;
  /** Who handles it; absent when nobody does. */
  readonly consumer?: string;
  /** What it may not overlap with; absent when nothing. */
  readonly lane?: string;
  /** Attempts begun. Absent once done. */
  readonly attempts?: number;
  readonly lastError?: { readonly name: string; readonly message: string; readonly at: Date };
  readonly receivedAt: Date;
  readonly nextAttemptAt?: Date;
  readonly settledAt?: Date;
  /** The job that this one replays. */
  readonly replayOf?: string;
  readonly deliveryId: string;
}
