import type { Job } from "../inbox/job.ts";
import type { Delivery } from "../inbox/delivery.ts";
import type { Expanded, NewEvent } from "../inbox/port.ts";
import type { SingleEvent } from "../protocol/events.ts";
import type { WorkParts } from "./parts.ts";

/** Says what came: once an event, when it is expanded. */
export interface News {
  /** Of a delivery: duplicates made no job. */
  expanded(
    origin: { readonly id: string; readonly delivery: Delivery },
    events: readonly NewEvent[],
    seen: Expanded,
  ): void;
  /** An event on its way to its handlers. */
  arrived(event: SingleEvent): void;
  /** Nobody handles such an event. */
  unhandled(event: SingleEvent): void;
}

export function createNews({
  counters,
  observers,
  log,
  logContent,
}: Pick<WorkParts, "counters" | "observers" | "log"> & { readonly logContent: boolean }): News {
  const warned = new Set<string>();

  function arrived(event: SingleEvent): void {
    if (logContent) log.debug({ event }, "an event");
    if (event.type !== "lifecycle.error") return;
    const { subscription, accountId, resource, error } = event;
    log.error(
      { code: "subscription-errored", subscription, accountId, resource, error },
      "a subscription is in trouble: its account may have to be authorised again",
    );
  }

  /** Names are few: only the known types and "unknown" come here. */
  function unhandled({ type }: SingleEvent): void {
    if (warned.has(type)) return;
    warned.add(type);
    log.warn(
      {
        code: "unhandled",
        event: type,
        fix: `Register receiver.on("${type}", handler); what came until then waits for it.`,
      },
      "nobody handles such an event",
    );
  }

  return {
    expanded({ id, delivery }, events, { duplicates, conflicts }) {
      counters.duplicates += duplicates.length;
      counters.conflicts += conflicts.length;
      for (const index of conflicts)
        log.warn(
          { code: "conflict", deliveryId: id, event: events[index]?.event.type },
          "an event came again with other content",
        );
      for (const [index, { event, entry, jobs }] of events.entries()) {
        if (duplicates.includes(index)) {
          observers.tell("duplicate", () => ({
            job: toDuplicate(`${id}.${entry}`, { event, deliveryId: id, delivery }),
          }));
          continue;
        }
        arrived(event);
        for (const { state } of jobs) {
          if (state === "skipped") counters.skipped += 1;
          if (state === "unhandled") unhandled(event);
        }
      }
    },
    arrived,
    unhandled,
  };
}

/** It got no job, and so no id of one. */
function toDuplicate(
  id: string,
  {
    event,
    deliveryId,
    delivery,
  }: { readonly event: SingleEvent; readonly deliveryId: string; readonly delivery: Delivery },
): Job {
  return { id, state: "skipped", event, receivedAt: new Date(delivery.receivedAt), deliveryId };
}
