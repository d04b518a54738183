import type { Receiver, Stats } from "../index.ts";
import type { Logger } from "../logger.ts";

/** What a dashboard looks at: a receiver, or an inbox that a command has opened. */
export interface DashboardSource extends Pick<Receiver, "flow" | "health" | "jobs" | "lists" | "resubscribe"> {
  /** Of the process that is asked, since its start; `worked-on` or `not-worked-on` where it only looks at what others work on. */
  activity(): {
    readonly role: Stats["role"] | "worked-on" | "not-worked-on";
    readonly succeeded?: number;
    readonly failed?: number;
  };
}

/** One line for each change, and for each access: neither is thinned out. */
export type DashboardLog = Pick<Logger, "debug" | "error" | "info" | "warn">;

export function receiverSource(receiver: Receiver): DashboardSource {
  const { flow, health, jobs, lists, resubscribe } = receiver;
  const activity = () => {
    const { role, succeeded, failed } = receiver.stats();
    return { role, succeeded, failed };
  };
  return { flow, health, jobs, lists, resubscribe, activity };
}
