import type { Delivery } from "../../inbox/port/delivery.ts";
import { createErroredSubscriptions, noticeOf } from "../../inbox/errored-subscriptions.ts";
import type { WorkingInbox } from "../../inbox/port/inbox.ts";
import type { ErroredSubscription } from "../../inbox/port/subscriptions.ts";
import type { Logger } from "../../logger.ts";
import type { SingleEvent } from "../../protocol/events.ts";

/** Subscriptions in trouble: what the inbox noted, and what this process heard past it. */
export interface KnownSubscriptions {
  /** An event on its way to its handlers, which no inbox notes. */
  arrived(event: SingleEvent, delivery: Pick<Delivery, "source" | "sentAt">): void;
  /** It is unwanted now. Without a source: of every source. */
  forget(subscription: number, source: string | undefined): void;
  list(): readonly ErroredSubscription[];
}

/** @param inbox undefined where it has no working half */
export function createKnownSubscriptions(
  inbox: Pick<WorkingInbox, "subscriptions"> | undefined,
  log: Logger,
): KnownSubscriptions {
  const heard = createErroredSubscriptions();

  /** Never throws: it is asked on the way of a 422, and by health. */
  function noted(): readonly ErroredSubscription[] {
    try {
      return inbox?.subscriptions.errored() ?? [];
    } catch (error) {
      failed(error);
      return [];
    }
  }

  function failed(error: unknown): void {
    log.warn({ err: error, code: "subscriptions-failed" }, "the inbox does not tell of subscriptions in trouble");
  }

  return {
    arrived(event, { source, sentAt }) {
      const notice = noticeOf(event);
      if (notice !== undefined) heard.heard(notice, { source, sentAt });
    },
    forget(subscription, source) {
      heard.forget(subscription, source);
      const isNoted = noted().some(
        (one) => one.subscription === subscription && (source === undefined || one.source === source),
      );
      if (isNoted) inbox?.subscriptions.forget(subscription, source).catch(failed);
    },
    list: () => [...noted(), ...heard.list()],
  };
}
