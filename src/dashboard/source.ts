import type { Receiver } from "../index.ts";
import type { Logger } from "../logger.ts";

/** What a dashboard looks at: a receiver, or an inbox that a command has opened. */
export interface DashboardSource extends Pick<Receiver, "health" | "jobs" | "lists" | "resubscribe"> {
  /** Of the process that is asked; `worked-on` or `not-worked-on` where it only looks at what others work on. */
  role(): "receiving" | "standby" | "working" | "worked-on" | "not-worked-on";
}

/** One line for each change, and for each access: neither is thinned out. */
export type DashboardLog = Pick<Logger, "debug" | "error" | "info" | "warn">;

export function receiverSource(receiver: Receiver): DashboardSource {
  const { health, jobs, lists, resubscribe } = receiver;
  return { health, jobs, lists, resubscribe, role: () => receiver.stats().role };
}
